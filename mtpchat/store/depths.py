"""How long branches are: `message.depth` is the number of messages down to it, which never changes.

It is noted when a message comes. Files of older versions lack it; there it is counted when it is asked for, and noted
by and by (see chores.py).
"""

from __future__ import annotations

import sqlite3

_CHATS = 50

COUNTED = """
(WITH RECURSIVE above (id, parent_id) AS (
    SELECT id, parent_id FROM message WHERE id = {leaf}
    UNION ALL SELECT message.id, message.parent_id FROM message JOIN above ON message.id = above.parent_id
    LIMIT 1000000
) SELECT count(*) FROM above)
"""
"""An expression that counts the messages down to `leaf` one by one."""


def note(connection: sqlite3.Connection, message: str) -> None:
    """Note the depth of a message if that is not known. Within a transaction."""
    connection.execute(
        f"UPDATE message SET depth = {COUNTED.format(leaf='?1')} WHERE id = ?1 AND depth IS NULL", (message,)
    )


def note_some(connection: sqlite3.Connection, reached: int) -> int | None:
    """Note how long the branches are that some chats show. Within a transaction.

    Args:
        reached: row of the last chat of which that is done.

    Returns:
        The same afterwards; None when all are done.
    """
    rows = connection.execute(
        "SELECT rowid, leaf FROM chat WHERE rowid > ? ORDER BY rowid LIMIT ?", (reached, _CHATS)
    ).fetchall()
    for _, leaf in rows:
        note(connection, leaf)
    return int(rows[-1][0]) if rows else None
