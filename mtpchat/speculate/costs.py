"""What a step costs on this machine, measured while chatting: milliseconds per verify width and per guess.

Timings of a desktop are dirty: a compiler starts, a page is swapped in, a width is used for the first time and its
graph is built. So a value moves by at most a quarter of itself per observation, and a width is only measured when the
step before had the same width.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

_VERIFY_WEIGHT, _VERIFY_CLAMP = 0.2, 0.25
_DRAFT_WEIGHT, _DRAFT_CLAMP = 0.1, 0.5
_STALE_STEPS = 256
_FIRST_STEPS = 3


class Costs:
    """Seconds per verify width and per guess.

    Args:
        clock: seconds, monotonic; only used for the age of the plain rate.
        slope: first assumption of what one more row costs, as a share of a plain step.
    """

    def __init__(self, clock: Callable[[], float], slope: float = 0.3) -> None:
        self._clock = clock
        self._slope = slope
        self._verify: dict[int, float] = {}
        self._seen: dict[int, int] = {}
        self._first: list[float] = []
        self._step = 0
        self._last_width = 0
        self._guess: dict[str, float] = {}
        self._plain_at: float | None = None

    @property
    def plain_s(self) -> float | None:
        """Seconds of a plain step, None until it was measured."""
        return self._verify.get(1)

    @property
    def plain_age_s(self) -> float | None:
        """Seconds since a plain step was last measured."""
        return None if self._plain_at is None else self._clock() - self._plain_at

    def guess_s(self, kind: str) -> float | None:
        """Seconds of one guess of this kind of drafter, None until it was measured."""
        return self._guess.get(kind)

    @property
    def last_width(self) -> int:
        """Width of the last step; 0 before the first."""
        return self._last_width

    def knows(self, width: int) -> bool:
        """Whether this width was measured."""
        return width in self._verify

    def verify_s(self, width: int) -> float:
        """Seconds of a step that verifies width - 1 guesses: measured, or read off its neighbours."""
        known = self._verify.get(width)
        if known is not None:
            return known
        widths = sorted(self._verify)
        if not widths:
            return 1.0
        plain = self._verify[widths[0]]
        if len(widths) == 1:
            return plain * (1 + self._slope * (width - widths[0]))
        if width < widths[0]:
            return plain
        low, high = next(((a, b) for a, b in pairwise(widths) if width < b), (widths[-2], widths[-1]))
        rise = (self._verify[high] - self._verify[low]) / (high - low)
        return self._verify[low] + max(0.0, rise) * (width - low)

    def observe(self, width: int, verify_s: float, kind: str = "", guesses: int = 0, draft_s: float = 0.0) -> None:
        """Note one step.

        Args:
            width: rows verified (guesses + 1).
            verify_s: decode, sampling and roll-back.
            kind: who guessed.
            guesses: how many guesses were made, verified or not.
            draft_s: time they took together.
        """
        self._step += 1
        if width == self._last_width or (width not in self._verify and width > 1):
            self._note_width(width, verify_s)
        elif width == 1 and width not in self._verify:
            self._note_first(verify_s)
        self._last_width = width
        if guesses:
            each = draft_s / guesses
            old = self._guess.get(kind, each)
            self._guess[kind] = old + _DRAFT_WEIGHT * _clamp(each - old, _DRAFT_CLAMP * old)

    def _note_first(self, verify_s: float) -> None:
        self._first.append(verify_s)

    def _note_width(self, width: int, verify_s: float) -> None:
        if width == 1:
            self._plain_at = self._clock()
            if len(self._first) < _FIRST_STEPS:
                # The first plain steps pay for caches and graphs: their median, not the first, is the start.
                self._first.append(verify_s)
                self._verify[1] = sorted(self._first)[(len(self._first) - 1) // 2]
                self._seen[1] = self._step
                return
        old = self._verify.get(width)
        new = verify_s if old is None else old + _VERIFY_WEIGHT * _clamp(verify_s - old, _VERIFY_CLAMP * old)
        self._verify[width] = new
        self._seen[width] = self._step
        if old is not None:
            self._drift(new / old)

    def _drift(self, ratio: float) -> None:
        """Attention grows with the context: what was not measured lately moves along, by half on a log scale."""
        for width, seen in self._seen.items():
            if self._step - seen > _STALE_STEPS:
                self._verify[width] *= ratio**0.5


def _clamp(value: float, bound: float) -> float:
    return max(-bound, min(bound, value))
