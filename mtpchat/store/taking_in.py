"""Chats of files become kept chats: what is there already stays as it is, what is not is added."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass

import msgspec

from mtpchat.errors import ExchangeError
from mtpchat.store import search
from mtpchat.whole_chat import MadeTurn, Node, WholeChat

_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Taken:
    """What a chat brings: whether it is a new one, and how many of its messages are."""

    is_new: bool
    messages: int


def outlook(connection: sqlite3.Connection, chat: WholeChat) -> Taken:
    """What `take_in` would do.

    Raises:
        ExchangeError: messages of it belong to another chat here.
    """
    there = _homes(connection, [node.id for node in chat.messages])
    if any(home != chat.id for home in there.values()):
        raise ExchangeError("its messages belong to another chat here", hint="Was its id changed?")
    known = connection.execute("SELECT 1 FROM chat WHERE id = ?", (chat.id,)).fetchone()
    return Taken(known is None, len(chat.messages) - len(there))


def take_in(connection: sqlite3.Connection, chat: WholeChat) -> Taken:
    """Add a chat, or what is new of it; within a transaction.

    A chat that is known shows the branch of the file if that has something new and is not the older one.

    Raises:
        ExchangeError: see `outlook`; nothing is changed then.
        sqlite3.Error: locked, full, damaged, ...
    """
    taken = outlook(connection, chat)
    if not taken.is_new and not taken.messages:
        return taken
    connection.execute(
        "INSERT INTO chat (id, title, renamed, created, updated, pinned, options) VALUES (?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (id) DO NOTHING",
        (chat.id, chat.title, chat.named, chat.created, chat.updated, chat.pinned, _json(chat.options)),
    )
    for node in chat.messages:
        _add(connection, chat.id, node)
    connection.execute(
        "UPDATE chat SET leaf = CASE WHEN updated <= ?1 THEN ?2 ELSE leaf END, updated = max(updated, ?1),"
        " deleted_at = NULL WHERE id = ?3",
        (chat.updated, chat.leaf, chat.id),
    )
    search.update(connection, taken.messages + _AT_ONCE)
    return taken


def _homes(connection: sqlite3.Connection, messages: list[str]) -> dict[str, str]:
    """id of a message -> id of its chat, of those that are known."""
    found: dict[str, str] = {}
    for start in range(0, len(messages), _AT_ONCE):
        some = messages[start : start + _AT_ONCE]
        marks = ", ".join("?" * len(some))
        found.update(connection.execute(f"SELECT id, chat_id FROM message WHERE id IN ({marks})", some))
    return found


def _add(connection: sqlite3.Connection, chat: str, node: Node) -> None:
    connection.execute(
        "INSERT INTO message (id, chat_id, parent_id, role, content, thinking, created, complete, attachments)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING",
        (
            node.id,
            chat,
            node.parent,
            node.role,
            node.content,
            node.thinking,
            node.created,
            node.complete,
            _json(node.attachments),
        ),
    )
    connection.executemany(
        "INSERT INTO turn (id, message_id, started, ended, model, model_name, drafter, kind, machine, sampling, seed,"
        " system, stats, reason) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING",
        _turns(node.id, node.turns),
    )


def _turns(message: str, turns: Iterable[MadeTurn]) -> list[tuple[object, ...]]:
    return [
        (
            turn.id,
            message,
            turn.started,
            turn.ended,
            turn.model,
            turn.model_name,
            turn.drafter,
            turn.kind,
            turn.machine,
            _json(turn.sampling),
            turn.seed,
            turn.system,
            _json(turn.stats) if turn.stats is not None else None,
            turn.finish_reason,
        )
        for turn in turns
    ]


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
