"""Looks for model files in folders of any size and shape without getting lost in them.

Depth, number of entries and time are bounded; links are followed, but no folder is entered twice; what cannot be read
is noted and passed by.
"""

from __future__ import annotations

import os
import stat
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

SUFFIX = ".gguf"


def _never() -> bool:
    return False


@dataclass(slots=True)
class Walk:
    """One search over any number of folders, which share its bounds.

    Attributes:
        depth: folders below the first that are entered.
        entries: files and folders that are looked at.
        seconds: how long it may take.
        stopped: polled; True ends the search.
        remarks: what was left out, in sentences.
    """

    depth: int = 6
    entries: int = 50_000
    seconds: float = 20.0
    clock: Callable[[], float] = time.monotonic
    stopped: Callable[[], bool] = _never
    remarks: list[str] = field(default_factory=list)
    _looked: int = 0
    _ends: float | None = None
    _seen: set[tuple[int, int]] = field(default_factory=set)
    _gave_up: bool = False

    def files(self, root: Path, *, depth: int | None = None) -> Iterator[Path]:
        """Model files below `root`, folder by folder, in the order of their names."""
        queue: deque[tuple[Path, int]] = deque([(root, 0)])
        while queue:
            folder, level = queue.popleft()
            for entry in self.listed(folder):
                if entry.name.casefold().endswith(SUFFIX) and _is_file(entry):
                    yield Path(entry.path)
                elif level < (self.depth if depth is None else depth) and _is_open_folder(entry):
                    queue.append((Path(entry.path), level + 1))

    def listed(self, folder: Path) -> list[os.DirEntry[str]]:
        """What lies in a folder, by name; nothing when it is not there, was listed before, or a bound is reached."""
        if self.over or not self._first_time(folder):
            return []
        found: list[os.DirEntry[str]] = []
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    self._looked += 1
                    if self.over:
                        break
                    found.append(entry)
        except (FileNotFoundError, NotADirectoryError, ValueError):
            return []
        except OSError as error:
            self.remarks.append(f"{folder} cannot be read: {error.strerror or error}")
        return sorted(found, key=lambda entry: entry.name)

    def again(self, folder: Path) -> Iterator[Path]:
        """Model files right in a folder that may have been listed before."""
        number = identity_of_folder(folder)
        if number is not None:
            self._seen.discard(number)
        return self.files(folder, depth=0)

    @property
    def over(self) -> bool:
        """Whether a bound is reached."""
        if self._gave_up:
            return True
        now = self.clock()
        self._ends = now + self.seconds if self._ends is None else self._ends
        why = (
            f"after {self.entries:,} entries"
            if self._looked > self.entries
            else f"after {self.seconds:g} s"
            if now > self._ends
            else ""
        )
        if why:
            self.remarks.append(f"The search was given up {why}; name folders of models under [paths] models.")
        self._gave_up = bool(why) or self.stopped()
        return self._gave_up

    def _first_time(self, folder: Path) -> bool:
        number = identity_of_folder(folder)
        if number is None:
            return True  # listing it says what is wrong
        if number in self._seen:
            return False
        self._seen.add(number)
        return True


def identity_of_folder(folder: Path) -> tuple[int, int] | None:
    """What two paths to one folder have in common; None when it cannot be told."""
    try:
        info = os.stat(folder)
    except (OSError, ValueError):
        return None
    return info.st_dev, info.st_ino


def identity(path: Path) -> tuple[int, int] | None:
    """What two paths to one ordinary file have in common; None when it is none."""
    try:
        info = os.stat(path)
    except (OSError, ValueError):
        return None
    return (info.st_dev, info.st_ino) if stat.S_ISREG(info.st_mode) else None


def _is_file(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file()
    except OSError:
        return False  # a link in a circle


def _is_open_folder(entry: os.DirEntry[str]) -> bool:
    if entry.name.startswith("."):
        return False
    try:
        return entry.is_dir()
    except OSError:
        return False
