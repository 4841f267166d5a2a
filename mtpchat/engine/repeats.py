"""Answers that go round in circles, noticed while they come.

A model that repeats itself is trivially easy to guess, so a looping answer makes any drafter look brilliant. The live
figures and the benchmark both ask here, and count such tokens for nobody.

A stretch is text that repeats itself exactly with some period, over at least three rounds. Good answers have short ones
(rulers, empty cells, refrains) and long ones that are not exact (tables, numbered lists, code with similar lines); a
loop is a stretch that is both exact and long.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

LONGEST_PERIOD = 128
LEAST = 96
"""Tokens from which on a stretch is a loop while the text goes on: more than a ruler across a terminal of 80 columns,
should every dash be a token of its own."""
LEAST_OF_A_WHOLE = 24
"""Tokens of a stretch that say something about an answer that has ended."""
SHARE = 3
"""One part in so many of an answer that has ended makes it a loop."""
_ROUNDS = 3
_ROOM = 16 * LONGEST_PERIOD


@dataclass(frozen=True, slots=True)
class Stretch:
    """Tokens begin .. end-1 repeat those one period before them.

    Attributes:
        begin: after the first round, which is said for the first time.
        length: with the first round.
    """

    begin: int = 0
    end: int = 0
    length: int = 0


NO_STRETCH = Stretch()


class Repeats:
    """Looks at one token after another; each costs some microseconds, whatever was said before. Memory is bounded.

    How many tokens in a row equal the one a period before is counted for every period at once, so that a loop is
    noticed at its LEAST-th token (the third round, where that is later) and its end at the first token that breaks it.

    Args:
        longest: the longest period that is looked for, in tokens.
    """

    def __init__(self, longest: int = LONGEST_PERIOD) -> None:
        self.count = 0
        self.stretch = NO_STRETCH
        self.longest = NO_STRETCH
        self._periods = np.arange(1, longest + 1, dtype=np.int64)
        self._needed = (_ROUNDS - 1) * self._periods
        self._runs = np.zeros(longest, dtype=np.int64)
        self._same = np.zeros(longest, dtype=np.bool_)
        # Written from its end to its beginning, so that the tokens before lie in the order of their distance.
        self._said = np.full(_ROOM + longest, -1, dtype=np.int64)
        self._at = _ROOM

    def push(self, token: int) -> None:
        """Take the next token; not negative. `stretch` then tells of the text that ends with it."""
        periods = len(self._periods)
        before = self._said[self._at : self._at + periods]
        np.equal(before, token, out=self._same)
        self._runs += 1
        self._runs *= self._same
        if self._at == 0:
            self._said[_ROOM:] = before
            self._at = _ROOM
        self._at -= 1
        self._said[self._at] = token
        self.count += 1
        np.greater_equal(self._runs, self._needed, out=self._same)
        self.stretch = self._widest() if self._same.any() else NO_STRETCH

    def _widest(self) -> Stretch:
        """Of the stretches that end here the longest, and of its periods the shortest."""
        lengths = (self._runs + self._periods) * self._same
        at = int(lengths.argmax())
        found = Stretch(self.count - int(self._runs[at]), self.count, int(lengths[at]))
        if found.length > self.longest.length:
            self.longest = found
        return found

    @property
    def looping(self) -> bool:
        """Whether the text is in a loop now."""
        return self.stretch.length >= LEAST

    @property
    def prevailed(self) -> bool:
        """Whether the text, as a whole, is a loop: one stretch is a third of it and not tiny.

        Stricter than `looping`, for a text that has ended: a short answer has no room for a long stretch.
        """
        return self.longest.length >= max(LEAST_OF_A_WHOLE, self.count / SHARE)


def repeats_in(tokens: Sequence[int]) -> Repeats:
    """What there is to say about a whole text, whose loops may have any period."""
    seen = Repeats(max(1, len(tokens) // _ROUNDS))
    for token in tokens:
        seen.push(token)
    return seen
