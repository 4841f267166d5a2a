"""Work that may take long or for ever, away from the screen: a disk that does not answer, a file made to be slow.

A daemon thread for each piece of work: the threads of asyncio's own pool are waited for when the program ends.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


async def on_thread(work: Callable[[], T]) -> T:
    """What `work` gives or raises. Whoever is cancelled while waiting leaves it behind."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def settle(set_outcome: Callable[[], None]) -> None:
        try:
            loop.call_soon_threadsafe(lambda: None if done.done() else set_outcome())
        except RuntimeError:  # the loop has ended meanwhile: nobody waits any more
            return

    def run() -> None:
        try:
            result = work()
        except Exception as error:  # noqa: BLE001 - handed over to the one who waits
            failed = error
            settle(lambda: done.set_exception(failed))
        else:
            settle(lambda: done.set_result(result))

    threading.Thread(target=run, name="mtpchat-files", daemon=True).start()
    return await done
