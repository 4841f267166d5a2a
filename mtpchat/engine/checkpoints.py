"""Which states to keep of a memory that cannot be cut, so that going back to any message re-reads little.

People go back to late messages more often than to early ones: a message is taken to be as likely a place to go back to
as it is far from the end, on a logarithmic scale. What a checkpoint is worth is then the tokens that would have to be
read again without it, times the share of places for which that is so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol, TypeVar

MOST = 16
MOST_BYTES = 512 * 1024 * 1024
_LATEST = 4
"""Those of two turns, before the message and before the answer, stay as long as there is room."""


class Point(Protocol):
    """A state and how many tokens it was taken at."""

    @property
    def length(self) -> int: ...

    @property
    def state(self) -> bytes: ...


P = TypeVar("P", bound=Point)


def thinned(points: Sequence[P], most: int = MOST, most_bytes: int = MOST_BYTES) -> list[P]:
    """As many of these as may be kept: those of the latest turns, and of the others those that are worth most.

    Args:
        points: of different lengths.

    Returns:
        the shortest first.
    """
    kept = sorted(points, key=lambda point: point.length)
    while len(kept) > 1 and (len(kept) > most or sum(len(point.state) for point in kept) > most_bytes):
        lengths = [point.length for point in kept]
        del kept[min(range(max(1, len(kept) - _latest(most))), key=lambda at: _worth(lengths, at))]
    return kept


def _latest(most: int) -> int:
    return max(1, min(_LATEST, most // 2))


def _worth(lengths: Sequence[int], at: int) -> float:
    before = lengths[at - 1] if at else 0
    end = lengths[-1] + 1
    return (lengths[at] - before) * math.log((end - lengths[at]) / (end - lengths[at + 1]))
