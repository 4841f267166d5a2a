"""What earlier chats are good for besides being read: texts to copy from, and questions to measure with."""

from __future__ import annotations

import logging
import sqlite3
from contextlib import closing
from pathlib import Path

from mtpchat.chats import KeptChat
from mtpchat.errors import StorageError
from mtpchat.store import reading
from mtpchat.store.database import explain, open_for_reading

_log = logging.getLogger(__name__)

_MOST_LETTERS = 200_000


def earlier_texts(path: Path, most_letters: int = _MOST_LETTERS) -> list[str]:
    """Texts of kept chats, the newest last; none where there are none or they cannot be read. May block on the disk."""
    try:
        with closing(open_for_reading(path)) as connection:
            return reading.earlier_texts(connection, most_letters)
    except (StorageError, sqlite3.Error) as error:
        _log.info("nothing of earlier chats is used: %s", error)
        return []


def last_asked(path: Path, limit: int) -> list[KeptChat]:
    """The latest chats in which something was asked, each way to a last question once. Raises StorageError."""
    try:
        with closing(open_for_reading(path)) as connection:
            return reading.last_asked(connection, limit)
    except sqlite3.Error as error:
        raise explain(error, path, "read") from error
