"""What a kept state of the model's memory says of itself; the words that engine and disk have in common."""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int32]


class StateRecord(msgspec.Struct, frozen=True):
    """One state, apart from its bytes.

    The bytes come in sections: the target's memory, the drafter's memory, what the drafter noted, then the checkpoints.

    Attributes:
        key: of the model and settings it fits; see ContextStates.key.
        chat: id of the chat that was left there.
        ids: the tokens in memory, as int32.
        draft_key: of the drafter whose memory it holds, or "".
        draft_rows: how many rows that memory has; it may be ahead of the target's.
        checkpoints: lengths that a memory which cannot be cut can be brought back to, ascending.
        read_s: seconds that reading one of the tokens took.
        sizes: bytes of each section.
    """

    key: str
    chat: str
    ids: bytes
    draft_key: str = ""
    draft_rows: int = 0
    checkpoints: tuple[int, ...] = ()
    read_s: float = 0.0
    sizes: tuple[int, ...] = ()

    def tokens(self) -> Ids:
        """The tokens in memory."""
        return np.frombuffer(self.ids, np.int32)

    @property
    def length(self) -> int:
        """How many tokens are in memory."""
        return len(self.ids) // 4

    def sound(self) -> bool:
        """Whether its parts agree with each other."""
        return (
            len(self.ids) % 4 == 0
            and self.length > 0
            and len(self.sizes) == 3 + len(self.checkpoints)
            and min(self.sizes) >= 0
            and self.sizes[0] > 0
            and all(0 < at <= self.length for at in self.checkpoints)
            and self.draft_rows >= 0
        )


class FoundState(msgspec.Struct, frozen=True):
    """A state that is there: its name in the store, its record, its bytes in total, and when it was last used.

    The time is in seconds since 1970.
    """

    name: str
    record: StateRecord
    size: int
    used: float = 0.0
