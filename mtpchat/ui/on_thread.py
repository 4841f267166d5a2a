"""Work that may take long or for ever, away from the screen: a disk that does not answer, a file made to be slow.

A daemon thread for each piece of work: the threads of asyncio's own pool are waited for when the program ends.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import TypeVar

from mtpchat.errors import MtpChatError

T = TypeVar("T")


async def on_thread(work: Callable[[], T]) -> T:
    """What `work` gives. Whoever is cancelled while waiting leaves it behind.

    Raises:
        MtpChatError: as `work` does.
        RuntimeError: it broke in a way that nobody has foreseen; the thread says how.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def settle(outcome: Callable[[], None]) -> None:
        try:
            loop.call_soon_threadsafe(lambda: None if done.done() else outcome())
        except RuntimeError:  # the loop has ended meanwhile: nobody waits any more
            return

    def run() -> None:
        error: Exception = RuntimeError("Work on a thread broke.")
        try:
            result = work()
        except MtpChatError as expected:
            error = expected
        else:
            settle(lambda: done.set_result(result))
            return
        finally:
            settle(lambda: done.set_exception(error))

    threading.Thread(target=run, name="mtpchat-files", daemon=True).start()
    return await done
