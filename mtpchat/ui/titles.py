"""Asks for a title of the chat when nothing was done for some seconds, where the settings want the model to give it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING

from mtpchat.errors import MtpChatError

if TYPE_CHECKING:
    from mtpchat.engine.session import Session

_log = logging.getLogger(__name__)

QUIET_S = 3.0


class Titles:
    """Waits for a quiet moment.

    Args:
        start: runs a coroutine beside the screen.
        made: called when there is a title.
        quiet_s: seconds in which nothing must have begun.
    """

    def __init__(
        self,
        session: Session,
        start: Callable[[Callable[[], Coroutine[None, None, None]]], object],
        *,
        made: Callable[[], object] = lambda: None,
        quiet_s: float = QUIET_S,
    ) -> None:
        self._session = session
        self._start = start
        self._made = made
        self._quiet_s = quiet_s
        self._timer: asyncio.TimerHandle | None = None

    def consider(self) -> None:
        """Something has ended: if nothing begins now, the chat may get a title. Costs nothing unless that is wanted."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._session.config.chats.titles == "model" and self._ready:
            self._timer = asyncio.get_running_loop().call_later(self._quiet_s, self._make_soon)

    @property
    def _ready(self) -> bool:
        return self._session.facts is not None and self._session.titling.wanted

    def _make_soon(self) -> None:
        self._timer = None
        if self._ready and not self._session.busy:
            self._start(self._make)

    async def _make(self) -> None:
        try:
            title = await self._session.titling.make()
        except MtpChatError as error:  # the first words are a title, too
            _log.info("no title was made: %s", error)
            return
        if title:
            self._made()
        else:
            self.consider()
