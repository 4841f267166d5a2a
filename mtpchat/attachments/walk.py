"""What files there are to attach: a folder with all below it, as a person would look through it.

Left out: what is hidden, what .gitignore names, folders that programs fill, links to folders, and kinds of files that
are no text. Folders are looked through level by level, so that a walk that ends early has seen what is near.
"""

from __future__ import annotations

import os
import re
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from mtpchat.attachments.ignoring import Ignoring

MOST_FILES = 10_000
MOST_S = 3.0
_HUGE_FOLDER = 4_000
_FILLED = frozenset({"node_modules", "__pycache__", "site-packages", "venv", "env", "target", "vendor"})
_KERNELS = frozenset({"/proc", "/sys", "/dev", "/run"})
_NO_TEXT = re.compile(
    r"\.("
    r"png|jpg|jpeg|gif|webp|bmp|ico|tif|tiff|heic|mp3|wav|ogg|flac|m4a|mp4|mkv|mov|avi|webm|zip|gz|bz2|xz|zst"
    r"|7z|tar|tgz|rar|jar|whl|gguf|safetensors|bin|pt|pth|onnx|npy|npz|so|o|a|dll|dylib|exe|class|pyc|pyd|wasm"
    r"|db|sqlite|sqlite3|ttf|otf|woff|woff2|docx|xlsx|pptx|odt|iso|deb|rpm|dmg|img|parquet|pkl"
    r")$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Entry:
    """A file or folder. `path` is relative to the folder that was looked through, with /; a folder's ends in one."""

    path: str
    size: int = 0

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder."""
        return self.path.endswith("/")


@dataclass(frozen=True, slots=True)
class Listing:
    """What was found. `complete` is False when there is more than was looked at."""

    entries: tuple[Entry, ...] = ()
    complete: bool = True

    def below(self, folder: str) -> tuple[Entry, ...]:
        """The files in a folder, named by its path with / at its end, and in those within it."""
        return tuple(one for one in self.entries if one.path.startswith(folder) and not one.is_folder)


def walk(
    root: Path,
    *,
    most_files: int = MOST_FILES,
    most_s: float = MOST_S,
    clock: Callable[[], float] = time.monotonic,
    cancelled: Callable[[], bool] = lambda: False,
) -> Listing:
    """Everything below `root` that could be attached. Folders that cannot be read are passed over."""
    until = clock() + most_s
    found: list[Entry] = []
    waiting = deque([("", Ignoring.above(root))])
    while waiting:
        folder, ignoring = waiting.popleft()
        if clock() > until or cancelled():
            return Listing(tuple(found), complete=False)
        ignoring = ignoring.within(root / folder, folder)
        for entry in _entries(root / folder, _HUGE_FOLDER + 1 if folder else most_files + 1):
            one = _entry(entry, folder, ignoring)
            if one is None:
                continue
            if len(found) >= most_files:
                return Listing(tuple(found), complete=False)
            found.append(one)
            if one.is_folder:
                waiting.append((one.path, ignoring))
    return Listing(tuple(found))


def list_folder(folder: Path, *, hidden: bool = False) -> Listing:
    """One folder, without what lies deeper; hidden files on request."""
    listed = (_entry(entry, "", None, hidden=hidden) for entry in _entries(folder, MOST_FILES))
    return Listing(tuple(one for one in listed if one is not None))


def _entry(entry: os.DirEntry[str], folder: str, ignoring: Ignoring | None, *, hidden: bool = False) -> Entry | None:
    name = entry.name
    if (name.startswith(".") and not hidden) or not _can_be_written(name):
        return None
    path = folder + name
    try:
        if entry.is_dir(follow_symlinks=ignoring is None):
            wanted = ignoring is None or (name not in _FILLED and entry.path not in _KERNELS)
            return Entry(path + "/") if wanted and not (ignoring and ignoring.leaves_out(path + "/")) else None
        if _NO_TEXT.search(name) or not entry.is_file():
            return None
        if ignoring is not None and ignoring.leaves_out(path):
            return None
        return Entry(path, entry.stat().st_size)
    except OSError:
        return None  # a dangling link, a circle of links, or gone meanwhile: nothing to offer


def _can_be_written(name: str) -> bool:
    """Names with line ends, or with bytes that are no text, cannot be typed."""
    return name.isprintable() and name.encode("utf-8", "ignore").decode("utf-8") == name


def _entries(folder: Path, most: int) -> Iterator[os.DirEntry[str]]:
    """What lies in a folder, by name; nothing when it cannot be listed, or is larger than anyone would look through."""
    try:
        with os.scandir(folder) as scan:
            entries = list(islice(scan, most))
    except (OSError, ValueError):
        return
    if len(entries) > _HUGE_FOLDER and most == _HUGE_FOLDER + 1:
        return
    yield from sorted(entries, key=lambda entry: entry.name)
