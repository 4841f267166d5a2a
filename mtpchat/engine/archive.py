"""Where a session has its chat kept; the seam to whatever does that."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from mtpchat.chats import Change, ChatLine, KeptChat
from mtpchat.errors import CommandError


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

    async def recent(self, limit: int) -> Sequence[ChatLine]:
        """The latest chats. Raises StorageError."""
        ...

    async def open(self, reference: str) -> KeptChat:
        """A chat by its number in `recent` or its id; "" is the last one. Raises CommandError or StorageError."""
        ...


class KeepsNothing:
    """Stands where chats are not kept."""

    keeps = False

    def put(self, change: Change) -> None:
        """See Archive."""

    def listen(self, tell: Callable[[str], None]) -> None:
        """See Archive."""

    async def recent(self, limit: int) -> Sequence[ChatLine]:
        """See Archive."""
        raise CommandError("Chats are neither kept nor shown now", hint="Start without --no-save, or set chats.save")

    async def open(self, reference: str) -> KeptChat:
        """See Archive."""
        raise CommandError("Chats are neither kept nor shown now", hint="Start without --no-save, or set chats.save")
