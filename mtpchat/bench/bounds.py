"""Holding the adaptive depth against the oracle: what was foreseen, what it could have brought, what became of it.

Costs are those that the contenders measured themselves while they ran. Both sides of a comparison are ratios to plain
decoding, taken within one run, so that a machine that is slow today is slow for both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from mtpchat.bench.duels import ADAPTIVE, COPIES
from mtpchat.bench.figures import middle
from mtpchat.bench.measure import Trial
from mtpchat.bench.oracle import CostTable, Guesses, bound, merged
from mtpchat.bench.prompts import Prompt
from mtpchat.bench.results import mean_of_classes, ratios_of_prompts
from mtpchat.bench.subject import Answer
from mtpchat.bench.variants import Variant
from mtpchat.config import SamplingConfig
from mtpchat.engine.foresight import Foresight
from mtpchat.events import SpeculationControl
from mtpchat.report import SpeculationReport


class Seer(Protocol):
    """What is needed of a subject to look ahead."""

    def ask(self, prompt: Prompt, control: SpeculationControl, sampling: SamplingConfig) -> Answer:
        """See Subject.ask."""
        ...

    def foresee(
        self, prompt: Prompt, said: Sequence[int], sampling: SamplingConfig, most: Mapping[str, int]
    ) -> dict[str, Foresight]:
        """See mtpchat.engine.foresight."""
        ...


@dataclass(frozen=True, slots=True)
class Known:
    """What each kind of drafter would have guessed in the plain answer to one prompt."""

    prompt: str
    temperature: float
    kinds: dict[str, Foresight]


@dataclass(frozen=True, slots=True)
class Costs:
    """What steps and guesses were measured to cost.

    Attributes:
        verify: seconds per width.
        guess_s: by kind of drafter, seconds of the first and of a later guess.
    """

    verify: CostTable
    guess_s: dict[str, tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Share:
    """`bound`: the oracle against plain decoding; `share`: the contender against the oracle. None: nothing to hold."""

    bound: float | None
    share: float | None


@dataclass(frozen=True, slots=True)
class Bound:
    """One adaptive contender at one temperature, over all classes and per class."""

    contender: str
    temperature: float
    overall: Share
    by_group: dict[str, Share]


@dataclass(frozen=True, slots=True)
class Oracle:
    """The bounds, and the costs that they rest on."""

    costs: Costs
    bounds: tuple[Bound, ...]


def reach(variants: Sequence[Variant], *, copies: bool) -> dict[str, int]:
    """For each kind of drafter that adaptive variants use, the longest draft they may make.

    Args:
        copies: whether they copy by n-gram beside their own kind.
    """
    most: dict[str, int] = {}
    for variant in (one for one in variants if one.control.mode == "auto"):
        most[variant.kind] = max(most.get(variant.kind, 0), variant.control.draft_max)
        if copies or variant.kind == COPIES:
            most[COPIES] = max(most.get(COPIES, 0), variant.control.draft_max, variant.control.free_max)
    return most


def look_ahead(
    seer: Seer,
    prompts: Sequence[Prompt],
    samplings: Sequence[SamplingConfig],
    most: Mapping[str, int],
    progress: Callable[[str], None] = lambda _what: None,
) -> Iterator[Known]:
    """Answer every prompt plainly and note what would have been guessed.

    Args:
        most: see foresee; not empty.

    Raises:
        EngineError, DrafterError: a decode failed.
    """
    # Not "off", with which the context may be made without what drafters read of it: a depth of 0.
    plainly = SpeculationControl(mode="auto", draft_max=0, kind=next(iter(most)))
    for sampling in samplings:
        for prompt in prompts:
            progress(f"looking ahead: {prompt.name}")
            said = seer.ask(prompt, plainly, sampling).tokens
            yield Known(prompt.name, sampling.temperature, seer.foresee(prompt, said, sampling, most))


def costs_of(reports: Sequence[SpeculationReport]) -> Costs | None:
    """Costs from what contenders learnt, by medians; None when none of them made a plain step."""
    verify = merged(dict(report.verify_s) for report in reports)
    if verify is None:
        return None
    seen: dict[str, list[tuple[float, float]]] = {}
    for source in (source for report in reports for source in report.sources):
        if source.first_s is not None and source.later_s is not None:
            seen.setdefault(source.kind, []).append((source.first_s, source.later_s))
    guess_s = {
        kind: (middle([first for first, _ in pairs]) or 0.0, middle([later for _, later in pairs]) or 0.0)
        for kind, pairs in seen.items()
    }
    return Costs(verify, guess_s)


def bounds_of(
    trials: Sequence[Trial], known: Sequence[Known], costs: Costs, baseline: str, *, combine: bool = True
) -> tuple[Bound, ...]:
    """Every adaptive contender that was looked ahead for, per temperature.

    Args:
        baseline: label of plain decoding.
        combine: whether copies by n-gram may be used beside a drafter.
    """
    found = []
    for temperature in dict.fromkeys(one.temperature for one in known):
        foreseen = {one.prompt: one.kinds for one in known if one.temperature == temperature}
        own = [trial for trial in trials if trial.temperature == temperature]
        for label in sorted({trial.contender for trial in own}):
            kind, _, depth = label.partition(" ")
            if depth != ADAPTIVE or not all(kind in kinds for kinds in foreseen.values()):
                continue
            used = dict.fromkeys((kind, COPIES) if combine else (kind,))
            most = {
                prompt: _bound({name: kinds[name] for name in used if name in kinds}, costs)
                for prompt, kinds in foreseen.items()
            }
            found.append(_held(own, label, baseline, temperature, most))
    return tuple(found)


def _bound(kinds: Mapping[str, Foresight], costs: Costs) -> float:
    sources = [Guesses(seen.right, seen.made, *costs.guess_s.get(kind, (0.0, 0.0))) for kind, seen in kinds.items()]
    return bound(len(sources[0].right), sources, costs.verify)


def _held(trials: Sequence[Trial], label: str, baseline: str, temperature: float, most: Mapping[str, float]) -> Bound:
    """The same prompts count on both sides: those that count in the ratio to plain decoding."""
    limits: dict[str, list[float]] = {group: [] for group in dict.fromkeys(trial.group for trial in trials)}
    shares: dict[str, list[float]] = {group: [] for group in limits}
    for (group, prompt), ratios in ratios_of_prompts(trials, label, baseline).items():
        value = middle(ratios)
        if value and prompt in most:
            limits[group].append(most[prompt])
            shares[group].append(value / most[prompt])
    by_group = {
        group: Share(mean_of_classes({group: limits[group]}), mean_of_classes({group: shares[group]}))
        for group in limits
    }
    return Bound(label, temperature, Share(mean_of_classes(limits), mean_of_classes(shares)), by_group)
