"""No guessing: plain decoding."""

from __future__ import annotations

from collections.abc import Sequence

from mtpchat.speculate.base import NO_DRAFT, Draft, Drafter, FromContext, Parts, Strategy, Wants


class NoDrafter(FromContext):
    """Never proposes anything."""

    depth_limit: int | None = 0

    def propose(self, context: Sequence[int], wants: Wants) -> Draft:
        """See Drafter.propose."""
        return NO_DRAFT


def _build(_parts: Parts) -> Drafter | None:
    return NoDrafter()


STRATEGY = Strategy("none", "plain decoding, no guesses", _build)
