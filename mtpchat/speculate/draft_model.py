"""Guessing with a small model of the same vocabulary (Leviathan et al., 2023; Chen et al., 2023)."""

from __future__ import annotations

from collections.abc import Sequence

from mtpchat.backend.protocol import DecodedRows, DraftContext, DraftOutput
from mtpchat.errors import MisuseRefused
from mtpchat.speculate.base import NO_DRAFT, Draft, Drafter, Parts, Strategy, Wants
from mtpchat.speculate.guessing import Guessing
from mtpchat.speculate.memo import Memo


class ModelDrafter:
    """Decodes the context in a model of its own and proposes its most likely tokens.

    It needs no rows of the target: it catches up from the context whenever it is asked.
    """

    depth_limit: int | None = None
    least_rows: int | None = None

    def __init__(self, draft: DraftContext, guessing: Guessing | None = None) -> None:
        self._draft = draft
        self._guessing = guessing or Guessing()
        # Tokens in the draft's memory; those from `_certain` on were guesses and may have been wrong.
        self._fed: list[int] = []
        self._certain = 0

    def propose(self, context: Sequence[int], wants: Wants) -> Draft:
        """See Drafter.propose."""
        if not wants(()):
            return NO_DRAFT
        output = self._catch_up(context)
        tokens: list[int] = []
        confidences: list[float] = []
        while True:
            token, confidence = self._guessing(output.logits, len(context) + len(tokens))
            tokens.append(token)
            confidences.append(confidence)
            if not wants(confidences):
                return Draft(tuple(tokens), tuple(confidences))
            output = self._guess([token])

    def _catch_up(self, context: Sequence[int]) -> DraftOutput:
        """Feed what is missing; the last token of the context always is, since its logits are wanted."""
        self._drop_wrong_guesses(context, len(context) - 1)
        todo = context[len(self._fed) :]
        size = self._draft.batch
        for at in range(0, len(todo) - size, size):
            self._feed(todo[at : at + size])
        output = self._guess(todo[(len(todo) - 1) // size * size :])
        self._certain = len(self._fed)
        return output

    def _feed(self, tokens: Sequence[int]) -> None:
        self._draft.feed(tokens, len(self._fed), None, want=False)
        self._fed.extend(tokens)

    def _guess(self, tokens: Sequence[int]) -> DraftOutput:
        output = self._draft.feed(tokens, len(self._fed), None, want=True)
        self._fed.extend(tokens)
        if output is None:
            raise MisuseRefused("The draft model gave no logits.")
        return output

    def _drop_wrong_guesses(self, context: Sequence[int], limit: int) -> None:
        """Keep of the memory what agrees with the context, at most `limit` tokens."""
        keep = min(self._certain, limit)
        while keep < min(len(self._fed), limit) and self._fed[keep] == context[keep]:
            keep += 1
        self._cut(keep)

    def _cut(self, length: int) -> None:
        self._draft.rollback(length)
        del self._fed[min(length, self._draft.length) :]
        self._certain = min(self._certain, len(self._fed))

    def observe(self, start: int, tokens: Sequence[int], rows: DecodedRows) -> None:
        """See Drafter.observe: nothing to note."""

    def warm(self, context: Sequence[int], length: int, rows: int) -> int:
        """See Drafter.warm."""
        self._drop_wrong_guesses(context, length)
        todo = context[len(self._fed) : min(length, len(self._fed) + min(rows, self._draft.batch))]
        if todo:
            self._feed(todo)
            self._certain = len(self._fed)
        return length - len(self._fed)

    def skip(self) -> None:
        """See Drafter.skip: a model of its own needs the whole text."""

    def rollback(self, length: int) -> int:
        """See Drafter.rollback."""
        if length < len(self._fed):
            self._cut(length)
        return length

    def memo(self) -> Memo | None:
        """See Drafter.memo."""
        return Memo(self._certain, tuple(self._fed))

    def recall(self, memo: Memo) -> bool:
        """See Drafter.recall."""
        if len(memo.tokens) != self._draft.length or not 0 <= memo.next <= len(memo.tokens):
            return False
        self._fed, self._certain = list(memo.tokens), memo.next
        return True

    def close(self) -> None:
        """See Drafter.close."""
        self._cut(0)


def _build(parts: Parts) -> Drafter | None:
    return (
        ModelDrafter(parts.draft, parts.guessing) if parts.draft is not None and parts.draft_kind == "draft" else None
    )


STRATEGY = Strategy("draft", "a small model of the same vocabulary guesses", _build)
