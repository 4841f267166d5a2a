"""Opening a file of chats, however large: its bytes are looked at where they lie on the disk."""

from __future__ import annotations

import mmap
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mtpchat.errors import ExchangeError
from mtpchat.exchange.elements import Data


@contextmanager
def opened(path: Path) -> Iterator[Data]:
    """The bytes of a file. Raises ExchangeError when it is none, or may not be read."""
    try:
        # A pipe without a writer would be waited for.
        number = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else str(error)
        raise ExchangeError(f"it cannot be read: {reason}", path=path, hint="Is the name right?") from error
    with os.fdopen(number, "rb") as file:
        status = os.fstat(number)
        if not stat.S_ISREG(status.st_mode):
            raise ExchangeError("it is no ordinary file", path=path, hint="Name a file that holds chats.")
        if not status.st_size:
            raise ExchangeError("it is empty", path=path, hint="Was it fetched completely?")
        try:
            data: Data = mmap.mmap(number, 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError):  # some file systems map nothing
            data = file.read()
        try:
            yield data
        finally:
            if isinstance(data, mmap.mmap):
                data.close()
