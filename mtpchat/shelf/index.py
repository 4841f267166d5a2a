"""Remembers what was read from model files, by path, size and time of change, in one file of the cache folder.

A file that has not changed is not opened again. Whatever is wrong with the memory, things are read anew.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from mtpchat.errors import StorageError
from mtpchat.gguf.pairing import PairReport
from mtpchat.paths import cache_dir, write_atomically
from mtpchat.shelf.record import FileRecord, read_record

_log = logging.getLogger(__name__)

_VERSION = 1
_MOST_FILES, _MOST_PAIRS = 5_000, 2_000
_MOST_BYTES = 32 << 20
"""A larger file was not written by this program."""


class _Entry(msgspec.Struct, frozen=True, array_like=True):
    size: int
    changed_ns: int
    record: FileRecord


class _Pair(msgspec.Struct, frozen=True, array_like=True):
    """A verdict about two files as they were then."""

    stamps: tuple[int, int, int, int]
    verdict: PairVerdict


class PairVerdict(msgspec.Struct, frozen=True, omit_defaults=True):
    """Whether a drafter fits a model.

    Attributes:
        kind: how it would draft: "mtp", "eagle3" or "draft"; "" when it is refused.
        refusal: the fact that speaks against it, or "".
        doubts: what is odd about the pair although it can be loaded.
        advice: what would work better.
    """

    kind: str = ""
    refusal: str = ""
    doubts: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()


class _Book(msgspec.Struct):
    version: int = _VERSION
    files: dict[str, _Entry] = {}
    pairs: dict[str, _Pair] = {}


@dataclass(slots=True)
class Index:
    """The memory. Used by one thread at a time; several programs may share its file.

    Attributes:
        path: its file.
        read: reads a file that is not known yet.
    """

    path: Path = field(default_factory=lambda: cache_dir() / "shelf.json")
    read: Callable[[Path], FileRecord] = read_record
    _book: _Book | None = None
    _changed: bool = False

    def record(self, path: Path) -> FileRecord:
        """What a file is; read only if it is new or has changed."""
        key, stamp = _key(path), _stamp(path)
        known = self._opened.files.get(key) if key else None
        if known is not None and stamp == (known.size, known.changed_ns) and _is_whole(path, known.record):
            return known.record
        record = self.read(path)
        # What is wrong with a split model may be put right in another file than this one.
        if key and stamp is not None and not (record.trouble and _is_split(path)):
            self._opened.files[key] = _Entry(*stamp, record)
            self._changed = True
        return record

    def knows(self, path: Path) -> bool:
        """Whether `record` would not have to open the file."""
        known, stamp = self._opened.files.get(_key(path)), _stamp(path)
        return known is not None and stamp == (known.size, known.changed_ns)

    def known_files(self) -> Iterator[tuple[Path, FileRecord]]:
        """Files that were read at some time and are still there, unchanged."""
        for key, entry in list(self._opened.files.items()):
            path = Path(key)
            if _stamp(path) == (entry.size, entry.changed_ns):
                yield path, entry.record

    def verdict(self, main: Path, drafter: Path, judge: Callable[[], PairVerdict]) -> PairVerdict:
        """What is known about a pair; else what `judge` says now."""
        first, second = _stamp(main), _stamp(drafter)
        keys = _key(main), _key(drafter)
        if first is None or second is None or not all(keys):
            return judge()
        key, stamps = "\0".join(keys), (*first, *second)
        known = self._opened.pairs.get(key)
        if known is not None and known.stamps == stamps:
            return known.verdict
        verdict = judge()
        self._opened.pairs[key] = _Pair(stamps, verdict)
        self._changed = True
        return verdict

    def save(self) -> None:
        """Keep what is new. Where that is impossible, the log says so and nothing is lost but time."""
        if not self._changed:
            return
        theirs, ours = self._load(), self._opened  # what others have found out meanwhile stays
        files = dict(list({**theirs.files, **ours.files}.items())[-_MOST_FILES:])
        pairs = dict(list({**theirs.pairs, **ours.pairs}.items())[-_MOST_PAIRS:])
        try:
            write_atomically(self.path, msgspec.json.encode(_Book(_VERSION, files, pairs)).decode())
            self._changed = False
        except StorageError as error:
            _log.info("the index of model files is not kept: %s", error)

    @property
    def _opened(self) -> _Book:
        if self._book is None:
            self._book = self._load()
        return self._book

    def _load(self) -> _Book:
        try:
            if self.path.stat().st_size > _MOST_BYTES:
                return _Book()
            book = msgspec.json.decode(self.path.read_bytes(), type=_Book)
        except (OSError, msgspec.MsgspecError, ValueError, RecursionError):
            return _Book()
        return book if book.version == _VERSION else _Book()


def verdict_of(report: PairReport) -> PairVerdict:
    """A favourable verdict."""
    return PairVerdict(report.kind, "", report.doubts, report.advice)


def _key(path: Path) -> str:
    """The path as text; "" for one that is no Unicode and cannot be kept."""
    text = str(path.absolute())
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return ""
    return text


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        info = os.stat(path)
    except (OSError, ValueError):
        return None
    return info.st_size, info.st_mtime_ns


def _is_split(path: Path) -> bool:
    return "-of-" in path.name


def _is_whole(path: Path, record: FileRecord) -> bool:
    """Whether all parts of a split model are still there."""
    if record.parts < 2:
        return True
    tail = f"-of-{record.parts:05d}.gguf"
    head = path.name[: -len(tail) - 5]
    return all(os.path.exists(path.with_name(f"{head}{part:05d}{tail}")) for part in range(2, record.parts + 1))
