"""Waiting until an app has nothing left to do, by asking its event loop.

Textual's pilot naps for a fiftieth of a second, two or three times for each key, and takes the app for idle when the
process used little of the processor meanwhile. That is slow, and wrong on a busy machine, which gives a process little
time whatever it has to do. Here everything that is ready is run, and what is due for the screen is laid out and
painted, until nothing is left; the nap is short and only lets threads and files answer.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque

import pytest
from textual._context import active_app
from textual.screen import Screen

FILES = "mtpchat-files"
"""Name of the threads that look at files."""
NAP_S = 0.002
NAP_FOR_THREADS_S = 0.05
"""How long work on threads is waited for. Who needs more waits for what comes of it."""


async def wait_for_idle(min_sleep: float = 0.0, max_sleep: float = 1.0) -> None:
    """Takes the place of Textual's function of that name; seconds."""
    loop = asyncio.get_running_loop()
    begun = loop.time()
    while True:
        await _run_what_is_ready(begun + max_sleep)
        await asyncio.sleep(NAP_S)
        waited = loop.time() - begun
        if waited >= max_sleep:
            return
        busy = _ready(loop) or _due() is not None or (waited < NAP_FOR_THREADS_S and _thread_works())
        if not busy and waited >= min_sleep:
            return


async def _run_what_is_ready(until: float) -> None:
    loop = asyncio.get_running_loop()
    while loop.time() < until:
        await asyncio.sleep(0)
        if _ready(loop):
            continue
        screen = _due()
        if screen is None:
            return
        screen._on_timer_update()


def _ready(loop: asyncio.AbstractEventLoop) -> bool:
    """Whether callbacks wait for their turn. asyncio has no public word for that."""
    waiting: deque[object] = loop._ready  # type: ignore[attr-defined]
    return bool(waiting)


def _due() -> Screen[object] | None:
    """The screen, when it would lay out or paint something in a moment."""
    app = active_app.get(None)
    if app is None or not app._screen_stack:
        return None
    screen = app.screen
    return screen if screen.is_running and screen._update_timer._active.is_set() else None


def _thread_works() -> bool:
    return any(thread.name == FILES for thread in threading.enumerate())


def use(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let pilots wait in this way."""
    for module in ("textual.app", "textual.pilot"):
        monkeypatch.setattr(f"{module}.wait_for_idle", wait_for_idle)
