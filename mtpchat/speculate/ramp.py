"""How far copies are trusted: little in a new text, more as they prove right in it.

What n-gram evidence is worth hangs on the text: after an answer that repeats a document word by word, the same evidence
says little about the next one, which reasons. Two things are therefore learnt anew in each answer. How long a copy may
be: a wrong one of sixteen tokens costs several plain steps, a wrong one of four hardly one, and a text that really
repeats itself is copied in full after two right ones. And how far the text keeps what the evidence promises: every copy
that could have been made is held against what the model then says, whether it was made or not.
"""

from __future__ import annotations

FIRST = 4
"""Guesses of the longest copy in a new answer."""
_LEAST, _MOST = 2, 64
"""Bounds of that length: a copy of two is cheap enough never to be given up, and none is longer than /draft allows."""
_PRIOR = 6.0
"""Tests whose outcome was as promised, to begin with."""
_LOWEST, _HIGHEST = 0.3, 1.05
"""Bounds of trust: what is never tried could not recover, and no text makes evidence much better than it is."""


class CopyRamp:
    """Trust in copies within one answer.

    Attributes:
        most: guesses of the longest copy that is verified now.
    """

    def __init__(self) -> None:
        self.begin_text()

    def begin_text(self) -> None:
        """A new answer: what was copied before proves nothing."""
        self.most = FIRST
        self._promised = self._right = _PRIOR

    @property
    def trust(self) -> float:
        """Factor on the chances that the evidence gives: right guesses of this text against those promised."""
        return min(_HIGHEST, max(_LOWEST, self._right / self._promised))

    def judge(self, chance: float, *, hit: bool) -> None:
        """A guess that was given this chance could be held against the text."""
        self._promised += chance
        self._right += hit

    def observe(self, verified: int, matched: int) -> None:
        """A copy was verified: twice as long after one that was right to its end, half after one mostly wrong."""
        if matched >= verified:
            self.most = min(_MOST, max(self.most, 2 * verified))
        elif 2 * matched < verified:
            self.most = max(_LEAST, self.most // 2)
