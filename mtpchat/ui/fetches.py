"""Shows a fetch that runs beside the chat: one line that changes, and what to do with the file at its end.

What asks the network is imported with the first fetch: most runs have none.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Literal, assert_never

from textual.content import Content

from mtpchat.commands.page import code, plain, table
from mtpchat.errors import FetchCancelled, MtpChatError
from mtpchat.gguf.cursor import human_size
from mtpchat.shelf.index import Index
from mtpchat.shelf.naming import name_for
from mtpchat.shelf.places import short_path
from mtpchat.ui.on_thread import on_thread
from mtpchat.ui.safe_text import safe_text
from mtpchat.ui.widgets.messages import ErrorBlock, Notice
from mtpchat.ui.widgets.prompt import Prompt
from mtpchat.ui.widgets.transcript import Transcript

if TYPE_CHECKING:
    from mtpchat.config import Config
    from mtpchat.hub.job import Arrived, FetchJob
    from mtpchat.hub.listing import Listing, Offer
    from mtpchat.hub.speed import Speed

_log = logging.getLogger(__name__)
Start = Callable[[Callable[[], Coroutine[None, None, None]], Literal["fetch"]], object]
_LOOK_S = 0.5


class FetchController:
    """At most one fetch at a time.

    Args:
        prompt: gets the line that loads what has arrived, if it is empty then.
        start: starts a coroutine as a worker.
        show_page: shows title and Markdown.
        changed: called when `running` may have changed.
        config: the settings in force, whose places give short names to files.
        clock: seconds, monotonic.
    """

    def __init__(
        self,
        transcript: Transcript,
        prompt: Prompt,
        start: Start,
        show_page: Callable[[str, str], None],
        changed: Callable[[], None],
        *,
        config: Callable[[], Config],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._transcript = transcript
        self._prompt = prompt
        self._start = start
        self._show_page = show_page
        self._changed = changed
        self._config = config
        self._clock = clock
        self._job: FetchJob | None = None

    @property
    def running(self) -> bool:
        """Whether anything is being fetched."""
        return self._job is not None

    def fetch(self, text: str) -> None:
        """Fetch, or list, what `text` names; refused with a line while another fetch runs."""
        from mtpchat.hub.access import access
        from mtpchat.hub.job import FetchJob
        from mtpchat.hub.names import parse_wanted

        if self._job is not None:
            self._start_saying("One fetch at a time: Esc stops the one that runs, and keeps what has come.")
            return
        try:
            wanted = parse_wanted(text)
            self._job = FetchJob(wanted, access(endpoint=wanted.endpoint))
        except MtpChatError as error:
            self._start_saying(error.sentence)
            return
        self._start(partial(self._follow, self._job, text), "fetch")

    def stop(self) -> None:
        """Stop it; what has come is kept."""
        if self._job is not None:
            self._job.stop()

    def _start_saying(self, text: str) -> None:
        self._transcript.mount(Notice(text, warning=True))

    async def _follow(self, job: FetchJob, text: str) -> None:
        from mtpchat.hub.speed import Speed

        line = Notice("asking the hub", command=f"/pull {text}")
        await self._transcript.add(line)
        speed = Speed(self._clock)
        job.start()
        self._changed()
        try:
            while not job.done.is_set():
                await asyncio.sleep(_LOOK_S)
                self._show(job, speed, line)
        finally:
            job.stop()
            self._job = None
            self._changed()
        await self._end(job, line, text)

    def _show(self, job: FetchJob, speed: Speed, line: Notice) -> None:
        from mtpchat.hub.speed import line_of

        now = job.progress
        if now is None:
            return
        speed.note(now)
        end = "stopping" if job.stopping else "Esc stops"
        _say(line, f"fetching {line_of(now, speed)} · {end}")

    async def _end(self, job: FetchJob, line: Notice, text: str) -> None:
        from mtpchat.hub.job import Arrived
        from mtpchat.hub.listing import Listing

        match job.outcome:
            case Arrived() as arrived:
                await self._arrived(arrived, line)
            case Listing() as listing:
                _say(line, f"{listing.repo}: {len(listing.offers)} to choose from")
                self._show_page(listing.repo, listing_page(listing))
            case None:
                await self._failed(job, line, text)
            case _:
                assert_never(job.outcome)

    async def _arrived(self, arrived: Arrived, line: Notice) -> None:
        _say(line, f"fetched {human_size(arrived.size)}{'' if arrived.verified else ', not verified'}")
        command = f"/{'drafter' if arrived.drafter else 'model'} {await self._typed(arrived)}"
        await self._transcript.add(Notice(f"{arrived.path.name} is there: {command}"))
        if arrived.companion:
            await self._transcript.add(Notice(f"a drafter for it is there, too: /pull {arrived.companion}"))
        if not self._prompt.text:
            self._prompt.put(command)

    async def _typed(self, arrived: Arrived) -> str:
        """The name under which it is in the list, or else its path."""
        path, config = arrived.path, self._config()
        try:
            name = await on_thread(lambda: name_for(path, config, Index(), drafters=arrived.drafter))
        except (MtpChatError, RuntimeError) as error:
            _log.warning("no short name for %s: %s", path, error)
            name = ""
        return name or short_path(path)

    async def _failed(self, job: FetchJob, line: Notice, text: str) -> None:
        if isinstance(job.error, FetchCancelled):
            _say(line, f"stopped; what has come is kept: /pull {text} goes on from there")
        elif job.error is not None:
            _say(line, "not fetched")
            await self._transcript.add(ErrorBlock(job.error.message, job.error.hint))
        else:
            _say(line, "not fetched")
            await self._transcript.add(ErrorBlock("The fetch broke.", "The log has the details."))


def listing_page(listing: Listing) -> str:
    """What a repository offers, as Markdown, each with the line that fetches it."""
    rows = [
        (code(f"/pull {listing.repo}:{one.label}"), human_size(one.size), _heads(one), _remark(one))
        for one in (*listing.offers, *listing.drafters)
    ]
    return table(("Fetch with", "Size", "MTP heads", ""), rows)


def _heads(offer: Offer) -> str:
    if offer.drafter or offer.heads is None:
        return "–"
    return ("yes" if offer.heads else "no") + (" (by its name)" if offer.known_by == "name" else "")


def _remark(offer: Offer) -> str:
    if offer.missing:
        return plain(f"{len(offer.missing)} parts are missing")
    return "drafter" if offer.drafter else ""


def _say(line: Notice, text: str) -> None:
    if line.is_attached:
        line.grow(Content(safe_text(text)))
