"""Files of the message that is being written: their line below the prompt, kept in step with the text."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from textual.timer import Timer
from textual.widget import Widget

from mtpchat.attachments.mentions import Place
from mtpchat.errors import AttachmentError
from mtpchat.messages import Attachment, Message
from mtpchat.ui.attached_view import Preview
from mtpchat.ui.attaching import Attacher
from mtpchat.ui.chips import Written
from mtpchat.ui.safe_text import safe_line
from mtpchat.ui.waiting import Job
from mtpchat.ui.widgets.attached_line import AttachedLine
from mtpchat.ui.work import start_work

if TYPE_CHECKING:
    from mtpchat.engine.session import Session

_AFTER_S = 0.2


class Attached:
    """Finds out what would go along, and what goes.

    Args:
        owner: a widget that lives as long as the app, for timers and workers.
        changed: called when the line has appeared or gone.
    """

    def __init__(self, session: Session, owner: Widget, changed: Callable[[], None]) -> None:
        self.line = AttachedLine()
        self._session = session
        self._owner = owner
        self._changed = changed
        self._attacher = Attacher(session, Place.here())
        self._stopped = asyncio.Event()
        self._wanted: Written | None = None
        self._looking = False
        self._told: set[str] = set()
        self._timer: Timer | None = None

    def follow(self, written: Written) -> None:
        """The prompt has changed."""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        if "@" not in written.text:
            self._wanted = None
            self._show(Preview())
            return
        self._wanted = written
        self._timer = self._owner.set_timer(_AFTER_S, self._begin)

    async def files_of(self, job: Job) -> tuple[Attachment, ...]:
        """What goes along with a message that is about to be sent. Raises AttachmentError, also when it is stopped."""
        if job.kind in ("send", "edit"):
            self._owner.run_worker(self._tell_missing(job.written), exit_on_error=False)
        if job.kind == "send":
            return await self.read(job.written)
        if job.kind == "edit":
            named = await self.read(job.written)
            return (*_still_meant(self._session.messages[job.index or 0], job.written.text, named), *named)
        return ()

    def stop(self) -> None:
        """Wait no longer for files that are being read."""
        self._stopped.set()

    async def read(self, written: Written) -> tuple[Attachment, ...]:
        """The files that a text names. Raises AttachmentError."""
        self._stopped.clear()
        reading = asyncio.ensure_future(self._attacher.attachments(written))
        stopping = asyncio.ensure_future(self._stopped.wait())
        try:
            await asyncio.wait((reading, stopping), return_when=asyncio.FIRST_COMPLETED)
            if not reading.done():
                raise AttachmentError("The files were not read to their end", hint="Enter tries it again.")
            return reading.result()
        finally:
            reading.cancel()
            stopping.cancel()

    async def _tell_missing(self, written: Written) -> None:
        """Of a message that goes: what stays text in it, unless the line below the prompt has said so."""
        for one in await self._attacher.missing(written):
            if one.sentence not in self._told:
                self._owner.notify(safe_line(one.sentence), severity="warning", markup=False)
        self._told = set()

    def tokens_of(self, attachments: tuple[Attachment, ...]) -> list[int | None]:
        """Tokens of each file, as far as they were counted."""
        return self._attacher.tokens_of(attachments)

    def _begin(self) -> None:
        if not self._looking:
            self._looking = True
            start_work(self._owner, self._look)

    async def _look(self) -> None:
        """One look after the other: a file that is slow to read is read once, however fast somebody types."""
        try:
            while (written := self._wanted) is not None:
                self._wanted = None
                preview = await self._attacher.preview(written)
                if self._wanted is None:
                    self._show(preview)
        finally:
            self._looking = False

    def _show(self, preview: Preview) -> None:
        self._told.update(preview.missing)
        if self.line.show(preview):
            self._changed()


def _still_meant(message: Message, text: str, named: tuple[Attachment, ...]) -> tuple[Attachment, ...]:
    """Files of a message that stay with it in other words: those that the old text did not name, and those that the new
    one still names although they are gone from the disk."""
    new = {one.name for one in named}
    return tuple(
        one
        for one in message.attachments
        if one.name not in new and (_says(text, one.name) or not _names(message.content, one.name))
    )


def _names(text: str, name: str) -> bool:
    folders = (f"{folder}/" for folder in PurePosixPath(name).parents if folder.name)
    return any(_says(text, path) for path in (name, *folders))


def _says(text: str, path: str) -> bool:
    return path in text.replace('":', ":")  # lines may be named behind a path in quotes
