"""What may wait until nothing else is to be done: indexing, counting, merging, in pieces of hundredths of a second.

Doing all of it at once would keep the user waiting after an upgrade, and keep other instances from writing. So it is
noted in the table `chore`, and the thread that writes does one piece after the other while nothing else is to be done.
What is left when the program ends is gone on with by the next run.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable

from mtpchat.store import depths, search
from mtpchat.store.database import transaction

_MESSAGES = 100
_CHORES: dict[str, Callable[[sqlite3.Connection, int], int | None]] = {
    "depths": depths.note_some,
    search.FILES: search.update_files,
    search.MERGE: search.merge,
}
"""Name -> function that does a piece: it is given how far one has come, and gives how far that is then, or None."""


def step(connection: sqlite3.Connection) -> bool:
    """Do one piece; False when nothing is left to be done. Raises sqlite3.Error."""
    with transaction(connection, durable=False):
        if search.update(connection, _MESSAGES):
            return True
        for name, reached in connection.execute("SELECT name, number FROM chore ORDER BY name").fetchall():
            work = _CHORES.get(name)
            if work is None or (name != "depths" and not search.has_search(connection)):
                continue
            left = work(connection, reached)
            if left is None:
                connection.execute("DELETE FROM chore WHERE name = ?", (name,))
            else:
                connection.execute("UPDATE chore SET number = ? WHERE name = ?", (left, name))
            return True
    return False


def catch_up(connection: sqlite3.Connection, seconds: float = 2.0) -> bool:
    """Do pieces for so long at most; whether nothing is left. Raises sqlite3.Error."""
    ends = time.monotonic() + seconds
    while step(connection):
        if time.monotonic() > ends:
            return False
    return True


def anything_left(connection: sqlite3.Connection) -> bool:
    """Whether `step` would find something; asks without a lock. Raises sqlite3.Error."""
    return search.is_behind(connection) or bool(connection.execute("SELECT 1 FROM chore LIMIT 1").fetchone())
