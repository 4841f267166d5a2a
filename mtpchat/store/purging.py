"""Deleted chats are hidden first and really gone later: some days after, or when the user says so.

What is overwritten is overwritten with zeros (`secure_delete`). Words of the full-text index stay in its pages until it
merges them; `thoroughly` has that done at once.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from mtpchat.store import search
from mtpchat.store.database import transaction

_MOST_MESSAGES = 2000
"""So many messages go in one go of what is done by the way, which takes a tenth of a second or so."""


def purge_old(connection: sqlite3.Connection, before: float) -> int:
    """Let go of chats that were deleted before a time, some of them at a time.

    Args:
        before: seconds since 1970.

    Returns:
        How many chats went.

    Raises:
        sqlite3.Error: locked, full, damaged, ...
    """
    rows = connection.execute(
        "SELECT id, (SELECT count(*) FROM message WHERE chat_id = chat.id) FROM chat"
        " WHERE deleted_at IS NOT NULL AND deleted_at < ? ORDER BY deleted_at",
        (before,),
    ).fetchall()
    due, messages = list[str](), 0
    for chat, count in rows:
        if due and messages + count > _MOST_MESSAGES:
            break
        due.append(chat)
        messages += count
    return purge(connection, due) if due else 0


def purge(connection: sqlite3.Connection, chats: Iterable[str], *, thoroughly: bool = False) -> int:
    """Let go of these chats, those that are deleted; the others stay.

    Args:
        thoroughly: leave no words of theirs in the index and in the log either.

    Returns:
        How many chats went; 0 without FTS5, whose index would keep their words.

    Raises:
        sqlite3.Error: see `purge_old`.
    """
    if not search.has_search(connection):
        return 0
    connection.execute("PRAGMA secure_delete = ON")
    with transaction(connection, durable=True):
        gone = sum(_purge(connection, chat) for chat in chats)
        if gone and thoroughly:
            connection.execute("INSERT INTO words (words) VALUES ('optimize')")
    if gone and thoroughly:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return gone


def _purge(connection: sqlite3.Connection, chat: str) -> bool:
    if not connection.execute("SELECT 1 FROM chat WHERE id = ? AND deleted_at IS NOT NULL", (chat,)).fetchone():
        return False
    # From the leaves to the root: a message takes its branches along, and SQLite does that to a limited depth alone.
    rows = connection.execute(
        "SELECT number, content, indexed FROM message WHERE chat_id = ? ORDER BY number DESC", (chat,)
    )
    for number, content, indexed in rows.fetchall():
        search.forget(connection, number, content, indexed)
        connection.execute("DELETE FROM message WHERE number = ?", (number,))
    connection.execute("DELETE FROM chat WHERE id = ?", (chat,))
    return True
