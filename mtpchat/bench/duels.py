"""The adaptive depth against the best single setting that anyone could have pinned.

For each class, and for all together, plain decoding and every fixed depth of the same kind of drafter are rivals; so is
every fixed depth of n-gram, whose copies the adaptive depth may use beside a drafter. The rival that did best against
plain decoding is the one to beat. It is chosen after the fact from noisy figures, so it is a little better here than it
would be in another run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mtpchat.bench.measure import Trial
from mtpchat.bench.results import Ratio, compare

ADAPTIVE = "auto"
COPIES = "ngram"


@dataclass(frozen=True, slots=True)
class Bout:
    """One comparison. `rival` is the label of the best static setting, "" where nothing could be compared."""

    rival: str
    ratio: Ratio


@dataclass(frozen=True, slots=True)
class Duel:
    """One adaptive contender at one temperature: against the best for everything, and against the best per class."""

    contender: str
    temperature: float
    overall: Bout
    by_group: dict[str, Bout]


def duels(trials: Sequence[Trial], baseline: str, peers: Sequence[str] = ()) -> tuple[Duel, ...]:
    """Every adaptive contender against its best static rival, per temperature.

    Args:
        baseline: label of plain decoding.
        peers: labels of other programs; they are no rivals here.
    """
    labels = [label for label in dict.fromkeys(trial.contender for trial in trials) if label not in peers]
    found = []
    for temperature in dict.fromkeys(trial.temperature for trial in trials):
        own = [trial for trial in trials if trial.temperature == temperature]
        for label in sorted(label for label in labels if label.partition(" ")[2] == ADAPTIVE):
            rivals = _rivals(label, labels, baseline)
            groups = dict.fromkeys(trial.group for trial in own)
            by_group = {
                group: _bout([trial for trial in own if trial.group == group], label, rivals, baseline)
                for group in groups
            }
            found.append(Duel(label, temperature, _bout(own, label, rivals, baseline), by_group))
    return tuple(found)


def _rivals(label: str, labels: Sequence[str], baseline: str) -> list[str]:
    """Plain decoding and the fixed depths that this contender may be held against."""
    kinds = {label.partition(" ")[0], COPIES}
    fixed = [one for one in labels if one.partition(" ")[0] in kinds and one.partition(" ")[2].isdecimal()]
    return [baseline, *sorted(fixed)]


def _bout(trials: Sequence[Trial], label: str, rivals: Sequence[str], baseline: str) -> Bout:
    best, most = "", 0.0
    for rival in rivals:
        value = compare(trials, rival, baseline).value
        if value is not None and value > most:
            best, most = rival, value
    return Bout(best, compare(trials, label, best) if best else Ratio(None, None, 0))
