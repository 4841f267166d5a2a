"""Answers that go round in circles.

A model that repeats itself is trivially easy to guess, so a looping answer makes any drafter look brilliant. Such
answers are flagged and left out of every mean.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

_FEWEST = 24
"""Shorter repetitions happen in good answers: lists, verses, code."""
_ROUNDS = 3
_SHARE = 1 / 3
_GRAM = 4
_DISTINCT = 0.35


def looping(units: Sequence[Hashable]) -> bool:
    """Whether an answer has fallen into a loop.

    Either its end is periodic (at least three rounds and 24 units, a third of the answer), or hardly any four units in
    a row occur for the first time, as when whole sentences come back in another order.

    Args:
        units: tokens, words or characters of the answer.
    """
    count = len(units)
    if count < _FEWEST:
        return False
    longest = max(_periodic_tail(units, period) for period in range(1, count // _ROUNDS + 1))
    if longest >= max(_FEWEST, count * _SHARE):
        return True
    return count >= 2 * _FEWEST and distinct_share(units) < _DISTINCT


def distinct_share(units: Sequence[Hashable]) -> float:
    """Share of the runs of four units that are there for the first time; 1 for fewer than four units."""
    grams = [tuple(units[start : start + _GRAM]) for start in range(len(units) - _GRAM + 1)]
    return len(set(grams)) / len(grams) if grams else 1.0


def _periodic_tail(units: Sequence[Hashable], period: int) -> int:
    """How many units at the end repeat with `period`, over at least three rounds; 0 when they do not."""
    length = period
    while length < len(units) and units[-1 - length] == units[-1 - length + period]:
        length += 1
    return length if length >= _ROUNDS * period else 0
