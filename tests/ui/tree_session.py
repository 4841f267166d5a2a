"""A session without an engine whose chat has branches."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import Any

from mtpchat.config import SamplingConfig
from mtpchat.errors import CommandError
from mtpchat.events import TurnEvent
from mtpchat.messages import Attachment, Message
from tests.ui.fake_session import FakeSession, Step

Talk = tuple[Message, ...]


def talk(*texts: str) -> Talk:
    """Prompts and answers in turn."""
    return tuple(Message("assistant" if at % 2 else "user", text) for at, text in enumerate(texts))


class TreeSession(FakeSession):
    """Keeps, for each place of the chat, what else was there, with what followed it.

    Attributes:
        called: what was asked for, in words.
    """

    def __init__(self, messages: Talk = (), turns: Sequence[Sequence[Step]] = (), **options: Any) -> None:
        super().__init__(turns, **options)
        self.messages = messages
        self.called: list[str] = []
        self._tails: dict[int, list[Talk]] = {}
        self._shown: dict[int, int] = {}

    def siblings(self, index: int) -> tuple[int, int]:
        if index not in self._tails:
            return (1, 1)
        return self._shown[index] + 1, len(self._tails[index])

    def branch(self, index: int, tail: Talk) -> None:
        """Show another tail from `index` on."""
        tails = self._tails.setdefault(index, [self.messages[index:]])
        tails.append(tail)
        self._shown[index] = len(tails) - 1
        self.messages = self.messages[:index] + tail

    def walk(self, index: int, step: int) -> None:
        place, count = self.siblings(index)
        if not 1 <= place + step <= count:
            raise CommandError("There is no other one that way.")
        self._tails[index][place - 1] = self.messages[index:]
        self._shown[index] += step
        self.messages = self.messages[:index] + self._tails[index][self._shown[index]]

    def amend(self, index: int, text: str) -> None:
        self.called.append(f"amend {index} {text}")
        self.branch(index, (Message("assistant", text),))

    def fork(self, index: int) -> None:
        self.called.append(f"fork {index}")
        self.messages = self.messages[: index + 1]

    async def edit(
        self, index: int, text: str, attachments: Sequence[Attachment] | None = None
    ) -> AsyncGenerator[TurnEvent, None]:
        self.called.append(f"edit {index} {text}")
        self.branch(index, (Message("user", text),))
        async for event in self._turn():
            yield event

    async def retry(
        self, index: int | None = None, sampling: SamplingConfig | None = None, seed: int | None = None
    ) -> AsyncGenerator[TurnEvent, None]:
        self.called.append(f"retry {index}")
        self.branch((len(self.messages) - 1 if index is None else index) + 1, ())
        async for event in self._turn():
            yield event
