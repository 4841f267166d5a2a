"""How long a bench will take, and how much of it to leave out so that it ends in a reasonable time.

A bench asks each prompt once per round of every contender: with eleven ways to decode, 21 prompts, three rounds and 96
tokens that is ten minutes for a small model, and hours for a large one on a processor. So one short answer is timed
first. What nobody has asked for in so many words is then reduced until the estimate fits: rounds, then prompts to one
of each class, then the length of the answers. Pure, apart from that answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import msgspec

from mtpchat.bench.measure import trials_planned
from mtpchat.bench.prompts import Prompt
from mtpchat.bench.subject import Subject
from mtpchat.bench.tune import one_per_class
from mtpchat.bench.variants import PLAIN
from mtpchat.config import SamplingConfig

BUDGET_S = 600.0
"""What a bench may take unless another time is named."""
ROUNDS, TOKENS = 3, 96
"""Of each prompt, and of an answer, where there is time."""
_FEWER_TOKENS = (64, 48, 32)
_TIMED_TOKENS = 16
_SLOWER = 1.3
"""Against plain decoding, over all contenders: fixed depths of a poor drafter lose more than the good ones gain."""
_LOOKING_AHEAD = 4.0
"""Plain answers that one pass of the oracle takes: each drafter is asked for a whole draft at every token."""


@dataclass(frozen=True, slots=True)
class Extent:
    """How much is measured.

    Attributes:
        ways: contenders.
        temperatures: how many of them.
        oracle: with one more pass over all prompts.
    """

    ways: int
    prompts: tuple[Prompt, ...]
    temperatures: int = 1
    rounds: int = ROUNDS
    tokens: int = TOKENS
    oracle: bool = False

    @property
    def answers(self) -> int:
        """Answers that will be asked for, warm-up and oracle left aside."""
        return trials_planned(self.ways, len(self.prompts), self.temperatures, self.rounds) - self.ways


@dataclass(frozen=True, slots=True)
class Free:
    """What the user has left open, so that it may be reduced."""

    rounds: bool = True
    prompts: bool = True
    tokens: bool = True


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds per token of a prompt that is read, and per token that is said plainly."""

    read_s: float
    token_s: float


def pace(subject: Subject, prompt: Prompt, sampling: SamplingConfig) -> Pace:
    """Time one short plain answer. Raises EngineError."""
    few = min(_TIMED_TOKENS, sampling.max_tokens or _TIMED_TOKENS)
    subject.ask(prompt, PLAIN.control, msgspec.structs.replace(sampling, max_tokens=1))  # the first one sets things up
    stats = subject.ask(prompt, PLAIN.control, msgspec.structs.replace(sampling, max_tokens=few)).stats
    read = max(1, stats.prompt_tokens - stats.cached_tokens)
    return Pace(stats.prefill_s / read, stats.decode_s / max(1, stats.output_tokens))


def seconds(extent: Extent, at: Pace, size: Callable[[Prompt], int]) -> float:
    """What an extent is going to take, about.

    Args:
        size: tokens of a prompt.
    """
    read_s = at.read_s * sum(map(size, extent.prompts)) / max(1, len(extent.prompts))
    said_s = at.token_s * extent.tokens
    passes = _LOOKING_AHEAD * extent.temperatures * len(extent.prompts) if extent.oracle else 0.0
    return extent.answers * (read_s + _SLOWER * said_s) + passes * (read_s + said_s)


def fitted(wanted: Extent, free: Free, at: Pace, size: Callable[[Prompt], int], budget_s: float) -> Extent:
    """The most of what is wanted that ends in time; the least that may be asked for where nothing does."""
    made = wanted
    for made in _less_and_less(wanted, free):
        if seconds(made, at, size) <= budget_s:
            break
    return made


def _less_and_less(extent: Extent, free: Free) -> Iterator[Extent]:
    yield extent
    while free.rounds and extent.rounds > 1:
        extent = replace(extent, rounds=extent.rounds - 1)
        yield extent
    if free.prompts and len(few := one_per_class(extent.prompts)) < len(extent.prompts):
        extent = replace(extent, prompts=few)
        yield extent
    for tokens in _FEWER_TOKENS if free.tokens else ():
        if tokens < extent.tokens:
            extent = replace(extent, tokens=tokens)
            yield extent


def announcement(extent: Extent, wanted: Extent, took_s: float, budget_s: float) -> str:
    """What is about to happen, for people."""
    counted = (
        _count(extent.ways, "way to decode", "ways to decode"),
        _count(len(extent.prompts), "prompt", "prompts"),
        *([_count(extent.temperatures, "temperature", "temperatures")] if extent.temperatures > 1 else []),
        _count(extent.rounds, "round", "rounds"),
    )
    said = f"{_about(took_s)}: {extent.answers:,} answers of {extent.tokens} tokens ({', '.join(counted)})."
    if extent != wanted:
        left_out = ", ".join(_left_out(extent, wanted))
        said += f" So that it ends in {_minutes(budget_s)}, {left_out}; --budget SECONDS gives it more."
    elif took_s > 1.5 * budget_s:
        said += " --only, --depths and --kinds make it shorter."
    return f"{said} Ctrl+C ends it early and shows what was measured."


def _left_out(extent: Extent, wanted: Extent) -> Iterator[str]:
    if extent.rounds < wanted.rounds:
        yield f"{extent.rounds} of {wanted.rounds} rounds"
    if len(extent.prompts) < len(wanted.prompts):
        yield "one prompt of each class"
    if extent.tokens < wanted.tokens:
        yield f"{extent.tokens} instead of {wanted.tokens} tokens"


def _about(took_s: float) -> str:
    return "Less than a minute" if took_s < 60 else f"About {_minutes(took_s)}"


def _minutes(time_s: float) -> str:
    if time_s < 90:
        return f"{time_s:.0f} seconds" if time_s < 60 else "one minute"
    return f"{time_s / 60:.0f} minutes" if time_s < 5400 else f"{time_s / 3600:.1f} hours"


def _count(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"
