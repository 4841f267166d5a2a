"""From the engine thread to the event loop, without letting either slow the other down.

The engine puts events whenever it has them and never waits. What the reader has not fetched yet is merged: text of one
channel and source grows, and of counters and progress only the latest stays. The loop is woken only when the mailbox
was empty, because waking it per token costs more than a small model's decode.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncGenerator, Callable

from mtpchat.events import (
    EngineEvent,
    Failed,
    Finished,
    LoadFinished,
    Loading,
    Measured,
    Prefilling,
    StatsTick,
    TextDelta,
    Worked,
    Working,
)

REST_S = 1 / 12
"""Pause of the reader between two fetches. Each fetch takes a core from the model for a moment: on two cores, with a
model of 6 ms per token, 30 fetches a second cost 4 % of the decode rate, 12 cost 2 %, and text still flows."""
_LONGEST_REST_S = 0.2
_SHARE = 0.04
"""Share of one core that the reader's thread may take, painting included; it rests for longer where it takes more."""

_FINAL = (Finished, Failed, LoadFinished, Worked, Measured)
_LATEST_ONLY = (StatsTick, Prefilling, Loading, Working)


def call_on_loop(loop: asyncio.AbstractEventLoop, callback: Callable[[], None]) -> None:
    """Run `callback` on the loop, from any thread. A closed loop has nobody left to tell, so the call is dropped."""
    try:
        loop.call_soon_threadsafe(callback)
    except RuntimeError:
        if not loop.is_closed():
            raise


class Mailbox:
    """Events of one job, written by one thread and read by one task.

    No text is lost and its order is kept; the final event (Finished, Failed, LoadFinished, Worked or Measured) arrives
    once, at the end.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, *, rest_s: float = REST_S) -> None:
        """`loop` is the reader's; `rest_s` is the pause between two fetches, which a final event cuts short."""
        self._loop = loop
        self._rest_s = rest_s
        self._spent_s = 0.0
        self._lock = threading.Lock()
        self._pending: list[EngineEvent | _Text] = []
        self._ended = False
        self._arrived = asyncio.Event()
        self._final_arrived = asyncio.Event()

    def put(self, event: EngineEvent) -> bool:
        """Add an event; False if it was refused because the final one is already in."""
        with self._lock:
            if self._ended:
                return False
            was_empty = not self._pending
            self._ended = isinstance(event, _FINAL)
            self._add(event)
        if self._ended:
            call_on_loop(self._loop, self._wake_for_final)
        elif was_empty:
            call_on_loop(self._loop, self._arrived.set)
        return True

    async def events(self) -> AsyncGenerator[EngineEvent, None]:
        """All events up to the final one."""
        while True:
            await self._arrived.wait()
            self._arrived.clear()
            self._spent_s = time.thread_time()
            for event in self._take():
                yield event
                if isinstance(event, _FINAL):
                    return
            await self._rest()

    def _take(self) -> list[EngineEvent]:
        with self._lock:
            taken, self._pending = self._pending, []
        return [item.event() if isinstance(item, _Text) else item for item in taken]

    async def _rest(self) -> None:
        if self._rest_s <= 0:
            return
        if await self._final_within(self._rest_s):
            return
        # What the last fetch set off (painting, above all) is done by now, and its cost is known.
        spent_s = time.thread_time() - self._spent_s
        await self._final_within(min(_LONGEST_REST_S, spent_s / _SHARE) - self._rest_s)

    async def _final_within(self, seconds: float) -> bool:
        if seconds <= 0:
            return False
        try:
            async with asyncio.timeout(seconds):
                await self._final_arrived.wait()
        except TimeoutError:
            return False
        return True

    def _wake_for_final(self) -> None:
        self._arrived.set()
        self._final_arrived.set()

    def _add(self, event: EngineEvent) -> None:
        if isinstance(event, TextDelta):
            self._add_text(event)
            return
        if isinstance(event, _LATEST_ONLY):
            self._pending = [item for item in self._pending if type(item) is not type(event)]
        self._pending.append(event)

    def _add_text(self, event: TextDelta) -> None:
        """Grow the last text if it is of the same channel and source; counters that came after it stay behind it."""
        last = next((item for item in reversed(self._pending) if isinstance(item, _Text)), None)
        if last is not None and last.channel == event.channel and last.drafted == event.drafted:
            last.parts.append(event.text)
        else:
            self._pending.append(_Text(event))


class _Text:
    """Text of one channel and source that is still growing; parts are joined once, when it is fetched."""

    __slots__ = ("channel", "drafted", "parts")

    def __init__(self, first: TextDelta) -> None:
        self.channel = first.channel
        self.drafted = first.drafted
        self.parts = [first.text]

    def event(self) -> TextDelta:
        return TextDelta("".join(self.parts), self.channel, self.drafted)
