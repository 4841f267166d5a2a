"""Walks through a model file without trusting it: every step is checked against the size of the file first."""

from __future__ import annotations

import stat
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from mtpchat.errors import ModelNotFound, ModelUnreadable

MAX_ALL_TEXT = 64 << 20
"""Bytes of text that are ever held together; the longest chat templates have a hundred thousand."""
CHUNK = 1 << 20
_U64 = struct.Struct("<Q")
_AGAIN = "Download it again; a partial download can often be resumed."


def human_size(size: int) -> str:
    """Bytes for people: 812 bytes, 4.6 GB."""
    if size < 1000:
        return f"{size} bytes"
    scaled = float(size)
    for unit in ("kB", "MB", "GB", "TB", "PB"):
        scaled /= 1000
        if scaled < 999.95:
            return f"{scaled:.1f} {unit}"
    return f"{scaled:.0f} PB"


def quoted(text: str) -> str:
    """A name out of a file as it may stand in a message: short, and with everything escaped that is no plain text."""
    return repr(text if len(text) <= 60 else text[:57] + "...")


def open_model(path: Path) -> BinaryIO:
    """Open an ordinary file for reading. Raises ModelNotFound or ModelUnreadable."""
    name = path.name or str(path)
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise ModelUnreadable(f"{name} is a folder, not a model file.", hint="Name a .gguf file inside it.")
        # Opening a pipe would wait for somebody to write to it.
        if not stat.S_ISREG(mode):
            raise ModelUnreadable(f"{name} is not an ordinary file.", hint="Name a .gguf file.")
        return path.open("rb")
    except (FileNotFoundError, NotADirectoryError, ValueError) as error:
        raise ModelNotFound(f"There is no file {path}.", hint="Check the path; ~ and .. are allowed.") from error
    except PermissionError as error:
        raise ModelUnreadable(f"{name} may not be read.", hint="Check the permissions of the file.") from error
    except OSError as error:
        raise ModelUnreadable(
            f"{name} cannot be opened: {error.strerror}.", hint="Check the path and the disk."
        ) from error


class Cursor:
    """Walks forward through a file with one window of it in memory; every step is checked against the file's size."""

    def __init__(self, file: BinaryIO, path: Path, size: int, start: int) -> None:
        self._file = file
        self.path = path
        self.size = size
        self._base = start
        self._window = b""
        self._at = 0

    @property
    def position(self) -> int:
        """Bytes from the start of the file."""
        return self._base + self._at

    @property
    def left(self) -> int:
        return self.size - self.position

    def broken(self, what: str, hint: str = _AGAIN) -> ModelUnreadable:
        """The error to raise about this file."""
        return ModelUnreadable(f"{self.path.name} {what}.", hint=hint)

    def cut_off(self) -> ModelUnreadable:
        return self.broken(f"ends inside its header after {human_size(self.size)}: the download is incomplete")

    def peek(self, count: int) -> bytes:
        """The next `count` bytes, which stay the next."""
        self._reach(count)
        return self._window[self._at : self._at + count]

    def take(self, count: int) -> bytes:
        """The next `count` bytes."""
        piece = self.peek(count)
        self._at += count
        return piece

    def number(self, layout: struct.Struct) -> int:
        """The next integer."""
        self._reach(layout.size)
        value: int = layout.unpack_from(self._window, self._at)[0]
        self._at += layout.size
        return value

    def blob(self, limit: int, what: str) -> bytes:
        """The next string, not decoded."""
        length = self.number(_U64)
        if length > self.left:
            raise self.cut_off()
        if length > limit:
            raise self.broken(f"is damaged: {quoted(what)} claims a text of {human_size(length)}")
        return self.take(length)

    def blobs(self, count: int, what: str) -> Iterator[bytes]:
        """The next `count` strings, as long as they are not more than memory should hold."""
        budget = MAX_ALL_TEXT
        for _ in range(count):
            piece = self.blob(budget, what)
            budget -= len(piece)
            yield piece

    def pieces(self, count: int) -> Iterator[bytes]:
        """The next `count` bytes in pieces that fit into the window."""
        while count:
            piece = self.take(min(count, CHUNK))
            count -= len(piece)
            yield piece

    def text(self, limit: int, what: str) -> str:
        return self.blob(limit, what).decode("utf-8", errors="replace")

    def skip(self, count: int) -> None:
        if count > self.left:
            raise self.cut_off()
        self._at += count

    def skip_strings(self, count: int) -> None:
        """Step over `count` strings: the hot loop, a vocabulary and its merges are half a million of them."""
        if count * 8 > self.left:
            raise self.cut_off()
        unpack = _U64.unpack_from
        for _ in range(count):
            if self._at + 8 > len(self._window):
                self._reach(8)
            self._at += 8 + unpack(self._window, self._at)[0]
        if self.left < 0:
            raise self.cut_off()

    def _reach(self, count: int) -> None:
        """Have the next `count` bytes in the window."""
        if self._at + count <= len(self._window):
            return
        if count > self.left:
            raise self.cut_off()
        start = self.position
        try:
            self._file.seek(start)
            window = self._file.read(max(count, min(CHUNK, self.left)))
        except OSError as error:
            raise self.broken(f"cannot be read: {error.strerror}", "Check the disk.") from error
        if len(window) < count:
            raise self.broken("changed while it was read", "Try again when nothing writes to it.")
        self._base, self._at, self._window = start, 0, window
