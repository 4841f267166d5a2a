"""Opening the file of chats, and saying in words what is wrong with it.

Write-ahead logging lets readers and a writer work side by side. A commit then survives the end of the process as it
is; it survives a power cut, too, where `synchronous` is FULL, which costs one flush of the disk. Ended turns are
committed that way, the journal of a running one (twice a second) without.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from mtpchat.errors import StorageError
from mtpchat.paths import ensure_dir
from mtpchat.store.schema import migrate

_log = logging.getLogger(__name__)

_WRITE_AHEAD = ("-wal", "-shm")
_AGAIN_S = 0.01
_MOST_COPIED = 256 << 20
_STEPS = 5000
"""Instructions of SQLite between two looks at whether a result is still wanted; some tenths of a millisecond."""
_LOCKED = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_FULL = {sqlite3.SQLITE_FULL}
_FORBIDDEN = {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH}
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_INDEX_DAMAGED = 267  # SQLITE_CORRUPT_VTAB
_UNLOCKABLE = {sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_NOLFS}
_LOCK_FAULTS = {
    sqlite3.SQLITE_IOERR_UNLOCK,
    sqlite3.SQLITE_IOERR_RDLOCK,
    sqlite3.SQLITE_IOERR_CHECKRESERVEDLOCK,
    sqlite3.SQLITE_IOERR_LOCK,
    sqlite3.SQLITE_IOERR_SHMLOCK,
}
_UNWRITABLE = (
    sqlite3.IntegrityError,
    sqlite3.ProgrammingError,
    sqlite3.InterfaceError,
    sqlite3.DataError,
    ValueError,
    TypeError,
    OverflowError,
)
"""Errors of what is written itself: what waits behind it must not suffer."""
_FULL_WORDS = ("disk is full", "No space left")


def open_database(
    path: Path, *, busy_s: float = 2.0, tune: Callable[[sqlite3.Connection], None] | None = None
) -> sqlite3.Connection:
    """The file, created or brought up to date; to be used on the calling thread alone.

    Args:
        busy_s: how long another program's lock is waited for.
        tune: called with the new connection first.

    Raises:
        StorageError: the folder cannot be made, or the file is not ours or too new.
        sqlite3.Error: see `explain`.
    """
    ensure_dir(path.parent)
    _create_privately(path)
    connection = sqlite3.connect(path, timeout=busy_s, isolation_level=None)
    connection.text_factory = _text
    try:
        if tune is not None:
            tune(connection)
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA secure_delete = ON")  # what is deleted for good was in a journal and indices, too
        migrate(connection)
        _write_ahead(connection, busy_s)
        connection.execute("PRAGMA synchronous = NORMAL")
    except BaseException:
        connection.close()
        raise
    return connection


def _text(raw: bytes) -> str:
    """A byte that has changed on the disk costs a letter, not the chat."""
    return raw.decode("utf-8", "replace")


def _write_ahead(connection: sqlite3.Connection, busy_s: float) -> None:
    """Switch the file to write-ahead logging. SQLite does not wait here for another program that is doing the same."""
    ends = time.monotonic() + busy_s
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if kind_of(error) not in _LOCKED or time.monotonic() > ends:
                raise
        time.sleep(_AGAIN_S)


def open_for_reading(path: Path, *, busy_s: float = 2.0) -> sqlite3.Connection:
    """The file as it is, also where nothing may be written.

    Raises:
        StorageError: there is none, or it cannot be read.
    """
    if not path.exists():
        raise StorageError("No chat has been saved yet", path=path, hint=f"They are kept in {path}")
    place = path.absolute().as_uri()
    try:
        still = path.with_name(path.name + _WRITE_AHEAD[0]).stat().st_size == 0
    except OSError:
        still = True
    for mode in ("mode=ro", "mode=ro&immutable=1") if still else ("mode=ro",):
        connection = sqlite3.connect(f"{place}?{mode}", uri=True, timeout=busy_s, isolation_level=None)
        connection.text_factory = _text
        try:
            return _up_to_date(connection)
        except sqlite3.Error as error:
            connection.close()
            reason = error
        except StorageError:
            connection.close()
            raise
    raise explain(reason, path, "read") from reason


def _up_to_date(connection: sqlite3.Connection) -> sqlite3.Connection:
    """The same if it is of the present version, which writes nothing; for an older one a copy in memory, migrated."""
    try:
        migrate(connection)
        return connection
    except sqlite3.OperationalError as error:
        (size,) = connection.execute(
            "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
        ).fetchone()
        if kind_of(error) != sqlite3.SQLITE_READONLY or size > _MOST_COPIED:
            raise
    copy = sqlite3.connect(":memory:", isolation_level=None)
    copy.text_factory = _text
    try:
        connection.backup(copy)
        migrate(copy)
    except BaseException:
        copy.close()
        raise
    connection.close()
    return copy


def _create_privately(path: Path) -> None:
    """Make an empty file that only the user can read; what SQLite puts beside it takes its permissions."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError:
        return  # sqlite3.connect says it in its own terms


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection, *, durable: bool) -> Iterator[None]:
    """All or nothing.

    Args:
        durable: the commit survives a power cut, too.
    """
    connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # a full disk has rolled back already
            connection.execute("ROLLBACK")
        raise


def guarded(connection: sqlite3.Connection, write: Callable[[], object], what: str) -> bool:
    """Write one thing within a transaction, or leave all as it was before it.

    Args:
        what: it is called in the log.

    Returns:
        False if the thing itself is at fault, so that trying again would not help. Other errors are raised.
    """
    connection.execute("SAVEPOINT one")
    try:
        write()
    except _UNWRITABLE:
        _log.exception("this could not be written: %s", what)
        connection.execute("ROLLBACK TO one")
        connection.execute("RELEASE one")
        return False
    connection.execute("RELEASE one")
    return True


@contextlib.contextmanager
def until(connection: sqlite3.Connection, over: Callable[[], bool]) -> Iterator[None]:
    """Within it, statements end with an error as soon as `over` says that nobody wants their result any more."""
    connection.set_progress_handler(over, _STEPS)
    try:
        yield
    finally:
        connection.set_progress_handler(None, 0)


def kind_of(error: sqlite3.Error) -> int:
    """The primary result code of SQLite; 0 for errors that have none."""
    return (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF


def is_damage(error: Exception) -> bool:
    """Whether the file is no database (any more)."""
    return isinstance(error, sqlite3.Error) and kind_of(error) in _DAMAGED


def is_index_damage(error: Exception) -> bool:
    """Whether only the full-text index is damaged, which can be made anew."""
    if not isinstance(error, sqlite3.Error):
        return False
    return getattr(error, "sqlite_errorcode", None) == _INDEX_DAMAGED or "vtable constructor failed" in str(error)


def explain(error: Exception, path: Path, verb: str = "saved") -> StorageError:
    """What went wrong, for people. `verb` is "saved" or "read"."""
    if isinstance(error, StorageError):
        return error
    what = f"Chats cannot be {verb} in {path}"
    kind = kind_of(error) if isinstance(error, sqlite3.Error) else 0
    if kind in _FULL or any(word in str(error) for word in _FULL_WORDS):
        return StorageError(f"{what}: the disk is full", path=path, hint="Free some space.")
    if kind in _LOCKED:
        return StorageError(f"{what}: another program has locked the file", path=path, hint="Close that program.")
    if kind in _UNLOCKABLE or getattr(error, "sqlite_errorcode", None) in _LOCK_FAULTS:
        hint = "Set chats under [paths] to a file on a disk of this machine."
        return StorageError(f"{what}: files cannot be locked there (a network drive?)", path=path, hint=hint)
    if kind in _FORBIDDEN:
        return StorageError(f"{what}: it may not be written there", path=path, hint="Check the permissions.")
    if is_index_damage(error):
        return StorageError(
            "The index of words is damaged", path=path, hint="It is made anew: search again in a moment."
        )
    if kind in _DAMAGED:
        return StorageError(
            f"The file of saved chats is damaged: {path}",
            path=path,
            hint="The next chat sets it aside and begins a new one; `sqlite3 FILE .recover` may bring chats back.",
        )
    reason = error if isinstance(error, (sqlite3.Error, OSError)) else f"something makes no sense ({error})"
    return StorageError(f"{what}: {reason}", path=path, hint="The log has the details.")


def is_sound(path: Path) -> bool:
    """Whether SQLite finds nothing wrong with the file, looked at anew. A lock says nothing about it."""
    connection = sqlite3.connect(path, timeout=1.0, isolation_level=None)
    try:
        return bool(connection.execute("PRAGMA quick_check(1)").fetchone() == ("ok",))
    except UnicodeDecodeError:  # what SQLite says about the damage has damaged names in it
        return False
    except sqlite3.Error as error:
        return not is_damage(error)
    finally:
        connection.close()


def set_aside(path: Path) -> Path:
    """Give a damaged file and what belongs to it another name; nothing is deleted. Raises OSError."""
    stamp = time.strftime("%Y%m%d-%H%M%S")
    number, aside = 1, path.with_name(f"{path.stem}.damaged-{stamp}{path.suffix}")
    while aside.exists():
        number += 1
        aside = path.with_name(f"{path.stem}.damaged-{stamp}-{number}{path.suffix}")
    os.rename(path, aside)
    for ending in _WRITE_AHEAD:
        with contextlib.suppress(FileNotFoundError):
            os.rename(path.with_name(path.name + ending), aside.with_name(aside.name + ending))
    return aside
