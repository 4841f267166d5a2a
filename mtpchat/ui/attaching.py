"""What the prompt names, read: for the line below it while it is written, and for the message when it is sent.

Files are read on a thread, and again only when they have changed. Only what was typed counts: a large paste, folded in
the prompt, names no files.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from mtpchat.attachments.gathering import Named, expanded
from mtpchat.attachments.mentions import Mention, Place, find_mentions, kind_of
from mtpchat.attachments.missing import Folders, Missing, missing_files
from mtpchat.attachments.reading import FileRead, read_file
from mtpchat.errors import AttachmentError, MtpChatError
from mtpchat.messages import Attachment
from mtpchat.ui.attached_view import Preview, text_size
from mtpchat.ui.chips import Written
from mtpchat.ui.on_thread import on_thread
from mtpchat.ui.token_count import HOPELESS

if TYPE_CHECKING:
    from mtpchat.engine.session import Session
    from mtpchat.events import ModelFacts

_MOST_SEEN = 200
_MOST_KEPT = 40_000_000
"""Letters of files that are remembered."""


class Attacher:
    """Reads files for one session.

    Args:
        place: where paths start.
    """

    def __init__(self, session: Session, place: Place) -> None:
        self._session = session
        self._place = place
        self._folders = Folders(place)
        self._reading: dict[Path, threading.Lock] = {}
        self._seen: dict[str, Mention] = {}
        self._read: dict[tuple[object, ...], FileRead] = {}
        self._tokens: dict[Attachment, int] = {}
        self._counted_by: ModelFacts | None = None

    async def attachments(self, written: Written) -> tuple[Attachment, ...]:
        """What goes along with a message. Raises AttachmentError: the message cannot be sent as it is."""
        typed = typed_part(written)
        if "@" not in typed:
            return ()
        found = tuple(one.attachment for one in await on_thread(lambda: self._read_all(typed)))
        context = self._context
        for one in found:
            if context and len(one.text) > HOPELESS * context:
                raise AttachmentError(
                    f"{one.name} has {len(one.text):,} letters, far more than the context of {context:,} tokens holds",
                    hint="Send a part of it, or load the model with a larger context (-c).",
                )
        return found

    async def preview(self, written: Written) -> Preview:
        """What would go along, with tokens where the model has the time to count them."""
        typed = typed_part(written)
        if "@" not in typed:
            return Preview()
        try:
            read = await on_thread(lambda: self._read_all(typed))
        except AttachmentError as error:
            return Preview(trouble=error.message.removesuffix("."))
        missing = await self.missing(written, typing=True)
        return replace(await self._weighed(written, read), missing=tuple(one.sentence for one in missing))

    async def missing(self, written: Written, *, typing: bool = False) -> list[Missing]:
        """Words that look like files and are none; `typing`: the last of them may still go on."""
        typed = typed_part(written)
        if "@" not in typed:
            return []
        return await on_thread(
            lambda: missing_files(typed, find_mentions(typed, self._place), self._place, self._folders, typing=typing)
        )

    async def _weighed(self, written: Written, read: Sequence[FileRead]) -> Preview:
        """The files, and what they take."""
        found = [one.attachment for one in read]
        files = tuple((one.name, text_size(one)) for one in found)
        noted = next((one for one in read if one.note), None)
        note = "" if noted is None else noted.note if len(read) == 1 else f"{noted.attachment.name} {noted.note}"
        counted = await self.count(found)
        if counted is None:
            return Preview(files, context=self._context, note=note)
        return Preview(files, sum(counted), self._context, note, needed=await self._needed(written, found))

    async def count(self, attachments: Sequence[Attachment]) -> list[int] | None:
        """Tokens of each file; None when that cannot be told now."""
        if self._session.facts is not self._counted_by:  # another model counts otherwise
            self._tokens.clear()
            self._counted_by = self._session.facts
        if len(self._tokens) > _MOST_SEEN:  # versions of files that have changed since would stay in memory
            self._tokens = {one: tokens for one, tokens in self._tokens.items() if one in attachments}
        new = [one for one in attachments if one not in self._tokens]
        if new and not self._can_count(new):
            return None
        try:
            self._tokens.update(zip(new, await self._session.terms.weigh(new) if new else (), strict=True))
        except MtpChatError:  # busy, or no model: a rough figure stands in
            return None
        return [self._tokens[one] for one in attachments]

    async def _needed(self, written: Written, attachments: Sequence[Attachment]) -> int | None:
        """Tokens of all that would be read: the chat, the files and what is said."""
        try:
            return (await self._session.terms.measure(written.text, attachments)).prompt_tokens
        except MtpChatError:  # something has begun meanwhile, which will say so itself if it does not fit
            return None

    def tokens_of(self, attachments: Sequence[Attachment]) -> list[int | None]:
        """What is known already, by the model that is loaded."""
        known = self._tokens if self._session.facts is self._counted_by else {}
        return [known.get(one) for one in attachments]

    @property
    def _context(self) -> int:
        return self._session.facts.context_size if self._session.facts is not None else 0

    def _can_count(self, attachments: Sequence[Attachment]) -> bool:
        context = self._context
        letters = sum(len(one.text) for one in attachments)
        return self._session.facts is not None and (not context or letters <= HOPELESS * context)

    def _read_all(self, typed: str) -> list[FileRead]:
        """The files that a text names, each read by one thread at a time: who comes second finds it read.

        A file that never comes to its end keeps nobody from reading another one.
        """
        return [self._read_one(one) for one in expanded(self._mentions(typed), self._place)]

    def _mentions(self, typed: str) -> list[Mention]:
        """What a text names. What it has named before, and what is not there any more, is not taken for text."""
        mentions = find_mentions(typed, self._place)
        spans = {typed[one.start : one.end]: one for one in mentions}
        for words, mention in self._seen.items():
            if words not in spans and _has_word(typed, words) and kind_of(mention.path) is None:
                raise AttachmentError(
                    f"{mention.typed} is not there any more",
                    path=mention.path,
                    hint="To send its path as text, write a space behind the @.",
                )
        self._seen = dict(list((self._seen | spans).items())[-_MOST_SEEN:])
        return mentions

    def _read_one(self, named: Named) -> FileRead:
        most_mb = self._session.config.chats.attachments_max_mb
        try:
            found = os.stat(named.path)
        except (OSError, ValueError):
            return read_file(named.path, named.name, most_mb, named.lines)  # which says what is wrong with it
        state = found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
        key = (named.path, named.name, named.lines, most_mb, *state)
        with self._reading.setdefault(named.path, threading.Lock()):
            known = self._read.get(key)
            if known is None:
                known = read_file(named.path, named.name, most_mb, named.lines)
                if sum(len(one.attachment.text) for one in [*self._read.values()]) > _MOST_KEPT:
                    self._read.clear()
                self._read[key] = known
        return known


def typed_part(written: Written) -> str:
    """The text without what is folded in it."""
    parts, at = list[str](), 0
    for start, end in written.folds:
        parts.append(written.text[at:start])
        at = end
    return " ".join([*parts, written.text[at:]])


def _has_word(text: str, word: str) -> bool:
    return re.search(rf"{re.escape(word)}(?![\w./-])", text) is not None
