"""The same answers on other machines: what real guesses are worth where a decode costs what it costs there.

    python -m benchmarks.replay -m MODEL.gguf [-md HEAD.gguf] [-t 2] [-n 100] [--record FILE] [--from FILE]

Two cores decide much of what speculation brings here: each verified row costs a good part of a plain step. So the
answers to the built-in prompts are recorded once with a real model, together with what its real head would have guessed
at every place and how sure it was (--record keeps that). Then the program's own controller, with its own policies and
its own copies by n-gram, writes each text again on machines whose costs come from a table: those of machines.py,
shaped on published figures. Text and guesses are real, the seconds are made up; nothing of the controller is.

Printed are ratios to plain decoding per class: `auto`, the best depth that could have been fixed for that class, and
the share of the oracle (mtpchat/bench/oracle.py) that `auto` reaches.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import msgspec
import numpy as np

from benchmarks.bounded import bounded
from benchmarks.machines import PROFILES, STAIRCASES, Machine
from mtpchat.backend.llama.loader import LlamaBackend
from mtpchat.backend.protocol import Capabilities, DecodedRows, Floats, LoadPlan, TargetModel, WantedRows
from mtpchat.bench.figures import geometric_mean
from mtpchat.bench.oracle import CostTable, Guesses, bound
from mtpchat.bench.prompts import builtin
from mtpchat.bench.subject import EngineSubject
from mtpchat.config import Config, ModelConfig, SamplingConfig, SpeculativeConfig
from mtpchat.engine.engine import ChatEngine
from mtpchat.engine.repeats import repeats_in
from mtpchat.events import SpeculationControl
from mtpchat.speculate.base import NO_DRAFT, Draft, FromContext, Wants
from mtpchat.speculate.controller import Controller
from mtpchat.speculate.ngram import NgramDrafter
from mtpchat.speculate.none import NoDrafter

DEPTH, COPIES = 6, 16
"""Longest draft of the head that is recorded, and longest copy."""
_WIDEST = COPIES + 1


class Recorded(msgspec.Struct, frozen=True):
    """One answer: tokens of prompt and answer, and for each token of the answer what the head would have guessed."""

    name: str
    group: str
    prompt: tuple[int, ...]
    said: tuple[int, ...]
    guesses: tuple[tuple[int, ...], ...] = ()
    confidences: tuple[tuple[float, ...], ...] = ()


def record(arguments: argparse.Namespace) -> list[Recorded]:
    """Answer the built-in prompts plainly, and ask the head at every place."""
    engine = ChatEngine(LlamaBackend())
    model = ModelConfig(threads=arguments.threads, context=2048, trial="off")
    config = Config(model=model, speculative=SpeculativeConfig(learn=False))
    engine.load(LoadPlan(arguments.model, arguments.drafter, "auto", config), lambda *_: None, lambda: False)
    try:
        subject = EngineSubject(engine)
        head = next((kind for kind in engine.probe().kinds if kind != "ngram"), "")
        plainly = SpeculationControl(mode="auto", draft_max=0, kind=head or "ngram")
        sampling = SamplingConfig(temperature=0, max_tokens=arguments.tokens)
        found = []
        for prompt in builtin():
            answer = subject.ask(prompt, plainly, sampling)
            seen = subject.foresee(prompt, answer.tokens, sampling, {head: DEPTH})[head].drafts if head else ()
            found.append(
                Recorded(
                    prompt.name,
                    prompt.group,
                    answer.prompt,
                    answer.tokens,
                    tuple(one.tokens for one in seen),
                    tuple(one.confidences for one in seen),
                )
            )
            print(f"recorded {prompt.name}", file=sys.stderr)
        return found
    finally:
        engine.close()


@dataclass
class Elsewhere:
    """A target that says a recorded text, and whose decodes take what a table says.

    Attributes:
        now: seconds since the beginning; guessing adds to it, too.
    """

    machine: Machine
    text: Sequence[int]
    now: float = 0.0
    length: int = 0

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(context=1 << 20, batch=512, max_rows=_WIDEST, deep_rollback=True, hidden_width=1)

    def clock(self) -> float:
        return self.now

    def decode(self, tokens: Sequence[int], *, rows: WantedRows = "last", interrupt: object = None) -> DecodedRows:
        start, self.length = self.length, self.length + len(tokens)
        self.now += self.machine.plain_s * self.machine.verify(len(tokens))
        return _Rows(self.text, start, len(tokens))

    def rollback(self, length: int) -> None:
        self.length = length


@dataclass
class _Rows:
    """Rows that say which token follows."""

    text: Sequence[int]
    start: int
    count: int

    def logits(self, row: int) -> Floats:
        at = self.start + row + 1
        return np.array([self.text[at] if at < len(self.text) else -1], np.float32)

    def hidden(self) -> Floats:
        return np.zeros((1, 1), np.float32)


class _Reader:
    """A sampler for such rows."""

    def sample(self, logits: Floats, position: int) -> int:
        return int(logits[0])

    def sample_surely(self, logits: Floats, position: int, epsilon: float) -> int | None:
        return int(logits[0])

    def accept(self, token: int) -> None:
        """Nothing depends on what was said."""

    def reset(self, context: Sequence[int]) -> None:
        """See accept."""

    def close(self) -> None:
        """Nothing is native."""


@dataclass
class _Head(FromContext):
    """A drafter that guesses what was recorded, and takes its time."""

    world: Elsewhere
    one: Recorded
    depth_limit: int | None = None
    least_rows: int | None = 0
    waiting: int = 0

    def propose(self, context: Sequence[int], wants: Wants) -> Draft:
        at, plain = len(context) - len(self.one.prompt), self.world.machine.plain_s
        tokens, confidences = self.one.guesses[at], self.one.confidences[at]
        count, rows, self.waiting = 0, self.waiting, 0
        while count < len(tokens) and wants(confidences[:count]):
            self.world.now += plain * (self.world.machine.draft + (self.world.machine.row * rows if not count else 0))
            count += 1
        return Draft(tokens[:count], confidences[:count]) if count else NO_DRAFT

    def observe(self, start: int, tokens: Sequence[int], rows: DecodedRows) -> None:
        self.waiting += len(tokens)

    def warm(self, context: Sequence[int], length: int, rows: int) -> int:
        return 0

    def skip(self) -> None:
        self.waiting = 0


@dataclass
class Machinery:
    """A controller that goes from answer to answer, as in a chat, so that it learns."""

    machine: Machine
    control: SpeculationControl
    kind: str
    world: Elsewhere = field(init=False)
    controller: Controller | None = None

    def seconds(self, one: Recorded) -> float:
        """Write one answer; returns what that took."""
        text = (*one.prompt, *one.said)
        if self.controller is None:
            self.world = Elsewhere(self.machine, text)
            target = cast(TargetModel, self.world)
            self.controller = Controller(target, {}, lambda: self.world.now, slope=self.machine.slope)
        controller, self.world.text = self.controller, text
        controller.drafters = {"none": NoDrafter(), "ngram": NgramDrafter()}
        if one.guesses:
            controller.drafters["head"] = _Head(self.world, one)
        controller.context[:] = one.prompt
        self.world.length = len(one.prompt) - 1
        began, left = self.world.now, len(one.said)
        while left > 0:
            left -= len(controller.step(_Reader(), self.control, self.kind, left, lambda _token: False).tokens)
        if tuple(controller.context[: len(text)]) != text:
            raise SystemExit(f"{one.name}: what was written is not what was recorded")
        return self.world.now - began


def per_class(values: Iterable[tuple[str, float]]) -> dict[str, float]:
    """Geometric mean per class, and over the classes under "all"."""
    groups: dict[str, list[float]] = {}
    for group, value in values:
        groups.setdefault(group, []).append(value)
    means = {group: geometric_mean(found) or math.nan for group, found in groups.items()}
    return {"all": geometric_mean(list(means.values())) or math.nan, **means}


def ratios(machine: Machine, answers: Sequence[Recorded], control: SpeculationControl, kind: str) -> dict[str, float]:
    """Plain seconds over seconds with this control, per class; a first round over all answers teaches the costs."""
    run = Machinery(machine, control, kind)
    for one in answers:
        run.seconds(one)
    return per_class((one.group, len(one.said) * machine.plain_s / run.seconds(one)) for one in answers)


def oracle(machine: Machine, answers: Sequence[Recorded]) -> dict[str, float]:
    """What one who knows which guesses are right could reach, per class."""
    plain = machine.plain_s
    table = CostTable(tuple((width, plain * machine.verify(width)) for width in range(1, _WIDEST + 1)))
    bounds = []
    for one in answers:
        sources = [_guesses(one, [_copy(one, at) for at in range(len(one.said))], 0.0)]
        if one.guesses:
            sources.append(_guesses(one, one.guesses, plain * machine.draft))
        bounds.append((one.group, bound(len(one.said), sources, table)))
    return per_class(bounds)


def _copy(one: Recorded, at: int) -> tuple[int, ...]:
    return NgramDrafter().propose([*one.prompt, *one.said[:at]], lambda made: len(made) < COPIES).tokens


def _guesses(one: Recorded, drafts: Sequence[Sequence[int]], seconds: float) -> Guesses:
    right = []
    for at, draft in enumerate(drafts):
        pairs = zip(draft, one.said[at:], strict=False)
        right.append(next((count for count, (guess, token) in enumerate(pairs) if guess != token), len(draft)))
    return Guesses(tuple(right), tuple(map(len, drafts)), seconds, seconds)


def main() -> int:
    """Record or read, then print a table per machine."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-m", "--model", default="")
    parser.add_argument("-md", "--drafter", default="")
    parser.add_argument("-t", "--threads", type=int, default=2)
    parser.add_argument("-n", "--tokens", type=int, default=100)
    parser.add_argument("--record", type=Path)
    parser.add_argument("--from", dest="source", type=Path)
    arguments = parser.parse_args()
    if arguments.source:
        answers = msgspec.convert(json.loads(arguments.source.read_text()), list[Recorded])
    else:
        answers = record(arguments)
    if arguments.record:
        arguments.record.write_bytes(msgspec.json.encode(answers))
    answers = [one for one in answers if not repeats_in(one.said).prevailed and len(one.said) >= 8]
    kind = "head" if any(one.guesses for one in answers) else "ngram"
    for name, machine in (PROFILES | STAIRCASES).items():
        _show(name, machine, answers, kind)
    return 0


def _show(name: str, machine: Machine, answers: Sequence[Recorded], kind: str) -> None:
    auto = ratios(machine, answers, SpeculationControl("auto", 0, DEPTH, free_max=COPIES), kind)
    fixed: dict[str, float] = dict.fromkeys(auto, 1.0)
    for own in dict.fromkeys((kind, "ngram")):
        for depth in (1, 2, 3, 4, 6, *((8, 16) if own == "ngram" else ())):
            pinned = SpeculationControl("on", depth, depth, pinned=True)
            for group, value in ratios(machine, answers, pinned, own).items():
                fixed[group] = max(fixed[group], value)
    most = oracle(machine, answers)
    print(f"\n{name}\n{'':16}" + "".join(f"{group:>11}" for group in auto))
    for title, row in (("auto", auto), ("best fixed", fixed), ("oracle", most)):
        print(f"{title:16}" + "".join(f"{row[group]:11.2f}" for group in auto))
    print(f"{'auto / oracle':16}" + "".join(f"{auto[group] / most[group]:11.2f}" for group in auto), flush=True)


if __name__ == "__main__":
    sys.exit(bounded(main, minutes=90))
