"""What is done when the file of chats has been opened: finishing what earlier runs could not."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from mtpchat.chats import Change
from mtpchat.store import rescue, search
from mtpchat.store.changes import apply, fold_journals
from mtpchat.store.database import guarded, transaction

_log = logging.getLogger(__name__)


def settle(connection: sqlite3.Connection, path: Path, known: Iterable[Change] = (), own: Path | None = None) -> bool:
    """Fold journals, index what is not, and read back what could not be saved before.

    Args:
        path: the file that was opened.
        known: what it must have though it may be new: turns in progress, the last one that has ended.
        own: a file of what this very process could not save, which it does by itself.

    Returns:
        True if something was read back.

    Raises:
        sqlite3.Error: locked, full, damaged, ...
    """
    with transaction(connection, durable=False):
        search.prepare(connection)
        fold_journals(connection)
        for change in known:
            guarded(connection, partial(apply, connection, change), type(change).__name__)
        guarded(connection, partial(search.update, connection), "the index")
    brought = [_bring_in(connection, unsaved) for unsaved in rescue.waiting(path) if unsaved != own]
    return any(brought)


def _bring_in(connection: sqlite3.Connection, unsaved: Path) -> bool:
    """Write what an earlier run could not. What cannot be read or written stays on the disk.

    Other instances may be doing the same with the same file, which does no harm.
    """
    try:
        changes, whole = rescue.read(unsaved)
        with transaction(connection, durable=True):
            for change in changes:
                write = partial(apply, connection, change, late=True)
                whole &= guarded(connection, write, type(change).__name__)
        if whole:
            rescue.discard(unsaved)
        else:
            unsaved.rename(unsaved.with_suffix(".unreadable"))
    except OSError as error:
        _log.warning("unsaved chats of an earlier run stay in %s: %s", unsaved, error)
        return False
    return bool(changes)
