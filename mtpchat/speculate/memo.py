"""What a drafter notes beside its context, as plain data that another run can go on from."""

from __future__ import annotations

import msgspec
import numpy as np

from mtpchat.backend.protocol import Floats


class Memo(msgspec.Struct, frozen=True):
    """Notes of a drafter between two turns.

    Attributes:
        next: position of the token that it expects to be shown next.
        tokens: those of its notes, in order.
        places: positions that have a hidden row below: first those of `tokens`, then others, then that of the last row.
        rows: these hidden rows as float32, one after the other.
        width: floats per row.
        newest: the last row is the hidden state before `next`.
    """

    next: int = 0
    tokens: tuple[int, ...] = ()
    places: tuple[int, ...] = ()
    rows: bytes = b""
    width: int = 0
    newest: bool = False

    def hidden(self) -> Floats | None:
        """The rows, shape (len(places), width); None if they are not what they should be."""
        if len(self.rows) != 4 * self.width * len(self.places) or len(self.tokens) > len(self.places):
            return None
        return np.frombuffer(self.rows, np.float32).reshape(len(self.places), self.width).copy()
