"""Copies by n-gram and a drafter together: are they as good as the better of the two? A simulation without a model.

    python -m benchmarks.combination_simulation [--tokens 3000] [--seeds 3]

It drives the program's own controller, n-gram drafter, policy and cost tables over a text that is known beforehand, and
a clock that moves by what a step would cost. The text is made of new passages, in which phrases return but go on
differently, and of copies of earlier passages with a few words changed. The drafter is right with a chance that is its
own. Only costs and chances are made up.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from benchmarks.bounded import bounded
from benchmarks.machines import PROFILES, STAIRCASES, Machine
from mtpchat.backend.protocol import Capabilities, Floats, WantedRows
from mtpchat.events import SpeculationControl
from mtpchat.speculate.base import Draft, FromContext, Wants
from mtpchat.speculate.controller import Controller
from mtpchat.speculate.ngram import NgramDrafter
from mtpchat.speculate.none import NoDrafter

PROMPT = 64


def make_text(seed: int, tokens: int, copies: float) -> list[int]:
    """A text.

    Args:
        copies: share of the passages that are copies of earlier ones.
    """
    chance = random.Random(seed)
    phrases = [[chance.randrange(1000) for _ in range(chance.randint(3, 6))] for _ in range(40)]
    text = [chance.randrange(1000) for _ in range(PROMPT)]
    while len(text) < tokens + PROMPT + 64:
        size = chance.randint(60, 150)
        if chance.random() < copies and len(text) > size:
            start = chance.randrange(len(text) - size)
            text += [word if chance.random() > 0.03 else chance.randrange(1000) for word in text[start : start + size]]
            continue
        end = len(text) + size
        while len(text) < end:
            text += chance.choice(phrases) if chance.random() < 0.15 else [chance.randrange(1000)]
    return text


@dataclass
class Clock:
    """Seconds that pass only when something is decoded."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now


@dataclass
class _Rows:
    start: int
    count: int

    def logits(self, row: int) -> Floats:
        return np.empty(0, np.float32)

    def hidden(self) -> Floats:
        return np.empty((self.count, 0), np.float32)


@dataclass
class Target:
    """Says the text, and takes its time."""

    machine: Machine
    clock: Clock
    noise: random.Random
    length: int = 0
    widths: list[int] = field(default_factory=list)

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(context=1 << 20, max_rows=17)

    def decode(
        self, tokens: Sequence[int], *, rows: WantedRows = "last", interrupt: Callable[[], bool] | None = None
    ) -> _Rows:
        start = self.length
        self.length += len(tokens)
        if rows != "none":
            self.widths.append(len(tokens))
            factor = self.noise.lognormvariate(0, 0.04) * (3 if self.noise.random() < 0.005 else 1)
            self.clock.now += self.machine.verify(len(tokens)) * self.machine.plain_s * factor
        return _Rows(start, len(tokens))

    def rollback(self, length: int) -> None:
        self.length = length

    def clear(self) -> None:
        self.length = 0

    def checkpoint(self) -> bytes | None:
        return None

    def restore(self, state: bytes, length: int) -> None:
        raise NotImplementedError


@dataclass
class Reader:
    """The sampler: chooses what stands in the text."""

    text: Sequence[int]

    def sample(self, logits: Floats, position: int) -> int:
        return self.text[position]

    def accept(self, token: int) -> None:
        pass

    def reset(self, context: Sequence[int]) -> None:
        pass

    def close(self) -> None:
        pass


@dataclass
class NoisyDrafter(FromContext):
    """Knows the text with a chance, and knows a little of what it knows."""

    text: Sequence[int]
    machine: Machine
    clock: Clock
    chance: random.Random
    right: float

    def propose(self, context: Sequence[int], wants: Wants) -> Draft:
        tokens: list[int] = []
        confidences: list[float] = []
        on_track = True
        while wants(confidences):
            self.clock.now += self.machine.draft * self.machine.plain_s
            logit = math.log(self.right / (1 - self.right)) + self.chance.gauss(0, 1.2) - 0.3 * len(tokens)
            on_track = on_track and self.chance.random() < 1 / (1 + math.exp(-logit))
            tokens.append(self.text[len(context) + len(tokens)] if on_track else 5000)
            confidences.append(1 / (1 + math.exp(-logit - self.chance.gauss(0.3, 0.8))))
        return Draft(tuple(tokens), tuple(confidences))


def speed(machine: Machine, text: Sequence[int], seed: int, right: float, who: str) -> float:
    """Tokens per plain step's time.

    Args:
        right: chance of the drafter's first guess.
        who: "drafter", "ngram" or "both".
    """
    clock, chance = Clock(), random.Random(seed)
    target = Target(machine, clock, random.Random(seed + 1))
    drafters = {
        "none": NoDrafter(),
        "ngram": NgramDrafter(),
        "mtp": NoisyDrafter(text, machine, clock, chance, right),
    }
    made = Controller(target, drafters, clock, combine=who == "both", slope=machine.slope)
    made.context[:] = text[:PROMPT]
    target.decode(text[: PROMPT - 1], rows="none")
    sampler, control = Reader(text), SpeculationControl(draft_max=6, free_max=16)
    end = len(text) - 64
    while len(made.context) < end:
        made.step(sampler, control, "ngram" if who == "ngram" else "mtp", end - len(made.context), lambda _token: False)
    plain = Target(machine, Clock(), random.Random(seed + 1))
    for _ in range(len(made.context) - PROMPT):
        plain.decode([0])
    return plain.clock.now / clock.now


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, default=3000)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    print(f"{'':16s}{'copies':>7s}{'drafter':>9s}{'| drafter':>11s}{'ngram':>8s}{'both':>8s}{'/better':>9s}")
    for name, machine in {**PROFILES, **STAIRCASES}.items():
        for copies, right in ((0.0, 0.6), (0.3, 0.6), (0.3, 0.85), (0.8, 0.6), (0.8, 0.2)):
            texts = [make_text(seed, options.tokens, copies) for seed in range(options.seeds)]
            found = {
                who: sum(speed(machine, text, seed, right, who) for seed, text in enumerate(texts)) / len(texts)
                for who in ("drafter", "ngram", "both")
            }
            better = max(1.0, found["drafter"], found["ngram"])
            cells = f"{found['drafter']:11.3f}{found['ngram']:8.3f}{found['both']:8.3f}{found['both'] / better:9.3f}"
            print(f"{name:16s}{copies:7.1f}{right:9.2f}{cells}")


if __name__ == "__main__":
    sys.exit(bounded(main, minutes=60))
