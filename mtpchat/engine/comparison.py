"""The time of an answer against that of plain decoding, step by step, without the steps that go round in circles."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from mtpchat.engine.repeats import LONGEST_PERIOD, SHARE, Repeats

_REMEMBERED = 3 * LONGEST_PERIOD
"""A loop is noticed when it has gone on for so many tokens at most; these steps may have to be taken back."""


@dataclass(frozen=True, slots=True)
class _Counted:
    """A step that counts: where its tokens begin and end, what it took, and what plain decoding would have taken."""

    begin: int
    end: int
    seconds: float
    plain_s: float | None


class Comparison:
    """Adds up what plain decoding would have taken for the same tokens.

    A loop is easy to guess, so its steps are really fast, and no gain. They are left out on both sides: from the
    second round on, taken back as soon as the loop is noticed, until the text leaves it.

    Attributes:
        looping: the text is in a loop now; after `end` that the answer as a whole is one.
        looped_tokens / looped_s: tokens and seconds of the steps that were left out.
    """

    def __init__(self) -> None:
        self.looping = False
        self.looped_tokens = 0
        self.looped_s = 0.0
        self._repeats = Repeats()
        self._recent: deque[_Counted] = deque(maxlen=_REMEMBERED)
        self._plain_s = 0.0
        self._unknown = 0

    @property
    def plain_s(self) -> float | None:
        """Seconds of plain decoding for the tokens that count; None while nothing counts or a part was not measured."""
        return None if self._unknown else self._plain_s or None

    def add(self, tokens: Sequence[int], seconds: float, plain_s: float | None) -> None:
        """Count a step.

        Args:
            tokens: what it said.
            seconds: what it took, with the pause before it.
            plain_s: what plain decoding would have taken, None when that was not measured.
        """
        repeats = self._repeats
        step = _Counted(repeats.count, repeats.count + len(tokens), seconds, plain_s)
        for token in tokens:
            repeats.push(token)
            if repeats.looping:
                self._take_back(repeats.stretch.begin)
        self.looping = repeats.looping
        if self.looping:
            self._leave_out(step)
        else:
            self._recent.append(step)
            self._count(step, 1)

    def end(self) -> None:
        """The answer has ended: what is too short for a loop in a text that goes on may be one as a part of a whole."""
        repeats = self._repeats
        if repeats.prevailed:
            self._take_back(repeats.longest.begin, repeats.longest.end)
        mostly = SHARE * self.looped_tokens >= repeats.count > 0
        self.looping = repeats.looping or repeats.prevailed or mostly

    def _take_back(self, begin: int, end: int | None = None) -> None:
        """Leave out the steps counted so far that lie within these tokens."""
        later: list[_Counted] = []
        while self._recent and self._recent[-1].begin >= begin:
            step = self._recent.pop()
            if end is not None and step.end > end:
                later.append(step)
                continue
            self._count(step, -1)
            self._leave_out(step)
        self._recent.extend(reversed(later))

    def _leave_out(self, step: _Counted) -> None:
        self.looped_tokens += step.end - step.begin
        self.looped_s += step.seconds

    def _count(self, step: _Counted, sign: int) -> None:
        if step.plain_s is None:
            self._unknown += sign
        else:
            self._plain_s += sign * step.plain_s
