"""Fetches a model of the first screen, and the drafter that belongs to it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from mtpchat.errors import FetchCancelled, HubError, MtpChatError
from mtpchat.hub.access import access
from mtpchat.hub.job import Arrived, FetchJob
from mtpchat.hub.names import parse_wanted
from mtpchat.hub.speed import Speed, line_of
from mtpchat.hub.starters import Starter

_LOOK_S = 0.2


class StarterFetch:
    """One fetch; the model comes first, so that it can be used even if its drafter does not come.

    Attributes:
        without_drafter: why the drafter did not come, or "".

    Args:
        say: shows how far it is, in one line.
        clock: seconds, monotonic.
    """

    def __init__(
        self, starter: Starter, say: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._starter = starter
        self._say = say
        self._clock = clock
        self._job: FetchJob | None = None
        self._stopped = False
        self.without_drafter = ""

    def stop(self) -> None:
        """Stop it; what has come is kept."""
        self._stopped = True
        if self._job is not None:
            self._job.stop()

    async def run(self) -> Arrived:
        """The model. Raises MtpChatError: HubError, StorageError, or FetchCancelled when it was stopped."""
        model = await self._fetched(self._starter.fetch)
        if self._starter.fetch_drafter:
            try:
                await self._fetched(self._starter.fetch_drafter)
            except FetchCancelled:
                raise
            except MtpChatError as error:
                self.without_drafter = error.message
        return model

    async def _fetched(self, text: str) -> Arrived:
        if self._stopped:
            raise FetchCancelled("Stopped")
        wanted = parse_wanted(text)
        job = self._job = FetchJob(wanted, access(endpoint=wanted.endpoint))
        speed = Speed(self._clock)
        self._say(f"asking for {wanted.repo}")
        job.start()
        try:
            while not job.done.is_set():
                await asyncio.sleep(_LOOK_S)
                if job.progress is not None:
                    speed.note(job.progress)
                    self._say("stopping" if job.stopping else line_of(job.progress, speed))
        finally:
            job.stop()
        if job.error is not None:
            raise job.error
        if not isinstance(job.outcome, Arrived):
            raise HubError("The fetch broke", hint="The log has the details.")
        return job.outcome
