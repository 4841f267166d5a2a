"""Acceptance of all sources, apart for each bucket of temperatures: what is right when greedy is not at 1.0."""

from __future__ import annotations

from collections.abc import Mapping

from mtpchat.speculate.acceptance import Acceptance, AcceptanceRecord


class Calibration:
    """What is known about each source of guesses at the temperature in force.

    Args:
        single: sources whose confidence says all there is to know, so that all positions share one class.
    """

    def __init__(self, single: frozenset[str] = frozenset()) -> None:
        self._single = single
        self._now: dict[str, Acceptance] = {}
        self._shelves: dict[int, dict[str, Acceptance]] = {}
        self._bucket = 0

    def of(self, kind: str) -> Acceptance:
        """Statistics of one source."""
        found = self._now.get(kind)
        if found is None:
            found = self._now[kind] = self._blank(kind)
        return found

    def sources(self) -> dict[str, Acceptance]:
        """Statistics of every source that was seen."""
        return dict(self._now)

    def fade(self) -> None:
        """Trust what was learnt less, after the sampling changed."""
        for seen in self._now.values():
            seen.fade()

    def at_temperature(self, temperature: float) -> None:
        """Go on with what was learnt at a temperature like this.

        Where nothing was, what is known of the last one stands in, and counts for little.
        """
        bucket = temperature_bucket(temperature)
        if bucket == self._bucket:
            return
        here, there = self._now, self._shelves.get(bucket)
        if there is None:
            there = {}
            for kind, seen in here.items():
                there[kind] = self._blank(kind)
                there[kind].seed(seen.record())
                there[kind].fade()
        self._shelves[self._bucket], self._now, self._bucket = here, there, bucket

    def records(self) -> dict[int, dict[str, AcceptanceRecord]]:
        """What was learnt, per bucket of temperatures and source, as plain data."""
        shelves = {**self._shelves, self._bucket: self._now}
        return {at: {kind: seen.record() for kind, seen in shelf.items()} for at, shelf in shelves.items() if shelf}

    def seed(self, records: Mapping[int, Mapping[str, AcceptanceRecord]]) -> None:
        """Begin with what was learnt in an earlier run; sources that were seen in this one keep what they have."""
        for bucket, sources in records.items():
            shelf = self._now if bucket == self._bucket else self._shelves.setdefault(bucket, {})
            for kind, record in sources.items():
                if kind not in shelf:
                    shelf[kind] = self._blank(kind)
                    shelf[kind].seed(record)

    def _blank(self, kind: str) -> Acceptance:
        return Acceptance(1 if kind in self._single else 3)


def temperature_bucket(temperature: float) -> int:
    """0 for greedy, then up to 0.5, up to 0.9, and above."""
    return 0 if temperature <= 0 else 1 if temperature <= 0.5 else 2 if temperature <= 0.9 else 3
