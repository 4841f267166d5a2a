"""Whether memory, threads, files and speed stay what they are over many loads, switches and answers.

    nice python -m benchmarks.soak [--loads 200] [--switches 50] [--turns 500] [--tokens 100000]

Tiny models, one thread. Speed is counted in tokens per second of processor time of the thread that computes, which
other work on the machine moves little. After a tenth of each part, its warm-up, memory of its own may grow by 5 %.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.bounded import bounded
from mtpchat.backend.llama.loader import LlamaBackend
from mtpchat.backend.protocol import LoadPlan
from mtpchat.config import Config, ModelConfig, SamplingConfig, SpeculativeConfig
from mtpchat.engine.engine import ChatEngine
from mtpchat.engine.requests import TurnRequest
from mtpchat.events import Failed, Finished, SpeculationControl
from mtpchat.messages import Message
from mtpchat.speculate.learned import Lessons
from tests.models import dense, hybrid_mtp

MOST_GROWTH = 0.05
LEAST_SPEED = 0.9
_CHAT_TURNS = 5
_SPOKEN = ("Tell me more.", "And then?", "Why is that so?", "Give an example.", "Sum it up.")


@dataclass(frozen=True, slots=True)
class Sample:
    """What the process holds.

    Attributes:
        rate: tokens per second of processor time since the sample before; 0 where nothing was generated, or where the
            work per token is decided on the way.
    """

    own: int
    threads: int
    files: int
    rate: float = 0.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """One part of the soak.

    Attributes:
        samples: one after each round, warm-up included.
    """

    name: str
    samples: Sequence[Sample]

    @property
    def _warm(self) -> Sequence[Sample]:
        return self.samples[max(1, len(self.samples) // 10) :]

    def _tenths(self, read: Callable[[Sample], float]) -> tuple[float, float]:
        """Medians over the first and the last tenth after the warm-up, whole chats of them."""
        size = max(_CHAT_TURNS, len(self._warm) // 10 // _CHAT_TURNS * _CHAT_TURNS)
        return median(map(read, self._warm[:size])), median(map(read, self._warm[-size:]))

    @property
    def growth(self) -> float:
        """Share by which its own memory grew."""
        first, last = self._tenths(lambda sample: sample.own)
        return last / first - 1

    @property
    def speed(self) -> float:
        """Rate of the last tenth as a share of that of the first; 1 where nothing was generated."""
        first, last = self._tenths(lambda sample: sample.rate)
        return last / first if first else 1.0

    @property
    def faults(self) -> list[str]:
        """What did not stay as it was."""
        found = self.leaks()
        if self.speed < LEAST_SPEED:
            found.append(f"speed fell to {self.speed:.2f}")
        return found

    def leaks(self, most_growth: float = MOST_GROWTH) -> list[str]:
        """What there is more of than there was.

        Args:
            most_growth: share by which its own memory may have grown.
        """
        found = [f"memory grew by {self.growth:.1%}"] if self.growth > most_growth else []
        for what in ("threads", "files"):
            counts = {getattr(sample, what) for sample in self._warm}
            if len(counts) > 1:
                found.append(f"{min(counts)} to {max(counts)} {what}")
        return found

    def __str__(self) -> str:
        first, last = self.samples[0], self.samples[-1]
        speed = f", speed {self.speed:.3f}" if last.rate else ""
        return (
            f"{self.name}: {len(self.samples)} rounds, {first.own >> 10:,} to {last.own >> 10:,} KiB of its own"
            f" ({self.growth:+.2%} after the warm-up){speed}, {last.threads} threads, {last.files} files"
            f"{'  FAULT: ' + '; '.join(self.faults) if self.faults else ''}"
        )


def sample(rate: float = 0.0) -> Sample:
    """The process now. Linux."""
    # Not what is resident: where the kernel reclaims idle pages, their return would look like a leak.
    fields = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    own = sum(int(fields[name].split()[0]) << 10 for name in ("RssAnon", "VmSwap"))
    return Sample(own, len(os.listdir("/proc/self/task")), len(os.listdir("/proc/self/fd")), rate)


@dataclass(frozen=True, slots=True)
class Soak:
    """Tiny models in a folder, and an engine.

    Attributes:
        plans: a model without a drafter, one with heads of its own, one with a draft model.
    """

    engine: ChatEngine
    plans: Sequence[LoadPlan]

    def loads(self, rounds: int) -> Outcome:
        """Load, say a little, and load the same again."""
        return Outcome("loads", [self._loaded(self.plans[1]) for _ in range(rounds)])

    def switches(self, rounds: int) -> Outcome:
        """Load one model after another; a round is all of them, since they differ in size."""
        samples = [[self._loaded(plan) for plan in self.plans][-1] for _ in range(-(-rounds // len(self.plans)))]
        return Outcome("switches", samples)

    def turns(self, rounds: int, tokens: int, plan: LoadPlan, control: SpeculationControl) -> Outcome:
        """Chats of five turns; `tokens` in all."""
        self._load(plan)
        sampling = SamplingConfig(temperature=0, max_tokens=-(-tokens // rounds), seed=1)
        samples, messages = [], ()
        for at in range(rounds):
            messages = () if at % _CHAT_TURNS == 0 else messages
            messages = (*messages, Message("user", _SPOKEN[at % _CHAT_TURNS]))
            began = time.thread_time()
            said, generated = self._say(messages, control, sampling)
            same_work = control.pinned or control.mode == "off"
            samples.append(sample(generated / (time.thread_time() - began) if same_work else 0.0))
            messages = (*messages, said)
        return Outcome(f"turns, {plan.kind}, {'3 guesses' if control.pinned else control.mode}", samples)

    def _loaded(self, plan: LoadPlan) -> Sample:
        self._load(plan)
        few = SamplingConfig(temperature=0, max_tokens=8, seed=1)
        self._say((Message("user", "Hello"),), SpeculationControl(mode="on", draft_max=2), few)
        return sample()

    def _load(self, plan: LoadPlan) -> None:
        self.engine.load(plan, lambda _what, _fraction, _size: None, lambda: False)

    def _say(
        self, messages: tuple[Message, ...], control: SpeculationControl, sampling: SamplingConfig
    ) -> tuple[Message, int]:
        last = None
        for last in self.engine.turn(TurnRequest(messages, sampling), lambda: control, lambda: False):
            if isinstance(last, Failed):
                raise SystemExit(f"a turn failed: {last.message}")
        assert isinstance(last, Finished)
        return last.message, last.stats.output_tokens


def soak(folder: Path, *, loads: int, switches: int, turns: int, tokens: int) -> Iterator[Outcome]:
    """Run all parts in this process; models are written into `folder`."""
    plain, drafter = dense(folder / "plain.gguf"), dense(folder / "draft.gguf", 0.7, width=96, blocks=1, seed=6)
    heads = hybrid_mtp(folder / "heads.gguf", 0.7)
    context = max(1024, 2 * _CHAT_TURNS * -(-tokens // turns))
    model = ModelConfig(context=context, threads=1, trial="off")
    config = Config(model=model, speculative=SpeculativeConfig(find="off"))
    plans = [
        LoadPlan(str(plain.path), "", "none", config),
        LoadPlan(str(heads.path), "", "mtp", config),
        LoadPlan(str(plain.path), str(drafter.path), "draft", config),
    ]
    engine = ChatEngine(LlamaBackend(folder / "llama.log"), lessons=Lessons(folder / "lessons.json"))
    with closing(engine):
        running = Soak(engine, plans)
        yield running.loads(loads)
        yield running.switches(switches)
        pinned = SpeculationControl(mode="on", draft_min=3, draft_max=3, pinned=True)
        for control in (SpeculationControl(mode="off"), SpeculationControl(mode="auto"), pinned):
            yield running.turns(turns, tokens, plans[1], control)
        yield running.turns(turns, tokens, plans[2], pinned)


def main() -> int:
    """Run and print; 1 if anything did not stay as it was."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--loads", type=int, default=200)
    parser.add_argument("--switches", type=int, default=50)
    parser.add_argument("--turns", type=int, default=500)
    parser.add_argument("--tokens", type=int, default=100_000)
    options = parser.parse_args()
    faulty = False
    with TemporaryDirectory() as folder:
        for outcome in soak(Path(folder), **vars(options)):
            print(outcome, flush=True)
            faulty = faulty or bool(outcome.faults)
    return 1 if faulty else 0


if __name__ == "__main__":
    sys.exit(bounded(main, minutes=240))
