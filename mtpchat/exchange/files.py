"""Opening a file of chats, however large: its bytes are looked at where they lie on the disk."""

from __future__ import annotations

import mmap
import os
import re
import stat
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from mtpchat.errors import ExchangeError
from mtpchat.exchange.elements import Data

_ZIP = b"PK\x03\x04"
_CHATS = re.compile(r"conversations.{0,20}\.json")
_MOST_UNPACKED = 4 << 30
_PIECE = 1 << 20


@contextmanager
def opened(path: Path) -> Iterator[Data]:
    """The bytes of a file, or of the chats in an archive of ChatGPT.

    Raises:
        ExchangeError: it is no file, or may not be read, or the archive has no chats.
    """
    try:
        # A pipe without a writer would be waited for.
        number = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else str(error)
        raise ExchangeError(f"it cannot be read: {reason}", path=path, hint="Is the name right?") from error
    status = os.fstat(number)
    if not stat.S_ISREG(status.st_mode):
        os.close(number)
        raise ExchangeError("it is no ordinary file", path=path, hint="Name a file that holds chats.")
    with os.fdopen(number, "rb") as file:
        if not status.st_size:
            raise ExchangeError("it is empty", path=path, hint="Was it fetched completely?")
        if file.read(len(_ZIP)) == _ZIP:
            with tempfile.TemporaryFile() as unpacked:
                _unpack(file, unpacked, path)
                with _mapped(unpacked) as data:
                    yield data
        else:
            with _mapped(file) as data:
                yield data


@contextmanager
def _mapped(file: IO[bytes]) -> Iterator[Data]:
    try:
        data: Data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError):  # some file systems map nothing
        file.seek(0)
        data = file.read()
    try:
        yield data
    finally:
        if isinstance(data, mmap.mmap):
            with suppress(BufferError):  # somebody who was told to stop still looks at it, and lets go of it then
                data.close()


def _unpack(archive: IO[bytes], into: IO[bytes], path: Path) -> None:
    """Put the chats of an archive, as services send them, behind one another. Raises ExchangeError."""
    room = _MOST_UNPACKED
    try:
        with zipfile.ZipFile(archive) as packed:
            names = sorted(name for name in packed.namelist() if _CHATS.fullmatch(name.rpartition("/")[2]))
            for name in names:
                with packed.open(name) as member:
                    while piece := member.read(_PIECE):
                        room -= len(piece)
                        if room < 0:
                            raise ExchangeError("what is in that archive is too large", path=path, hint="Unpack it.")
                        into.write(piece)
            into.flush()
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, OSError, ValueError) as error:
        raise ExchangeError(f"the archive cannot be unpacked: {error}", path=path, hint="Unpack it.") from error
    if room == _MOST_UNPACKED:
        raise ExchangeError("there is no conversations.json in that archive", path=path, hint="Unpack it.")
