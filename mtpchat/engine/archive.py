"""Where a session has its chat kept; the seam to whatever does that."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from mtpchat.chats import Change, ChatLine, Glimpse, Hit, KeptChat
from mtpchat.errors import CommandError
from mtpchat.whole_chat import Taken, WholeChat


class Archive(Protocol):
    """Keeps chats. Used from the event loop; nothing here waits for a disk."""

    @property
    def keeps(self) -> bool:
        """False when nothing is kept at all."""
        ...

    def put(self, change: Change) -> None:
        """Keep a change; never fails. What goes wrong later is told to `listen`'s callable."""
        ...

    def listen(self, tell: Callable[[str], None]) -> None:
        """Have sentences for the user told; `tell` may be called on any thread."""
        ...

    async def recent(self, limit: int, *, deleted: bool = False) -> Sequence[ChatLine]:
        """The latest chats, or those that were deleted last; a negative `limit` is none. Raises StorageError."""
        ...

    async def find(self, text: str, limit: int, *, deleted: bool = False) -> Sequence[Hit]:
        """Chats with all words of `text` in their title or one message and its files, the best first.

        Raises StorageError.
        """
        ...

    async def glimpse(self, chat: str, text: str = "") -> Glimpse:
        """The last exchange of a chat, or where words stand in it. Raises CommandError or StorageError."""
        ...

    async def open(self, reference: str) -> KeptChat:
        """A chat by its number in `recent` or its id; "" is the last one. Raises CommandError or StorageError."""
        ...

    async def whole(self, chat: str) -> WholeChat:
        """All that is known of a chat, see `open`. Raises CommandError or StorageError."""
        ...

    async def take_in(self, chat: WholeChat) -> Taken:
        """Keep a chat of a file, or what is new of it; all of that or nothing. Raises ExchangeError or StorageError."""
        ...


class KeepsNothing:
    """Stands where chats are not kept."""

    keeps = False

    def put(self, change: Change) -> None:
        """See Archive."""

    def listen(self, tell: Callable[[str], None]) -> None:
        """See Archive."""

    async def recent(self, limit: int, *, deleted: bool = False) -> Sequence[ChatLine]:
        """See Archive."""
        raise _refusal()

    async def find(self, text: str, limit: int, *, deleted: bool = False) -> Sequence[Hit]:
        """See Archive."""
        raise _refusal()

    async def glimpse(self, chat: str, text: str = "") -> Glimpse:
        """See Archive."""
        raise _refusal()

    async def open(self, reference: str) -> KeptChat:
        """See Archive."""
        raise _refusal()

    async def whole(self, chat: str) -> WholeChat:
        """See Archive."""
        raise _refusal()

    async def take_in(self, chat: WholeChat) -> Taken:
        """See Archive."""
        raise _refusal()


def _refusal() -> CommandError:
    return CommandError("Chats are neither kept nor shown now", hint="Start without --no-save, or set chats.save.")
