"""What was found out about model files with this version of the library, kept for the next start."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TypeVar

import msgspec

from mtpchat import __version__
from mtpchat.backend.llama.logs import LlamaLog
from mtpchat.errors import ModelUnreadable, StorageError
from mtpchat.paths import cache_dir, write_atomically

_MOST = 200

V = TypeVar("V", str, float)


def key_of(files: Sequence[Path], *circumstances: str | int) -> str:
    """Names these files as they are now, this version of the library and of the program, and the circumstances.

    Raises ModelUnreadable for a file that is gone.
    """
    try:
        stats = [(str(path.absolute()), path.stat().st_size, path.stat().st_mtime_ns) for path in files]
    except OSError as error:
        raise ModelUnreadable(f"{error.filename} cannot be read: {error.strerror or error}.") from error
    named = json.dumps([stats, *circumstances, version("llama-cpp-python"), __version__])
    return hashlib.sha256(named.encode()).hexdigest()


def recall(name: str, kind: type[V]) -> dict[str, V]:
    """What is kept under a name. A file that cannot be read is as good as none."""
    try:
        return msgspec.json.decode((cache_dir() / name).read_bytes(), type=dict[str, kind])  # type: ignore[valid-type]
    except (OSError, ValueError, RecursionError):  # msgspec's errors are ValueErrors
        return {}


def keep(name: str, entries: Mapping[str, V], log: LlamaLog) -> None:
    """Keep the newest entries; where that is impossible the log says so."""
    newest = dict(list(entries.items())[-_MOST:])
    try:
        write_atomically(cache_dir() / name, json.dumps(newest, indent=0))
    except StorageError as error:
        log.note(f"mtpchat: {name} is not kept: {error.message}")
