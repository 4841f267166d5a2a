"""Choosing threads, batch, kind and bounds for one model on one machine, within a budget of time.

First threads, by plain decoding, each count measured twice in the order A B B A. Then, with the best of them, how many
tokens of a prompt are decoded at a time, by the time in which a long one is read, in the same order; last, kinds and
bounds of the adaptive depth on one prompt of each class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import cycle

from mtpchat.bench.figures import middle
from mtpchat.bench.measure import Contender, Trial, measure
from mtpchat.bench.order import order
from mtpchat.bench.prompts import Prompt
from mtpchat.bench.results import Standing, standings
from mtpchat.bench.variants import OFF, PLAIN, Variant
from mtpchat.config import ModelConfig, SamplingConfig
from mtpchat.events import SpeculationControl

BOUNDS = (2, 4, 8)
"""Upper bounds of the depth that are tried."""

WORTH = 1.02
"""What another choice must gain before it displaces an earlier one: less is noise."""


def thread_counts(cores: int, logical: int) -> tuple[int, ...]:
    """Counts worth trying: one per core, one fewer, half, and one per hardware thread where there are more."""
    counts = [cores, cores - 1, cores // 2, logical if cores < logical <= 2 * cores else 0]
    return tuple(dict.fromkeys(count for count in counts if count >= 1))


def chunk_sizes(*, gpu: bool) -> tuple[int, ...]:
    """How many tokens of a prompt to decode at a time that are worth trying, what is the default first.

    On the CPU a decode can be given up in the middle, so its length is free; on a GPU the program itself takes fewer
    than allowed where a decode would keep the user from stopping it, and what is chosen is the limit.
    """
    return (512, 1024, 2048) if gpu else (64, 128, 256, 512)


def reading(model: ModelConfig, size: int, *, gpu: bool) -> dict[str, int]:
    """The settings of [model] with which prompts are read so many tokens at a time; none for the default."""
    if size == chunk_sizes(gpu=gpu)[0]:
        return {}
    return {"batch": size} if gpu else {"batch": max(model.batch, size), "prompt_chunk": size}


def long_text(prompts: Sequence[Prompt], tokens: int, count: Callable[[str], int]) -> str:
    """The texts of prompts one after another, once more where they do not suffice, about so many tokens in all.

    Args:
        count: tells how many tokens a text has.
    """
    parts: list[str] = []
    total = 0
    for prompt in cycle(prompts):
        size = count(prompt.text)
        if total + size > tokens and parts:
            break
        parts.append(prompt.text)
        total += max(1, size)
    return "\n\n".join(parts)


@dataclass(slots=True)
class CountRace:
    """Rates by a count, e.g. of threads."""

    counts: tuple[int, ...]
    rates: dict[int, list[float]] = field(default_factory=dict)

    def run(self, rate_with: Callable[[int], float | None], has_time: Callable[[], bool]) -> int:
        """Measure twice, the second time the other way round, as far as the time goes; the best count.

        Args:
            rate_with: measures with that count, tokens per second.
        """
        if len(self.counts) > 1:
            for round_ in range(2):
                for count in order(self.counts, 0, round_):
                    if self.rates and not has_time():
                        return self.best
                    rate = rate_with(count)
                    if rate is not None:
                        self.rates.setdefault(count, []).append(rate)
        return self.best

    @property
    def best(self) -> int:
        """The count with the highest median; an earlier one unless a later one is worth it."""
        best = self.counts[0]
        for count in self.counts:
            rate, leader = middle(self.rates.get(count, [])), middle(self.rates.get(best, []))
            if rate is not None and (leader is None or rate > leader * WORTH):
                best = count
        return best


def candidates(kinds: Iterable[str], limit: Callable[[str], int]) -> tuple[Variant, ...]:
    """Off, and for each kind the adaptive depth with each of BOUNDS that the kind allows."""
    made = [PLAIN]
    for kind in kinds:
        for bound in dict.fromkeys(min(bound, limit(kind)) for bound in BOUNDS):
            if bound > 0:
                control = SpeculationControl(mode="auto", draft_max=bound, kind=kind)
                made.append(Variant(f"{kind} 0-{bound}", control, kind))
    return tuple(made)


def race(
    contenders: Sequence[Contender],
    prompts: Sequence[Prompt],
    sampling: SamplingConfig,
    has_time: Callable[[], bool],
    progress: Callable[[str], None],
) -> tuple[Standing, ...]:
    """Measure round after round until the time is up, but one prompt at least; what came of it."""
    trials: list[Trial] = []
    for trial in measure(contenders, prompts, (sampling,), rounds=8, progress=progress):
        trials.append(trial)
        complete = len(trials) % len(contenders) == 0
        if complete and not has_time():
            break
    return standings(trials, OFF)


def winner(results: Sequence[Standing]) -> Standing:
    """The fastest; off unless another is worth it, and the smaller bound unless the larger one is."""
    best = results[0]
    for one in results:
        if (one.against.value or 0.0) > (best.against.value or 1.0) * WORTH:
            best = one
    return best


def one_per_class(prompts: Iterable[Prompt]) -> tuple[Prompt, ...]:
    """The first prompt of each class."""
    first: dict[str, Prompt] = {}
    for prompt in prompts:
        first.setdefault(prompt.group, prompt)
    return tuple(first.values())
