"""Counts what rounds did and where their time went; read only when somebody asks for a report."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate, zip_longest

from mtpchat.report import RoundSplit
from mtpchat.speculate.policy import Trial


class Meter:
    """Cumulative counters of a controller."""

    def __init__(self) -> None:
        self._lengths: list[int] = []
        self._rounds = 0
        self._draft = self._decode = self._sample = self._rollback = self._catch_up = 0.0
        self._tested: dict[str, list[int]] = {}
        self._matched: dict[str, list[int]] = {}

    def add_times(self, moments: tuple[float, float, float, float, float, float]) -> None:
        """Note a round: when it began, and when it had guessed, decoded, sampled, cut the memory, told the drafters."""
        began, guessed, decoded, sampled, cut, told = moments
        self._rounds += 1
        self._draft += guessed - began
        self._decode += decoded - guessed
        self._sample += sampled - decoded
        self._rollback += cut - sampled
        self._catch_up += told - cut

    def add_verified(self, matched: int) -> None:
        """Note how many guesses a round with guesses accepted."""
        _count(self._lengths, matched)

    def add_trials(self, trials: Iterable[Trial]) -> None:
        """Note which guesses were tested and which were right."""
        for trial in trials:
            _count(self._tested.setdefault(trial.kind, []), trial.tested)
            _count(self._matched.setdefault(trial.kind, []), trial.matched)

    def kinds(self) -> set[str]:
        """Sources of which guesses were tested, what a grammar dictates among them."""
        return set(self._tested)

    def tested(self, kind: str) -> int:
        """Guesses of a source that were held against what the model said."""
        return _total(self._tested.get(kind, ()))

    def matched(self, kind: str) -> int:
        """Those of them that were right."""
        return _total(self._matched.get(kind, ()))

    def right_at(self, kind: str) -> tuple[float, ...]:
        """Share of right guesses of a source, per position of a draft, of those that were tested there."""
        reached, held = _reaching(self._tested.get(kind, ())), _reaching(self._matched.get(kind, ()))
        return tuple(right / tested for tested, right in zip_longest(reached, held, fillvalue=0))

    @property
    def accepted_lengths(self) -> tuple[int, ...]:
        """Rounds with guesses, by how many were accepted."""
        return tuple(self._lengths)

    @property
    def split(self) -> RoundSplit:
        """Where the time went."""
        return RoundSplit(self._rounds, self._draft, self._decode, self._sample, self._rollback, self._catch_up)


def _count(counts: list[int], length: int) -> None:
    """One more of this length."""
    while len(counts) <= length:
        counts.append(0)
    counts[length] += 1


def _total(counts: Sequence[int]) -> int:
    return sum(length * count for length, count in enumerate(counts))


def _reaching(counts: Sequence[int]) -> tuple[int, ...]:
    """How many were at least 1, 2, 3, ... long."""
    return tuple(accumulate(reversed(counts[1:])))[::-1]
