"""Tokens to text while they arrive.

A token is a run of bytes that may end in the middle of a character. Text that is shown must not, so the last bytes of
an unfinished sequence (three at most) wait for the next token.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable


class Detokenizer:
    """Turns tokens into text; the concatenated output does not depend on how tokens split the bytes.

    It equals ``b"".join(piece(t) for t in tokens).decode("utf-8", "replace")`` once `flush` was called.
    """

    def __init__(self, piece: Callable[[int], bytes]) -> None:
        """`piece` gives the bytes of one token."""
        self._piece = piece
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def push(self, token: int) -> str:
        """The text that is complete now, possibly ""."""
        return self._decoder.decode(self._piece(token))

    def flush(self) -> str:
        """End the text: bytes still waiting become U+FFFD. Ready for another text afterwards."""
        rest = self._decoder.decode(b"", final=True)
        self._decoder.reset()
        return rest
