"""What is done with kept chats on their screen, without the screen: looking, naming, pinning, deleting, undoing, files.

Changes are put to the archive and shown at once, whether or not they can be written yet: while the file is locked or
the disk full, they wait in memory like everything else that is to be saved.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from mtpchat.chats import Change, ChatLine, Deleted, Glimpse, Pinned, Renamed
from mtpchat.commands.export import form_of, place_for, render
from mtpchat.commands.files import expand
from mtpchat.engine.archive import Archive
from mtpchat.errors import ExchangeError
from mtpchat.exchange.files import opened
from mtpchat.exchange.findings import Finding, Skipped
from mtpchat.exchange.intake import findings
from mtpchat.exchange.tally import Tally, progress
from mtpchat.paths import write_atomically
from mtpchat.ui.chats_view import Row

LONGEST_TITLE = 200
_NAME_LETTERS = 40
_EACH_S = 0.1


@dataclass(frozen=True, slots=True)
class _Own:
    """What was changed here and may not be in the file yet; None where nothing was. `at` is when it was deleted."""

    title: str | None = None
    pinned: bool | None = None
    deleted: bool | None = None
    at: float = 0.0

    def beside(self, line: ChatLine) -> _Own:
        """What of it a line of the file does not say yet. A chat that went on after it was deleted is back."""
        went_on = self.deleted and line.updated > self.at
        return _Own(
            None if self.title == line.title else self.title,
            None if self.pinned is line.pinned else self.pinned,
            None if self.deleted is line.deleted or went_on else self.deleted,
            self.at,
        )


@dataclass(slots=True)
class TakingIn:
    """A file that is being taken in.

    Attributes:
        tell: called now and then with how far that has come.
        stopped: set by whoever wants no more of it; the chats that were taken in stay.
    """

    tell: Callable[[str], object] = lambda _text: None
    stopped: bool = False
    told_at: float = -_EACH_S

    def has_come_to(self, tally: Tally, share: float) -> None:
        """Tell, unless that was done just now."""
        now = time.monotonic()
        if now - self.told_at >= _EACH_S:
            self.told_at = now
            self.tell(progress(tally, share))


class ChatsDesk:
    """The chats of an archive, as they are with what was changed here.

    Args:
        rename: tells the session of another title for the chat that is open.
        clock: seconds since 1970.
    """

    def __init__(self, archive: Archive, rename: Callable[[str, str], None], clock: Callable[[], float]) -> None:
        self._archive = archive
        self._rename = rename
        self._clock = clock
        self._own: dict[str, _Own] = {}
        self._lines: dict[str, ChatLine] = {}
        self._deleted: list[str] = []

    async def look(self, text: str, most: int, *, trash: bool) -> list[Row]:
        """The chats in order, at most so many; with `text` those that have its words, the best first.

        Raises:
            StorageError, CommandError.
        """
        if text.strip():
            hits = await self._archive.find(text, most, deleted=trash)
            return self._mine([Row(hit.line, hit.title_marks) for hit in hits], trash=trash)
        lines = await self._archive.recent(most, deleted=trash)
        rows = self._mine([Row(line) for line in lines], trash=trash)
        if trash:
            seen = {row.line.id for row in rows}
            return [*(row for row in self._thrown_away() if row.line.id not in seen), *rows]
        return sorted(rows, key=lambda row: not row.line.pinned)  # those that were used last are the first already

    async def glimpse(self, chat: str, text: str) -> Glimpse:
        """A look at one chat. Raises StorageError or CommandError."""
        return await self._archive.glimpse(chat, text)

    def _mine(self, rows: Sequence[Row], *, trash: bool) -> list[Row]:
        """Rows with what was changed here, without those that have left this list."""
        for line in (row.line for row in rows):
            self._lines[line.id] = line
            if line.id in self._own:
                self._own[line.id] = self._own[line.id].beside(line)
        return [row for row in map(self._changed, rows) if row.line.deleted is trash]

    def _thrown_away(self) -> list[Row]:
        """What was deleted here, the latest first, as it may not be in the file yet."""
        rows = [self._changed(Row(self._lines[chat])) for chat in reversed(self._deleted)]
        return [row for row in rows if row.line.deleted]

    def _changed(self, row: Row) -> Row:
        own = self._own.get(row.line.id)
        if own is None:
            return row
        line = row.line
        if own.title is not None and own.title != line.title:
            row = replace(row, marks=())
            line = msgspec.structs.replace(line, title=own.title, named=True)
        pinned = line.pinned if own.pinned is None else own.pinned
        deleted = line.deleted if own.deleted is None else own.deleted
        return replace(row, line=msgspec.structs.replace(line, pinned=pinned, deleted=deleted))

    def rename(self, line: ChatLine, title: str) -> str:
        """Give a chat another title; returns it as it is kept, "" for one that was empty and changes nothing."""
        wanted = " ".join(title.split())[:LONGEST_TITLE]
        if wanted and wanted != line.title:
            self._note(line, Renamed(line.id, wanted), title=wanted)
            self._rename(line.id, wanted)
        return wanted

    def pin(self, line: ChatLine) -> bool:
        """Pin a chat, or no longer; returns which."""
        self._note(line, Pinned(line.id, not line.pinned), pinned=not line.pinned)
        return not line.pinned

    def delete(self, line: ChatLine) -> None:
        """Put a chat out of sight."""
        at = self._clock()
        self._note(line, Deleted(line.id, at), deleted=True, at=at)
        self._deleted.append(line.id)

    def bring_back(self, line: ChatLine) -> None:
        """Undo the deletion of a chat."""
        self._note(line, Deleted(line.id, None), deleted=False)
        self._deleted = [chat for chat in self._deleted if chat != line.id]

    def undo(self) -> ChatLine | None:
        """Bring back what was deleted here last; None when there is nothing (any more)."""
        thrown_away = self._thrown_away()
        if not thrown_away:
            return None
        line = thrown_away[0].line
        self.bring_back(line)
        return line

    def _note(self, line: ChatLine, change: Change, **own: object) -> None:
        self._lines[line.id] = line
        self._own[line.id] = replace(self._own.get(line.id, _Own()), **own)  # type: ignore[arg-type]
        self._archive.put(change)

    async def export(self, line: ChatLine, typed: str) -> Path:
        """Write a chat to a new file; its suffix decides the format. Returns where.

        Raises:
            CommandError: no such format, or the file exists; StorageError: it cannot be written or read.
        """
        path = expand(typed)
        form = form_of(path)
        chat = await self._archive.whole(line.id)
        place_for(path, replace=False, hints=("Another name is free.", "Name one that there is, or make it first."))
        write_atomically(path, render(form, [chat]))
        return path.absolute()

    async def take_in(self, typed: str, taking: TakingIn | None = None) -> str:
        """Keep the chats of a file; returns a sentence that says what came of it.

        Args:
            taking: is told how far it has come, and can stop it.

        Raises:
            CommandError, ExchangeError: the file is not there, or nothing can be read of it; StorageError.
        """
        tally, taking = Tally(), taking or TakingIn()
        error: ExchangeError | None = None
        with opened(expand(typed)) as data:
            chats = findings(data, self._clock())
            try:
                while not taking.stopped and (found := await asyncio.to_thread(next, chats, None)) is not None:
                    await self._take_in(found, tally)
                    taking.has_come_to(tally, found.end / len(data))
            except ExchangeError as fault:
                error = fault
        if error is not None and not tally.chats:
            raise error
        rest = f" · stopped at {error.message}" if error is not None else " · stopped" if taking.stopped else ""
        return f"{tally.sentence()}{rest}"

    async def _take_in(self, found: Finding, tally: Tally) -> None:
        if isinstance(found, Skipped):
            tally.skip(found)
            return
        try:
            tally.count(found, await self._archive.take_in(found.chat))
        except ExchangeError as refusal:
            tally.skip(Skipped(0, refusal.message.rstrip(".")))


def file_name(line: ChatLine) -> str:
    """A name for a file with a chat in it, e.g. `why-do-rivers-meander.md`."""
    words = re.findall(r"\w+", line.title.casefold())
    stem = ""
    for word in words:
        if stem and len(stem) + len(word) > _NAME_LETTERS:
            break
        stem = f"{stem}-{word}" if stem else word[:_NAME_LETTERS]
    return f"{stem or line.id}.md"
