"""Answers that go round in circles: flagged, and left out of every mean.

What a loop is, is defined where the live figures take it from (engine.repeats). A whole answer can be judged by one
more sign, which a text that goes on cannot: hardly anything in it is said for the first time.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from mtpchat.engine.repeats import LEAST_OF_A_WHOLE, repeats_in

_GRAM = 4
_DISTINCT = 0.35


def looping(units: Sequence[Hashable]) -> bool:
    """Whether an answer has fallen into a loop.

    Either a stretch of it is periodic (at least three rounds and 24 units, a third of the answer), or hardly any four
    units in a row occur for the first time, as when whole sentences come back in another order.

    Args:
        units: tokens, words or characters of the answer.
    """
    if len(units) < LEAST_OF_A_WHOLE:
        return False
    numbers: dict[Hashable, int] = {}
    if repeats_in([numbers.setdefault(unit, len(numbers)) for unit in units]).prevailed:
        return True
    return len(units) >= 2 * LEAST_OF_A_WHOLE and distinct_share(units) < _DISTINCT


def distinct_share(units: Sequence[Hashable]) -> float:
    """Share of the runs of four units that are there for the first time; 1 for fewer than four units."""
    grams = [tuple(units[start : start + _GRAM]) for start in range(len(units) - _GRAM + 1)]
    return len(set(grams)) / len(grams) if grams else 1.0
