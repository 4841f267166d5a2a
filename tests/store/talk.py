"""A conversation without an engine: what a session tells the store, in few words."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import TypeVar

from mtpchat.chats import Circumstances, Grown, Said, TurnBegun, TurnEnded
from mtpchat.store.chat_store import ChatStore
from mtpchat.store.database import open_database

T = TypeVar("T")


class Talk:
    """One chat that only goes on; each turn asks and answers."""

    def __init__(self, store: ChatStore, chat: str = "aaaa00000001", system: str = "") -> None:
        self.store, self.chat, self.system = store, chat, system
        self.path: tuple[Said, ...] = ()
        self._numbers = count(1)

    def _id(self) -> str:
        return f"{self.chat}-{next(self._numbers)}"

    def begin(self, question: str, *, at: float = 1000.0) -> TurnBegun:
        parent = self.path[-1].id if self.path else ""
        self.path += (Said(self._id(), parent, "user", question, created=at),)
        return self.again(at=at)

    def again(self, *, at: float = 1000.0) -> TurnBegun:
        """An answer to what stands last."""
        how = Circumstances("/m.gguf", "Tiny", "", "ngram", {"temperature": 0.7}, 7, self.system)
        begun = TurnBegun(self.chat, self.path[0].content[:20], self.path, self._id(), self._id(), at, how)
        self.store.put(begun)
        return begun

    def grow(self, begun: TurnBegun, text: str, channel: str = "answer") -> None:
        self.store.put(Grown(begun.answer, channel, text, begun.turn))

    def end(self, begun: TurnBegun, answer: str, *, complete: bool = True, thinking: str = "") -> None:
        said = Said(begun.answer, begun.path[-1].id, "assistant", answer, thinking, begun.started, complete)
        self.path = (*begun.path, said)
        self.store.put(TurnEnded(begun, said, said.id, "stop" if complete else "cancelled", begun.started + 1))

    def turn(self, question: str, answer: str, *, at: float = 1000.0) -> None:
        self.end(self.begin(question, at=at), answer)


def looked_up(path: Path, question: Callable[[sqlite3.Connection], T]) -> T:
    """What another process would read."""
    with closing(open_database(path)) as connection:
        return question(connection)


def settled(store: ChatStore) -> None:
    """Wait until all that was put before is written, or has failed to be."""
    store.ask(lambda connection: None).result(20)
