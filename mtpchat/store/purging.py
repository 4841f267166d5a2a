"""Deleted chats are hidden first and really gone later: some days after, or when the user says so.

What is overwritten is overwritten with zeros (`secure_delete`, see database.py). Words stay in the pages of the
full-text index until those are merged, and pages in the log until it is begun anew: that is done by and by (chores.py),
or at once with `wipe`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from mtpchat.store import search
from mtpchat.store.database import transaction

_MOST_MESSAGES = 2000
"""So many messages go in one go of what is done by the way, which takes a tenth of a second or so."""


def purge_old(connection: sqlite3.Connection, before: float) -> list[str]:
    """Let go of chats that were deleted before a time, some of them at a time.

    Args:
        before: seconds since 1970.

    Returns:
        Ids of the chats that went.

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
    return purge(connection, due) if due else []


def purge(connection: sqlite3.Connection, chats: Iterable[str]) -> list[str]:
    """Let go of these chats, those that are deleted; the others stay.

    Returns:
        Ids of the chats that went; none without FTS5, whose index would keep their words.

    Raises:
        sqlite3.Error: see `purge_old`.
    """
    if not search.has_search(connection):
        return []
    with transaction(connection, durable=True):
        search.prepare(connection)
        search.rebuild_stale(connection)
        gone = [chat for chat in chats if _purge(connection, chat)]
        if gone:
            connection.execute("INSERT OR REPLACE INTO chore VALUES (?, 0)", (search.MERGE,))
    return gone


def wipe(connection: sqlite3.Connection) -> bool:
    """Leave nothing of what went in the index and in the log, in steps that keep nobody waiting.

    Returns:
        False if another instance reads the log at this moment: it is emptied when the last one closes the file.

    Raises:
        sqlite3.Error: see `purge_old`.
    """
    reached: int | None = 0
    while reached is not None:
        with transaction(connection, durable=False):
            reached = search.merge(connection, reached)
            if reached is None:
                connection.execute("DELETE FROM chore WHERE name = ?", (search.MERGE,))
    return empty_log(connection)


def empty_log(connection: sqlite3.Connection) -> bool:
    """Put what is in the log into the file, and empty it; False if somebody is reading it. Raises sqlite3.Error."""
    (is_busy, *_) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return not is_busy


def _purge(connection: sqlite3.Connection, chat: str) -> bool:
    if not connection.execute("SELECT 1 FROM chat WHERE id = ? AND deleted_at IS NOT NULL", (chat,)).fetchone():
        return False
    # From the leaves to the root: a message takes its branches along, and SQLite does that to a limited depth alone.
    rows = connection.execute(
        "SELECT number, CAST(content AS TEXT), indexed, CAST(attachments AS TEXT) FROM message WHERE chat_id = ?"
        " ORDER BY number DESC",
        (chat,),
    )
    for number, *indexed in rows.fetchall():
        search.forget(connection, number, *indexed)
        connection.execute("DELETE FROM message WHERE number = ?", (number,))
    connection.execute("DELETE FROM chat WHERE id = ?", (chat,))
    return True
