"""Chats of files become kept chats: what is there already stays as it is, what is not is added."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

import msgspec

from mtpchat.errors import ExchangeError
from mtpchat.store import runs, search
from mtpchat.store.changes import set_text
from mtpchat.whole_chat import MadeTurn, Node, Taken, WholeChat

_AT_ONCE = 500
_WRITER = "file"
"""Stands for a run where a file has brought the rest of an answer."""


def outlook(connection: sqlite3.Connection, chat: WholeChat) -> Taken:
    """What `take_in` would do.

    Raises:
        ExchangeError: messages of it belong to another chat here.
    """
    known = connection.execute("SELECT 1 FROM chat WHERE id = ?", (chat.id,)).fetchone()
    return Taken(known is None, len(_news(connection, chat)))


def take_in(connection: sqlite3.Connection, chat: WholeChat) -> Taken:
    """Add a chat, or what is new of it; within a transaction.

    A chat that is known shows the branch of the file if that has something new and is not the older one.

    Raises:
        ExchangeError: see `outlook`; nothing is changed then.
        sqlite3.Error: locked, full, damaged, ...
    """
    news = _news(connection, chat)
    known = connection.execute("SELECT 1 FROM chat WHERE id = ?", (chat.id,)).fetchone()
    taken = Taken(known is None, len(news))
    if not taken.is_new and not taken.messages:
        return taken
    connection.execute(
        "INSERT INTO chat (id, title, renamed, created, updated, pinned, options) VALUES (?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (id) DO NOTHING",
        (chat.id, chat.title, chat.named, chat.created, chat.updated, chat.pinned, _json(chat.options)),
    )
    for node in news:
        _add(connection, chat.id, node)
    connection.execute(
        "UPDATE chat SET leaf = CASE WHEN updated <= ?1 THEN ?2 ELSE leaf END, updated = max(updated, ?1),"
        " deleted_at = NULL WHERE id = ?3",
        (chat.updated, chat.leaf, chat.id),
    )
    search.update(connection, taken.messages + _AT_ONCE)
    return taken


def _news(connection: sqlite3.Connection, chat: WholeChat) -> list[Node]:
    """Messages that are not known, and answers that have gone on since. Raises ExchangeError."""
    known = _known(connection, [node.id for node in chat.messages])
    if any(home != chat.id for home, _, _ in known.values()):
        raise ExchangeError("its messages belong to another chat here", hint="Was its id changed?")
    return [node for node in chat.messages if node.id not in known or _goes_on(node, *known[node.id][1:])]


def _goes_on(node: Node, content: str, complete: int) -> bool:
    return not complete and len(node.content) > len(content) and node.content.startswith(content)


def _known(connection: sqlite3.Connection, messages: list[str]) -> dict[str, tuple[str, str, int]]:
    """id of a message -> id of its chat, text, whether it is complete; of those that are known."""
    found: dict[str, tuple[str, str, int]] = {}
    for start in range(0, len(messages), _AT_ONCE):
        some = messages[start : start + _AT_ONCE]
        marks = ", ".join("?" * len(some))
        query = f"SELECT id, chat_id, content, complete FROM message WHERE id IN ({marks})"
        found.update((row[0], row[1:]) for row in connection.execute(query, some))
    return found


def _add(connection: sqlite3.Connection, chat: str, node: Node) -> None:
    added = connection.execute(
        "INSERT INTO message (id, chat_id, parent_id, depth, role, content, thinking, created, complete, attachments)"
        " VALUES (?1, ?2, ?3, CASE WHEN ?3 IS NULL THEN 1 ELSE 1 + (SELECT depth FROM message WHERE id = ?3) END,"
        " ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT (id) DO NOTHING",
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
    if not added.rowcount:
        runs.turn_out(connection, node.id, _WRITER)
        set_text(connection, node.id, node.content, node.thinking, complete=node.complete)
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
