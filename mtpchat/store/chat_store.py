"""The chats of a user, as the event loop sees them: every call returns at once, and a thread does the work.

Nothing is opened, and SQLite is not even imported, before the first change or question, so that the app's first frame
does not wait for a disk.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from mtpchat.chats import Change, ChatLine, Deleted, Glimpse, Hit, KeptChat, TurnBegun
from mtpchat.errors import MtpChatError, StorageError
from mtpchat.whole_chat import Taken, WholeChat

if TYPE_CHECKING:
    import sqlite3

    from mtpchat.store.scribe import Scribe

T = TypeVar("T")
_Question = tuple[Callable[["sqlite3.Connection"], Any], "Future[Any]"]


class ChatStore:
    """Keeps chats in a file.

    Args:
        path: the file; made when there is something to keep.
        flush_s: longest time that text of a running answer is in memory alone.
        retry_s, busy_s, keep_deleted_s: see Scribe.
        tune: called with each new connection, on the thread that writes.
        forget: called with the id of each chat that is deleted, and again when it is gone for good, on that thread.
        allow: called with the id of a chat that is no longer deleted, on that thread.
    """

    keeps = True

    def __init__(
        self,
        path: Path,
        *,
        flush_s: float = 0.5,
        retry_s: float = 5.0,
        busy_s: float = 2.0,
        keep_deleted_s: float | None = None,
        tune: Callable[[sqlite3.Connection], None] | None = None,
        forget: Callable[[str], object] = lambda _chat: None,
        allow: Callable[[str], object] = lambda _chat: None,
    ) -> None:
        self.path = path
        self._forget, self._allow = forget, allow
        self._deleted: set[str] = set()
        self._options: dict[str, Any] = {"flush_s": flush_s, "retry_s": retry_s, "busy_s": busy_s, "tune": tune}
        self._options |= {"keep_deleted_s": keep_deleted_s, "forget": forget}
        self._inbox: queue.SimpleQueue[Change | _Question | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._closed = self._ended = False
        self._left = ""
        self._told: deque[str] = deque()
        self._listener: Callable[[str], None] | None = None

    def put(self, change: Change) -> None:
        """Keep a change. Never waits and never fails; see `listen` for what may go wrong later."""
        self._inbox.put(change)
        self._start()
        self._follow(change)

    def _follow(self, change: Change) -> None:
        """What else is kept of a chat goes with it when it is deleted, and may be kept again when it is back."""
        if isinstance(change, Deleted) and change.at is not None:
            self._deleted.add(change.chat)
            self.ask(lambda _connection: self._forget(change.chat))
        elif isinstance(change, (Deleted, TurnBegun)) and change.chat in self._deleted:
            self._deleted.discard(change.chat)
            self.ask(lambda _connection: self._allow(change.chat))

    def listen(self, tell: Callable[[str], None]) -> None:
        """Have sentences for the user told, also those that came before. `tell` is called on the writing thread."""
        self._listener = tell
        self._pass_on()

    async def recent(self, limit: int, *, deleted: bool = False) -> Sequence[ChatLine]:
        """The latest chats, or those that were deleted last. Raises StorageError."""

        def question(connection: sqlite3.Connection) -> Sequence[ChatLine]:
            from mtpchat.store import reading

            return reading.deleted(connection, limit) if deleted else reading.recent(connection, limit)

        return await asyncio.wrap_future(self.ask(question))

    async def open(self, reference: str) -> KeptChat:
        """A chat by its number in `recent`, its id or the beginning of it; "" is the last one that was used.

        Raises:
            CommandError: there is none, or more than one.
            StorageError: the file cannot be read.
        """

        def question(connection: sqlite3.Connection) -> KeptChat:
            from mtpchat.store.reading import load

            return load(connection, reference)

        return await asyncio.wrap_future(self.ask(question))

    async def find(self, text: str, limit: int, *, deleted: bool = False) -> Sequence[Hit]:
        """Chats with all words of `text` in their title or in one message and its files, the best first; the last word
        may be begun.

        A search that is cancelled before its turn costs nothing, and one that is under way ends. Raises StorageError.
        """
        over = threading.Event()

        def question(connection: sqlite3.Connection) -> Sequence[Hit]:
            from mtpchat.store.database import until
            from mtpchat.store.reading import find

            with until(connection, over.is_set):
                return find(connection, text, limit, deleted=deleted)

        try:
            return await asyncio.wrap_future(self.ask(question))
        finally:
            over.set()

    async def glimpse(self, chat: str, text: str = "") -> Glimpse:
        """The last exchange of a chat, or where words stand in it. Raises CommandError or StorageError."""

        def question(connection: sqlite3.Connection) -> Glimpse:
            from mtpchat.store.glimpse import glimpse

            return glimpse(connection, chat, text)

        return await asyncio.wrap_future(self.ask(question))

    async def whole(self, chat: str) -> WholeChat:
        """All that is known of a chat, see `open`. Raises CommandError or StorageError."""

        def question(connection: sqlite3.Connection) -> WholeChat:
            from mtpchat.store.reading import whole_chat

            return whole_chat(connection, chat)

        return await asyncio.wrap_future(self.ask(question))

    async def take_in(self, chat: WholeChat) -> Taken:
        """Keep a chat of a file, or what is new of it; all of that or nothing. Raises ExchangeError or StorageError."""

        def question(connection: sqlite3.Connection) -> Taken:
            from mtpchat.store.database import transaction
            from mtpchat.store.taking_in import take_in

            with transaction(connection, durable=False):  # very many may follow, and their file is still there
                return take_in(connection, chat)

        return await asyncio.wrap_future(self.ask(question))

    def ask(self, question: Callable[[sqlite3.Connection], T]) -> Future[T]:
        """Run something on the writing thread, after all that was put before. Its errors are MtpChatErrors."""
        future: Future[T] = Future()
        if self._closed:
            future.set_exception(StorageError("The chats are closed", path=self.path))
            return future
        self._inbox.put((question, future))
        self._start()
        return future

    def close(self, timeout: float = 10.0) -> str:
        """Write the rest and end. Returns a sentence about what could not be saved, or ""."""
        self._closed = True
        if self._thread is None:
            return ""
        self._inbox.put(None)
        self._thread.join(timeout)
        if not self._ended:
            return f"What was said last may not have been saved: {self.path} does not answer."
        return self._left

    def _start(self) -> None:
        if self._thread is None and not self._closed:
            self._thread = threading.Thread(target=self._serve, name="mtpchat-chats", daemon=True)
            self._thread.start()

    def _pass_on(self) -> None:
        """On whichever thread: taking a sentence out is atomic, so each is told once."""
        while self._listener is not None and self._told:
            try:
                sentence = self._told.popleft()
            except IndexError:  # the other thread was quicker
                return
            self._listener(sentence)

    # From here on: writing thread.

    def _tell(self, sentence: str) -> None:
        self._told.append(sentence)
        self._pass_on()

    def _serve(self) -> None:
        from mtpchat.store.scribe import Scribe

        scribe = Scribe(self.path, self._tell, **self._options)
        while self._round(scribe):
            scribe.work()
        self._left = scribe.close()
        self._ended = True

    def _round(self, scribe: Scribe) -> bool:
        """Take in all that is there, waiting for the first of it as long as nothing else is to be done."""
        try:
            item = self._inbox.get(timeout=scribe.pause_s())
            while item is not None:
                if isinstance(item, tuple):
                    self._answer(scribe, *item)
                else:
                    scribe.take(item)
                item = self._inbox.get_nowait()
        except queue.Empty:
            return True
        return False

    @staticmethod
    def _answer(scribe: Scribe, question: Callable[[sqlite3.Connection], Any], future: Future[Any]) -> None:
        if not future.set_running_or_notify_cancel():
            return
        try:
            future.set_result(scribe.answer(question))
        except MtpChatError as error:
            future.set_exception(error)
