"""Counts what rounds did and where their time went; read only when somebody asks for a report."""

from __future__ import annotations

from collections.abc import Iterable

from mtpchat.report import RoundSplit
from mtpchat.speculate.budget import Trial


class Meter:
    """Cumulative counters of a controller."""

    def __init__(self) -> None:
        self._lengths: list[int] = []
        self._rounds = 0
        self._draft = self._decode = self._sample = self._rollback = self._catch_up = 0.0
        self._tested: dict[str, int] = {}
        self._matched: dict[str, int] = {}

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
        while len(self._lengths) <= matched:
            self._lengths.append(0)
        self._lengths[matched] += 1

    def add_trials(self, trials: Iterable[Trial]) -> None:
        """Note which guesses were tested and which were right."""
        for trial in trials:
            self._tested[trial.kind] = self._tested.get(trial.kind, 0) + trial.tested
            self._matched[trial.kind] = self._matched.get(trial.kind, 0) + trial.matched

    def tested(self, kind: str) -> int:
        """Guesses of a source that were held against what the model said."""
        return self._tested.get(kind, 0)

    def matched(self, kind: str) -> int:
        """Those of them that were right."""
        return self._matched.get(kind, 0)

    @property
    def accepted_lengths(self) -> tuple[int, ...]:
        """Rounds with guesses, by how many were accepted."""
        return tuple(self._lengths)

    @property
    def split(self) -> RoundSplit:
        """Where the time went."""
        return RoundSplit(self._rounds, self._draft, self._decode, self._sample, self._rollback, self._catch_up)
