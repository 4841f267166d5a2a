"""What of a chat is worth seeing beside a list: its last exchange, or where searched words stand in it."""

from __future__ import annotations

import sqlite3

from mtpchat.chats import Glimpse, Passage, Said
from mtpchat.messages import Attachment, Role
from mtpchat.store import reading
from mtpchat.store.attached import NONE, files_of, with_files
from mtpchat.store.places import best_file, has_all, passage, words_of

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
        return Glimpse(kept.line, tuple(_passage(*one, text) for one in shown), len(found) - len(shown))
    return Glimpse(kept.line, tuple(_beginning(said) for said in _last_exchange(kept.path)))


def _with_words(connection: sqlite3.Connection, chat: str, text: str) -> list[tuple[Role, str, tuple[Attachment, ...]]]:
    """(role, what was said, files if they are needed to have all the words) of each message that has them."""
    rows = connection.execute(
        "SELECT role, content, attachments FROM message WHERE chat_id = ? ORDER BY number", (chat,)
    )
    found: list[tuple[Role, str, tuple[Attachment, ...]]] = []
    for role, content, attachments in rows:
        if has_all(content, text):
            found.append((role, content, ()))
        elif attachments != NONE and (files := files_of(attachments)) and has_all(with_files(content, files), text):
            found.append((role, content, files))
    return found


def _passage(role: Role, content: str, files: tuple[Attachment, ...], text: str) -> Passage:
    file = best_file(files, text)
    return passage(role, content, text) if file is None else passage(role, file.text, text, file.name)


def _last_exchange(path: tuple[Said, ...]) -> tuple[Said, ...]:
    asked = [at for at, said in enumerate(path) if said.role == "user"]
    return path[asked[-1] :] if asked else path[-1:]


def _beginning(said: Said) -> Passage:
    text = said.content.strip()
    return Passage(said.role, text[:_LETTERS] + ("…" if len(text) > _LETTERS else ""))
