"""The work of the thread that writes chats: what has come in, what is due, and what to do when it cannot be written.

Nothing that has come in is let go before it is committed. While the file cannot be written (full disk, another
program's lock, a folder without permission) changes wait in memory, in order, and are tried again. Meanwhile, and at
the end of the program, they are in a file of their own (rescue.py), which the next start reads back.

The thread outlives whatever goes wrong: without it nothing would be saved any more, and every question would hang.
"""

from __future__ import annotations

import logging
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import TypeVar

from mtpchat.chats import Change, Grown, TurnBegun, TurnEnded
from mtpchat.errors import MtpChatError, StorageError, closed
from mtpchat.store import chores, rescue, search
from mtpchat.store.changes import apply, grow
from mtpchat.store.database import (
    explain,
    guarded,
    is_damage,
    is_index_damage,
    is_sound,
    open_database,
    open_for_reading,
    set_aside,
    transaction,
)
from mtpchat.store.purging import empty_log, purge_old
from mtpchat.store.settling import settle

_log = logging.getLogger(__name__)

T = TypeVar("T")

_BREATH_S = 0.02
"""Pause between two pieces of what may wait (chores.py)."""


class Scribe:
    """Writes changes into the file of chats; lives on one thread.

    Args:
        path: the file; opened with the first change or question.
        tell: gets a sentence for the user when something goes wrong, and when it is well again.
        flush_s: longest time that text of a running answer stays in memory alone.
        retry_s: pause before another try after a failure.
        busy_s: how long another program's lock is waited for.
        keep_deleted_s: how long deleted chats stay; None is for ever.
        tune: called with each new connection.
        forget: called with the id of each chat that is gone for good.
    """

    def __init__(
        self,
        path: Path,
        tell: Callable[[str], None],
        *,
        flush_s: float,
        retry_s: float,
        busy_s: float,
        keep_deleted_s: float | None = None,
        tune: Callable[[sqlite3.Connection], None] | None = None,
        forget: Callable[[str], object] = lambda _chat: None,
    ) -> None:
        self._keep_deleted_s, self._purged, self._forget = keep_deleted_s, False, forget
        self._behind = self._tidied = self._repaired = False
        self._path, self._tell, self._tune = path, tell, tune
        self._flush_s, self._retry_s, self._busy_s = flush_s, retry_s, busy_s
        self._connection: sqlite3.Connection | None = None
        self._opened: tuple[int, int] | None = None
        self._waiting: list[Change] = []
        self._grown: dict[str, list[Grown]] = {}
        self._grown_since = 0.0
        self._running: dict[str, TurnBegun] = {}
        self._retry_at = 0.0
        self._trouble = ""
        self._aside: Path | None = None
        self._aside_holds: list[Change] = []
        self._latest: TurnEnded | None = None

    def take(self, change: Change) -> None:
        """Note a change; it is written by `work`."""
        match change:
            case Grown(answer, turn=turn):
                if not self._grown:
                    self._grown_since = time.monotonic()
                self._grown.setdefault(turn or answer, []).append(change)
                return
            case TurnBegun(turn=turn):
                self._running[turn] = change
            case TurnEnded(begun=begun):
                self._running.pop(begun.turn, None)
                self._grown.pop(begun.turn, None)  # the end has the whole text
            case _:
                pass
        place = next((at for at, one in enumerate(self._waiting) if _is_end_of(change, one)), len(self._waiting))
        # An end has its beginning in it. What came between the two stays behind both: it may need the chat.
        self._waiting[place : place + 1] = [change]
        self._retry_at = 0.0

    def pause_s(self) -> float | None:
        """Seconds until `work` has something to do; None for as long as nothing comes in."""
        if not self._waiting and not self._grown:
            return _BREATH_S if self._may_catch_up else None
        now = time.monotonic()
        due = 0.0 if self._waiting else self._grown_since + self._flush_s
        return max(0.0, max(due, self._retry_at) - now)

    @property
    def _may_catch_up(self) -> bool:
        return self._behind and not self._running and self._connection is not None

    def work(self, *, at_once: bool = False) -> None:
        """Write what is due. Failures are told; what could not be written waits.

        Args:
            at_once: also what would not be due yet.
        """
        if not self._waiting and not self._grown:
            if not at_once:
                self._catch_up()
            return
        if self.pause_s() and not at_once:
            return
        try:
            self._write(self.connection())
        except Exception as error:  # noqa: BLE001  what nobody foresaw must not end the thread: it is tried again
            self._failed(error)
        else:
            self._repaired = False
            self._drop_aside()
            if self._trouble:
                self._trouble = ""
                self._tell("Chats are saved again; nothing was lost.")
            self._purge()

    def _purge(self) -> None:
        """Once for each opening, let go of chats that were deleted long ago. Can wait if it fails."""
        if self._purged or self._keep_deleted_s is None or self._connection is None:
            return
        self._purged = True
        try:
            gone = purge_old(self._connection, time.time() - self._keep_deleted_s)
            for chat in gone:
                self._forget(chat)
        except Exception as error:  # noqa: BLE001  it must not end the thread
            _log.info("deleted chats stay for now: %s", error)

    def _catch_up(self) -> None:
        """Do one piece of what may wait; if that fails, it waits until something else was done."""
        if not self._may_catch_up or self._connection is None:
            return
        self._behind = False
        try:
            if chores.anything_left(self._connection) and chores.step(self._connection):
                self._behind = self._tidied = True
            elif self._tidied:
                self._tidied = False
                empty_log(self._connection)
        except Exception as error:  # noqa: BLE001  it must not end the thread
            _log.info("what may wait is left for later: %s", error)
            self._mend_index(error)

    def connection(self) -> sqlite3.Connection:
        """The open file. Raises sqlite3.Error, StorageError or OSError."""
        is_another = self._opened is not None and _identity(self._path) != self._opened
        if is_another and self._connection is not None:
            # Deleted, or set aside by another instance. SQLite leaves the files of the new one alone when it closes.
            _log.warning("the file of chats has gone; a new one is begun: %s", self._path)
            self._close()
            self._tell(f"The file of saved chats is no longer {self._path}. This chat is saved there anew.")
        if self._connection is None:
            opened = open_database(self._path, busy_s=self._busy_s, tune=self._tune)
            try:
                if settle(opened, self._path, self._known(is_another=is_another), self._aside):
                    self._tell("What could not be saved the last time has been saved now.")
            except BaseException:
                opened.close()
                raise
            self._connection, self._opened, self._purged = opened, _identity(self._path), False
        self._behind = True
        return self._connection

    def _known(self, *, is_another: bool) -> list[Change]:
        """What a file may lack: another one the last answer, any one the turns in progress."""
        waiting = {id(change) for change in self._waiting}
        latest = [self._latest] if is_another and self._latest is not None else []
        return [*latest, *(one for one in self._running.values() if id(one) not in waiting)]

    def answer(self, question: Callable[[sqlite3.Connection], T]) -> T:
        """Read something; what is in memory has been written before, if it can be. Raises MtpChatError."""
        has_just_failed = time.monotonic() < self._retry_at
        if not has_just_failed:
            self.work(at_once=True)
        try:
            try:
                connection = None if has_just_failed else self.connection()
            except (sqlite3.Error, StorageError, OSError):
                connection = None
            if connection is not None:
                return question(connection)
            # What cannot be written may still be read, and without waiting for a lock with every question.
            with closing(open_for_reading(self._path, busy_s=self._busy_s)) as opened:
                return question(opened)
        except MtpChatError:
            raise
        except Exception as error:  # a row that makes no sense must not end the thread
            self._mend_index(error)
            raise explain(error, self._path, "read") from error

    def close(self) -> str:
        """Write the rest and close. Returns a sentence about what could not be written, or ""."""
        self.work(at_once=True)
        if self._connection is not None and _identity(self._path) != self._opened:
            self._restore()
        left = [*self._waiting, *(one for pieces in self._grown.values() for one in pieces)]
        if self._connection is not None:
            with suppress(sqlite3.Error):  # everything that matters has been committed or is rescued below
                self._connection.close()
        if not left:
            return ""
        kept = rescue.keep(left, self._path)
        if kept is not None:
            self._drop_aside()
        if kept is None:
            return f"What was said last could not be saved anywhere. {self._trouble}".strip()
        return f"What was said last could not be saved with the other chats and is kept in {kept}. {self._trouble}"

    def _restore(self) -> None:
        """The file went after the last change: the chat that was open goes into a new one."""
        try:
            self.connection()
        except (sqlite3.Error, StorageError, OSError) as error:
            _log.warning("the file of chats has gone and cannot be begun anew: %s", error)

    def _write(self, connection: sqlite3.Connection) -> None:
        waiting, grown = self._waiting, self._grown
        with transaction(connection, durable=bool(waiting)):
            for change in waiting:
                self._apply(connection, change)
            for pieces in grown.values():
                guarded(connection, partial(grow, connection, pieces), "text of an answer")
        ended = [change for change in waiting if isinstance(change, TurnEnded)]
        self._latest = ended[-1] if ended else self._latest
        self._waiting, self._grown = [], {}

    def _apply(self, connection: sqlite3.Connection, change: Change) -> None:
        if not guarded(connection, partial(apply, connection, change), type(change).__name__):
            kept = rescue.keep([change], self._path)
            self._tell(f"Something that was said could not be saved{f' and is kept in {kept}' if kept else ''}.")

    def _failed(self, error: Exception) -> None:
        self._retry_at = time.monotonic() + self._retry_s
        self._close()
        if (is_damage(error) or is_index_damage(error)) and self._repair(error):
            return
        told = explain(error, self._path)
        _log.warning("chats are not saved: %s", error)
        if told.sentence != self._trouble:
            self._trouble = told.sentence
            self._tell(f"{closed(told.sentence)} The chat goes on; what is said is saved as soon as it can be.")
        self._keep_aside()

    def _keep_aside(self) -> None:
        """What waits is on some disk meanwhile, or a kill would take it along. Text of a running answer is left out:
        another instance may read this back, and it must not be there twice.
        """
        if list(map(id, self._waiting)) == list(map(id, self._aside_holds)):
            return
        kept = rescue.keep(self._waiting, self._path)
        if kept is not None:
            self._drop_aside()
            self._aside, self._aside_holds = kept, list(self._waiting)

    def _drop_aside(self) -> None:
        aside, self._aside, self._aside_holds = self._aside, None, []
        if aside is not None:
            try:
                rescue.discard(aside)
            except OSError as error:
                _log.warning("%s is no longer needed and cannot be removed: %s", aside, error)

    def _repair(self, error: Exception) -> bool:
        """Set a damaged file aside, or have a damaged index made anew; True when it is worth trying again at once."""
        try:
            if is_index_damage(error):
                if self._repaired:  # that did not help
                    return False
                self._repaired = True
                search.drop(self._path)
                self._retry_at = 0.0
                return True
            if is_sound(self._path):
                return False
            aside = set_aside(self._path)
        except (OSError, sqlite3.Error) as fault:
            _log.warning("the damaged file of chats stays where it is: %s", fault)
            return False
        _log.warning("the file of chats is damaged (%s) and was set aside as %s", error, aside)
        self._tell(f"The file of saved chats is damaged. It is kept as {aside}, and a new one is begun.")
        self._retry_at = 0.0
        return True

    def _mend_index(self, error: Exception) -> None:
        """Have a damaged index made anew with the next opening."""
        if is_index_damage(error):
            self._close()
            self._repair(error)

    def _close(self) -> None:
        """A new connection looks at the file anew: it may have been replaced, or its folder mended."""
        if self._connection is not None:
            with suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None


def _is_end_of(change: Change, waiting: Change) -> bool:
    return isinstance(change, TurnEnded) and waiting is change.begun


def _identity(path: Path) -> tuple[int, int] | None:
    """Which file stands there, whatever its name was before; None for none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino
