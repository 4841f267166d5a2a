"""No guessing: plain decoding."""

from __future__ import annotations

from collections.abc import Sequence

from mtpchat.backend.protocol import DecodedRows
from mtpchat.speculate.base import NO_DRAFT, Draft, Drafter, Parts, Strategy, Wants
from mtpchat.speculate.memo import Memo


class NoDrafter:
    """Never proposes anything."""

    depth_limit: int | None = 0
    least_rows: int | None = 0

    def propose(self, context: Sequence[int], wants: Wants) -> Draft:
        """See Drafter.propose."""
        return NO_DRAFT

    def observe(self, start: int, tokens: Sequence[int], rows: DecodedRows) -> None:
        """See Drafter.observe."""

    def warm(self, context: Sequence[int], length: int, rows: int) -> int:
        """See Drafter.warm."""
        return 0

    def skip(self) -> None:
        """See Drafter.skip."""

    def rollback(self, length: int) -> int:
        """See Drafter.rollback."""
        return length

    def memo(self) -> Memo | None:
        """See Drafter.memo: the context is all there is."""
        return None

    def recall(self, memo: Memo) -> bool:
        """See Drafter.recall."""
        return False

    def close(self) -> None:
        """See Drafter.close."""


def _build(_parts: Parts) -> Drafter | None:
    return NoDrafter()


STRATEGY = Strategy("none", "plain decoding, no guesses", _build)
