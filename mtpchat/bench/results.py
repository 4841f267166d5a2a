"""From trials to figures: ratios within one round, medians over rounds, geometric means over prompts and classes.

Two contenders are only compared on the same prompt in the same round, so that a machine that slows down slows both. A
prompt whose answer loops, or is too short to time, is left out on both sides.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from mtpchat.bench.figures import geometric_mean, middle, spread
from mtpchat.bench.measure import Trial

SHORTEST = 8
"""Tokens: a shorter answer says more about the clock than about the decoder."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """How many times as fast as another contender.

    Attributes:
        value: median of the rounds, geometric mean over prompts (and over classes, for the whole).
        spread: median absolute deviation of the single ratios from their median, None for fewer than two.
        prompts: how many prompts it rests on.
    """

    value: float | None
    spread: float | None
    prompts: int


@dataclass(frozen=True, slots=True)
class Standing:
    """How one contender did at one temperature.

    Attributes:
        rate: median tokens per second, of all that was not left out.
        ttft_s: median time to the first token.
        against: ratio to the baseline over all classes.
        by_group: the same per class.
        against_peers: ratio to each other program that took part, by its label.
        acceptance: kept share of the guesses.
        accepted_at: share of the tested guesses that were kept, per position.
        mean_accepted_length: tokens per step; None when nothing was drafted or steps are not told.
        loops: answers that repeat themselves.
        short: answers too short to time.
        differing: answers that are not token for token those of the baseline; None for another program.
        answers: how many there are.
    """

    contender: str
    temperature: float
    rate: float | None
    rate_spread: float | None
    ttft_s: float | None
    against: Ratio
    by_group: dict[str, Ratio]
    against_peers: dict[str, Ratio]
    acceptance: float | None
    accepted_at: tuple[float, ...]
    mean_accepted_length: float | None
    loops: int
    short: int
    differing: int | None
    answers: int


def standings(trials: Sequence[Trial], baseline: str, peers: Sequence[str] = ()) -> tuple[Standing, ...]:
    """The figures of every contender, per temperature, in the order in which they first appear by label.

    Args:
        baseline: label of plain decoding.
        peers: labels of other programs that took part.
    """
    labels = sorted({trial.contender for trial in trials}, key=lambda label: _rank(label, baseline, peers))
    temperatures = list(dict.fromkeys(trial.temperature for trial in trials))
    return tuple(
        _standing([trial for trial in trials if trial.temperature == temperature], label, baseline, peers)
        for temperature in temperatures
        for label in labels
    )


def _rank(label: str, baseline: str, peers: Sequence[str]) -> tuple[int, str, int, str]:
    kind, _, depth = label.partition(" ")
    first = 0 if label == baseline else 2 if label in peers else 1
    return first, kind, int(depth) if depth.isdecimal() else 1 << 30, label


def _standing(trials: Sequence[Trial], label: str, baseline: str, peers: Sequence[str]) -> Standing:
    own = [trial for trial in trials if trial.contender == label]
    timed = [trial for trial in own if usable(trial)]
    rates = [trial.measured.rate for trial in timed if trial.measured.rate]
    firsts = [trial.measured.ttft_s for trial in own if trial.measured.ttft_s is not None]
    drafted = sum(trial.measured.drafted for trial in own)
    steps = sum(trial.measured.steps or 0 for trial in own)
    accepted = sum(trial.measured.accepted for trial in own)
    groups = list(dict.fromkeys(trial.group for trial in trials))
    return Standing(
        contender=label,
        temperature=own[0].temperature if own else 0.0,
        rate=middle(rates),
        rate_spread=spread(rates),
        ttft_s=middle(firsts),
        against=compare(trials, label, baseline),
        by_group={group: compare([one for one in trials if one.group == group], label, baseline) for group in groups},
        against_peers={peer: compare(trials, label, peer) for peer in peers if peer != label},
        acceptance=accepted / drafted if drafted else None,
        accepted_at=_accepted_at(own),
        mean_accepted_length=1 + accepted / steps if drafted and steps else None,
        loops=sum(trial.measured.loops for trial in own),
        short=sum(trial.measured.output_tokens < SHORTEST for trial in own),
        differing=None if label in peers else _differing(trials, label, baseline),
        answers=len(own),
    )


def usable(trial: Trial) -> bool:
    """Whether the answer counts: long enough, and not going round in circles."""
    measured = trial.measured
    return not measured.loops and measured.output_tokens >= SHORTEST and measured.rate is not None


def compare(trials: Sequence[Trial], label: str, other: str) -> Ratio:
    """`label` against `other`: per prompt the median of the rounds, then geometric means within and over classes."""
    per_prompt = ratios_of_prompts(trials, label, other)
    groups: dict[str, list[float]] = {}
    for (group, _), ratios in per_prompt.items():
        value = middle(ratios)
        if value:
            groups.setdefault(group, []).append(value)
    deviations = [ratio / (middle(ratios) or 1.0) for ratios in per_prompt.values() for ratio in ratios]
    return Ratio(mean_of_classes(groups), spread(deviations), len(per_prompt))


def mean_of_classes(groups: Mapping[str, Sequence[float]]) -> float | None:
    """Of ratios by class: the geometric mean within each, then over classes; None of nothing."""
    return geometric_mean([mean for values in groups.values() if (mean := geometric_mean(values))])


def ratios_of_prompts(trials: Sequence[Trial], label: str, other: str) -> dict[tuple[str, str], list[float]]:
    """How many times as fast `label` was as `other`, for each (class, prompt) that counts on both sides, per round."""
    mine, theirs = _by_place(trials, label), _by_place(trials, other)
    spoilt = {place[0] for side in (mine, theirs) for place, trial in side.items() if not usable(trial)}
    per_prompt: dict[tuple[str, str], list[float]] = {}
    for place, trial in mine.items():
        against = theirs.get(place)
        if against is None or place[0] in spoilt:
            continue
        rate, base = trial.measured.rate, against.measured.rate
        if rate and base:
            per_prompt.setdefault((trial.group, trial.prompt), []).append(rate / base)
    return per_prompt


def _by_place(trials: Iterable[Trial], label: str) -> dict[tuple[str, float, int], Trial]:
    """Trials of a contender by (prompt, temperature, round)."""
    return {(one.prompt, one.temperature, one.round): one for one in trials if one.contender == label}


def _differing(trials: Sequence[Trial], label: str, baseline: str) -> int:
    base = _by_place(trials, baseline)
    return sum(
        place in base and trial.measured.digest != base[place].measured.digest
        for place, trial in _by_place(trials, label).items()
    )


def _accepted_at(trials: Sequence[Trial]) -> tuple[float, ...]:
    reached = [sum(column) for column in zip_longest(*(one.measured.reached_at for one in trials), fillvalue=0)]
    kept = [sum(column) for column in zip_longest(*(one.measured.accepted_at for one in trials), fillvalue=0)]
    return tuple(hits / tested for hits, tested in zip_longest(kept, reached, fillvalue=0) if tested)
