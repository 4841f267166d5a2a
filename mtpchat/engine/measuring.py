"""How much of the context a request would take, told before anything is decoded.

It is asked while the user types and before each turn, over chats of a hundred thousand tokens. So what was counted is
remembered: the words of each message, and the part of the prompt that comes before the last message, which only the
next turn changes.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace

from mtpchat.backend.protocol import Tokenizer
from mtpchat.engine.literal import Shield
from mtpchat.engine.prompt import ChatPrompt, WrittenPrompt
from mtpchat.engine.requests import TurnRequest
from mtpchat.errors import Interrupted, MtpChatError
from mtpchat.events import Measured

_MOST_LETTERS = 4_000_000
"""Texts are remembered up to so many letters in all."""
_BEGINNINGS = 4
"""So many beginnings of prompts are remembered."""


class Measurer:
    """Counts the tokens of requests for one model.

    Args:
        context: tokens that its memory holds.
    """

    def __init__(self, prompt: ChatPrompt, tokenizer: Tokenizer, context: int) -> None:
        self._prompt = prompt
        self._tokenizer = tokenizer
        self._context = context
        self._counts: OrderedDict[str, int] = OrderedDict()
        self._letters = 0
        self._beginnings: list[tuple[str, int]] = []

    def measure(self, request: TurnRequest, cancelled: Callable[[], bool] = lambda: False) -> Measured:
        """See requests.Engine.measure."""
        per_message, attached = [], []
        for message in request.messages:
            if cancelled():
                raise Interrupted("The measuring was given up.")
            brought = sum(self._count(one.text) for one in message.attachments)
            per_message.append(self._count(message.content) + brought)
            attached.append(brought)
        whole = self._whole(request)
        return Measured(whole, self._context, tuple(per_message), tuple(attached))

    def _whole(self, request: TurnRequest) -> int:
        written = self._prompt.write(request)
        before = self._before(request, written)
        more = self._count_behind(before, written.text) if before else None
        if more is None:
            return len(self._prompt.spell(written.text, written.shield))
        return self._count_beginning(before, written.shield) + more

    def _count_beginning(self, text: str, shield: Shield) -> int:
        """Tokens of the beginning of a prompt; from one that was counted before on, only what is new is counted."""
        found: int | None = None
        for known, count in reversed(self._beginnings):
            if text == known:
                return count
            more = self._count_behind(known, text) if text.startswith(known) else None
            if more is not None:
                found = count + more
                break
        if found is None:
            found = len(self._prompt.spell(text, shield))
        self._beginnings = [*self._beginnings[1 - _BEGINNINGS :], (text, found)]
        return found

    def _count_behind(self, beginning: str, text: str) -> int | None:
        """Tokens that `text` has more than its beginning; None where the two cannot be counted apart."""
        rest = self._tokenizer.encode(text[len(beginning) :], special=True)
        # Behind a control token nothing is joined across the border.
        return len(rest) if rest and not self._tokenizer.piece(rest[0]) else None

    def _before(self, request: TurnRequest, written: WrittenPrompt) -> str:
        """What the prompt says before the last message; "" where that cannot be told apart."""
        if not written.shield.is_empty or len(request.messages) < 2 or request.continue_last:
            return ""
        try:
            earlier = self._prompt.write(replace(request, messages=request.messages[:-1]))
        except MtpChatError:
            return ""  # some templates want the user to have the last word
        return earlier.stable if written.text.startswith(earlier.stable) and earlier.shield.is_empty else ""

    def _count(self, text: str) -> int:
        return self._remember(text, lambda: len(self._tokenizer.encode(text, special=False))) if text else 0

    def _remember(self, text: str, count: Callable[[], int]) -> int:
        known = self._counts.get(text)
        if known is not None:
            self._counts.move_to_end(text)
            return known
        found = self._counts[text] = count()
        self._letters += len(text)
        while self._letters > _MOST_LETTERS and len(self._counts) > 1:
            dropped, _ = self._counts.popitem(last=False)
            self._letters -= len(dropped)
        return found
