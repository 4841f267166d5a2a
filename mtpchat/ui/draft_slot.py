"""The file for what is unsent of a chat that has not begun: each window has its own, and finds what a dead one left.

Files are `new.json`, `new-2.json`, and so on. A lock beside each says that its window is there; one that is gone,
closed or killed, has let go of it, and whoever takes the lock next has taken over the draft.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from mtpchat.errors import StorageError
from mtpchat.file_lock import lock
from mtpchat.paths import ensure_dir

_FIRST = "new"
_MOST = 20
"""More windows than that share the first file."""


class DraftSlot:
    """One window's name for that file, found when it is first needed.

    Args:
        folder: where drafts are.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._name = ""
        self._descriptor: int | None = None

    @property
    def name(self) -> str:
        """The name of this window's file; "" before it was needed."""
        return self._name

    def take_over(self) -> str:
        """The name, if there is a draft that nobody else has, the latest; "" otherwise. Nothing is created for that."""
        if not self._name:
            self._take(self._left())
        return self._name

    def begin(self) -> str:
        """The name, of a file that does not exist yet where this window has none."""
        if not self._name:
            left = self._left()
            self._take([name for name in _names() if name not in left] + left[::-1])
        if not self._name:  # no locks are to be had, or there are too many windows
            self._name = _FIRST
        return self._name

    def release(self) -> None:
        """Let the next window have what is left."""
        name, self._name = self._name, ""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is None:
            return
        # While it is locked: nobody else can have locked the file that goes.
        with contextlib.suppress(OSError):
            self._lock_of(name).unlink()
        os.close(descriptor)

    def _take(self, names: list[str]) -> None:
        for name in names:
            descriptor = self._locked(self._lock_of(name))
            if descriptor is not None:
                self._name, self._descriptor = name, descriptor
                return

    def _left(self) -> list[str]:
        """Names of drafts that there are, the latest first."""
        found: list[tuple[float, str]] = []
        for name in _names():
            with contextlib.suppress(OSError):  # there is none
                found.append((-(self._folder / f"{name}.json").stat().st_mtime, name))
        return [name for _age, name in sorted(found)]

    def _lock_of(self, name: str) -> Path:
        return self._folder / f".{name}.lock"

    @staticmethod
    def _locked(path: Path) -> int | None:
        """A descriptor that holds the lock; None when somebody else does, or there can be none."""
        try:
            ensure_dir(path.parent)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        except (OSError, StorageError):
            return None
        if lock(descriptor) and _is_at(descriptor, path):
            return descriptor
        os.close(descriptor)
        return None


def _names() -> Iterator[str]:
    yield _FIRST
    yield from (f"{_FIRST}-{number}" for number in range(2, _MOST + 1))


def _is_at(descriptor: int, path: Path) -> bool:
    """Whether the file is still the one of that name: whoever had it may have removed it in between."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except OSError:
        return False
