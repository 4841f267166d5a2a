"""How long a copy may be: short in a new text, longer as copies prove right in it.

What n-gram evidence is worth hangs on the text: after an answer that repeats a document word by word, the same evidence
says little about the next one, which reasons. A wrong copy of sixteen tokens costs several plain steps, a wrong one of
four hardly one, and a text that really repeats itself is copied in full after two right ones.
"""

from __future__ import annotations

FIRST = 4
_LEAST, _MOST = 2, 64


class CopyRamp:
    """The longest copy that is verified now.

    Attributes:
        most: guesses.
    """

    def __init__(self) -> None:
        self.most = FIRST

    def begin_text(self) -> None:
        """A new answer: what was copied before proves nothing."""
        self.most = FIRST

    def observe(self, verified: int, matched: int) -> None:
        """A copy was verified: twice as long after one that was right to its end, half after one mostly wrong."""
        if matched >= verified:
            self.most = min(_MOST, max(self.most, 2 * verified))
        elif 2 * matched < verified:
            self.most = max(_LEAST, self.most // 2)
