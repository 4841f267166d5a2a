"""What of a chat is worth seeing beside a list: its last exchange, or where searched words stand in it."""

from __future__ import annotations

import sqlite3

from mtpchat.chats import Glimpse, Passage, Said
from mtpchat.messages import Role
from mtpchat.store import reading
from mtpchat.store.places import has_all, passage, words_of

_PASSAGES = 6
_LETTERS = 4000
"""More of a message than any screen shows."""


def glimpse(connection: sqlite3.Connection, chat: str, text: str = "") -> Glimpse:
    """A look at one chat.

    Args:
        chat: its id.
        text: searched words; the messages that have all of them are shown, the newest last. Where there are none of
            those, it is the last exchange.

    Raises:
        CommandError: there is no such chat (any more).
    """
    kept = reading.glance(connection, reading.resolve(connection, chat))
    found = _with_words(connection, kept.line.id, text) if words_of(text) else []
    if found:
        shown = found[-_PASSAGES:]
        return Glimpse(kept.line, tuple(passage(*one, text) for one in shown), len(found) - len(shown))
    return Glimpse(kept.line, tuple(_beginning(said) for said in _last_exchange(kept.path)))


def _with_words(connection: sqlite3.Connection, chat: str, text: str) -> list[tuple[Role, str]]:
    rows = connection.execute("SELECT role, content FROM message WHERE chat_id = ? ORDER BY number", (chat,))
    return [(role, content) for role, content in rows if has_all(content, text)]


def _last_exchange(path: tuple[Said, ...]) -> tuple[Said, ...]:
    asked = [at for at, said in enumerate(path) if said.role == "user"]
    return path[asked[-1] :] if asked else path[-1:]


def _beginning(said: Said) -> Passage:
    text = said.content.strip()
    return Passage(said.role, text[:_LETTERS] + ("…" if len(text) > _LETTERS else ""))
