"""What was learnt earlier about a machine and a pair of models, so that a chat does not begin from guesses.

Costs are kept per model, drafter, machine, threads, GPU layers, library and length of the context; acceptance per
model, drafter and temperature. Plain data in one small JSON file of the cache folder. Whatever is wrong with that file,
the chat begins without it; what is learnt counts as a few samples, so that a changed machine is noticed soon.
"""

from __future__ import annotations

import hashlib
import logging
import os
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta

from mtpchat.errors import StorageError
from mtpchat.paths import write_atomically
from mtpchat.speculate.acceptance import AcceptanceRecord
from mtpchat.speculate.calibration import Calibration
from mtpchat.speculate.costs import Costs

_log = logging.getLogger(__name__)

MOST_ENTRIES = 64
"""Entries of each kind that are kept, the latest first."""
MOST_BYTES = 512 * 1024
"""A larger file was not written by this program."""
SAVE_EVERY_S = 30.0
_CONTEXTS = (2048, 8192, 32768)

Seconds = Annotated[float, Meta(gt=0.0, lt=1e4)]


class _CostEntry(msgspec.Struct, frozen=True):
    at: float
    widths: dict[Annotated[int, Meta(ge=1, le=65)], Seconds]
    guesses: dict[str, tuple[Seconds, Seconds]]


class _AcceptanceEntry(msgspec.Struct, frozen=True):
    at: float
    sources: dict[str, AcceptanceRecord]


class _Book(msgspec.Struct):
    version: Annotated[int, Meta(ge=1, le=1)] = 1
    costs: dict[str, _CostEntry] = {}
    acceptance: dict[str, _AcceptanceEntry] = {}


_Entry = TypeVar("_Entry", _CostEntry, _AcceptanceEntry)


@dataclass(frozen=True, slots=True)
class Setup:
    """What the measurements hang on.

    Attributes:
        model / drafter: fingerprints, see `fingerprint`; "" for none.
        threads / gpu_layers: as set.
    """

    model: str
    drafter: str
    threads: int
    gpu_layers: int

    def costs_key(self, context: int) -> str:
        """Key of the costs at a context of so many tokens."""
        bucket = sum(context >= limit for limit in _CONTEXTS)
        return _digest(self.model, self.drafter, _machine(), self.threads, self.gpu_layers, bucket)

    def acceptance_key(self, bucket: int) -> str:
        """Key of the acceptance at a bucket of temperatures, see `temperature_bucket`."""
        return _digest(self.model, self.drafter, "t", bucket)


def fingerprint(path: str) -> str:
    """What tells a file from another one without reading it: path, size and time of change; "" for no file."""
    if not path:
        return ""
    try:
        facts = os.stat(path)
    except OSError as error:
        _log.debug("no fingerprint of %s: %s", path, error)
        return path
    return f"{os.path.realpath(path)}|{facts.st_size}|{facts.st_mtime_ns}"


def _machine() -> str:
    try:
        library = metadata.version("llama-cpp-python")
    except metadata.PackageNotFoundError:
        library = ""
    return f"{platform.node()}|{platform.machine()}|{os.cpu_count()}|{library}"


def _digest(*parts: object) -> str:
    return hashlib.sha256("\0".join(map(str, parts)).encode("utf-8", "surrogateescape")).hexdigest()[:24]


class Lessons:
    """The file, and what of it concerns the loaded model.

    Args:
        path: where it is.
        now: seconds since the epoch.
    """

    def __init__(self, path: Path, now: Callable[[], float] = time.time) -> None:
        self._path = path
        self._now = now
        self._book: _Book | None = None
        self._saved_at: float | None = None
        self._silent = False

    def recall(self, setup: Setup, costs: Costs, calibration: Calibration) -> bool:
        """Begin with what is known of this setup; False when nothing is."""
        book = self._opened()
        found = next(
            (book.costs[key] for key in (setup.costs_key(size) for size in (0, *_CONTEXTS)) if key in book.costs), None
        )
        if found is not None:
            costs.seed(found.widths, found.guesses)
        records = {
            bucket: book.acceptance[key].sources
            for bucket in range(4)
            if (key := setup.acceptance_key(bucket)) in book.acceptance
        }
        calibration.seed(records)
        return found is not None or bool(records)

    def note(self, setup: Setup, context: int, costs: Costs, calibration: Calibration) -> None:
        """Take what is known now; `save` writes it.

        Args:
            context: tokens in memory.
        """
        book, now = self._opened(), self._now()
        widths = {width: seconds for width, seconds in costs.measured().items() if 0 < seconds < 1e4}
        if costs.plain_age_s is not None and 1 in widths:
            guesses = {kind: pair for kind, pair in costs.guesses().items() if min(pair) > 0 and max(pair) < 1e4}
            _put(book.costs, setup.costs_key(context), _CostEntry(now, widths, guesses))
        for bucket, sources in calibration.records().items():
            if sources:
                _put(book.acceptance, setup.acceptance_key(bucket), _AcceptanceEntry(now, sources))

    def due(self) -> bool:
        """Whether the last save is long enough ago."""
        return self._saved_at is None or self._now() - self._saved_at >= SAVE_EVERY_S

    def save(self) -> None:
        """Write the file in one step. A disk that refuses costs what was learnt, and one line in the log."""
        self._saved_at = self._now()
        if self._book is None:
            return
        try:
            write_atomically(self._path, msgspec.json.encode(self._book).decode("utf-8"))
            self._silent = False
        except StorageError as error:
            if not self._silent:
                _log.warning("what was learnt about speed is not kept: %s", error)
            self._silent = True

    def _opened(self) -> _Book:
        if self._book is None:
            self._book = self._read()
        return self._book

    def _read(self) -> _Book:
        try:
            with open(self._path, "rb") as file:
                data = file.read(MOST_BYTES + 1)
            if len(data) > MOST_BYTES:
                raise ValueError("it is too large")
            return msgspec.json.decode(data, type=_Book)
        except FileNotFoundError:
            return _Book()
        except (OSError, ValueError, RecursionError) as error:  # msgspec's errors and bad UTF-8 are ValueErrors
            _log.warning("%s is not used: %s", self._path, error)
            return _Book()


def _put(entries: dict[str, _Entry], key: str, entry: _Entry) -> None:
    entries[key] = entry
    while len(entries) > MOST_ENTRIES:
        del entries[min(entries, key=lambda one: entries[one].at)]
