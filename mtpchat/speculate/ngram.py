"""Guessing by memory: what followed the last time these tokens stood in the prompt or in the answer?

Prompt lookup decoding (Saxena, 2023): no model, no cost but that of verifying. It pays where text is copied: edited
code, quotes, tables, lists.
"""

from __future__ import annotations

from collections.abc import Sequence

from mtpchat.backend.protocol import DecodedRows
from mtpchat.speculate.base import NO_DRAFT, Draft, Drafter, Parts, Strategy, Wants

_CANDIDATES = 16
"""How many earlier places with the same ending are compared, the latest first."""
_LONGEST = 32
"""A longer match than this says nothing more."""


class NgramDrafter:
    """Continues the longest earlier match of the context's ending; among equals the latest.

    Args:
        shortest: fewest tokens that must match.
    """

    depth_limit: int | None = None

    def __init__(self, shortest: int = 3) -> None:
        self._shortest = shortest
        self._followers: dict[tuple[int, ...], list[int]] = {}
        self._indexed = 0

    def propose(self, context: Sequence[int], wants: Wants) -> Draft:
        """See Drafter.propose."""
        self._index(context)
        found = self._longest_match(context)
        if found is None:
            return NO_DRAFT
        follower, length = found
        tokens: list[int] = []
        confidences: list[float] = []
        while wants(confidences):
            at = follower + len(tokens)
            # Past the end of the context the guesses themselves go on: a loop is its own continuation.
            tokens.append(context[at] if at < len(context) else tokens[at - len(context)])
            confidences.append(_confidence(length, len(tokens)))
        return Draft(tuple(tokens), tuple(confidences))

    def _index(self, context: Sequence[int]) -> None:
        """Note for every run of `shortest` tokens which position follows it; the context's own ending stays out."""
        size = self._shortest
        for end in range(max(self._indexed, size), len(context)):
            self._followers.setdefault(tuple(context[end - size : end]), []).append(end)
        self._indexed = max(self._indexed, len(context))

    def _longest_match(self, context: Sequence[int]) -> tuple[int, int] | None:
        places = self._followers.get(tuple(context[-self._shortest :]))
        if not places:
            return None
        best, best_length = -1, 0
        for follower in reversed(places[-_CANDIDATES:]):
            length = self._shortest
            while (
                length < min(_LONGEST, follower)
                and context[follower - 1 - length] == context[len(context) - 1 - length]
            ):
                length += 1
            if length > best_length:
                best, best_length = follower, length
        return best, best_length

    def observe(self, start: int, tokens: Sequence[int], rows: DecodedRows) -> None:
        """See Drafter.observe: the context itself is the memory."""

    def warm(self, context: Sequence[int], length: int, rows: int) -> int:
        """See Drafter.warm: the index is brought up to date when it is asked for."""
        return 0

    def rollback(self, length: int) -> int:
        """See Drafter.rollback."""
        if length < self._indexed:
            self._followers.clear()
            self._indexed = 0
        return length

    def close(self) -> None:
        """See Drafter.close."""
        self._followers.clear()
        self._indexed = 0


def _confidence(match_length: int, position: int) -> float:
    """A prior that grows with the match and fades with the distance; the budget calibrates it against what happens."""
    return float((match_length / (match_length + 2)) * 0.98 ** (position - 1))


def _build(parts: Parts) -> Drafter | None:
    return NgramDrafter(parts.settings.ngram_min)


STRATEGY = Strategy("ngram", "continues text that stood in the chat before; costs nothing when it does not", _build)
