"""What could not be written into the file of chats until the program ended, kept in a small file until it can be."""

from __future__ import annotations

import json
import logging
import secrets
import tempfile
import time
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import platformdirs

from mtpchat.chats import Change, TurnBegun, TurnEnded
from mtpchat.errors import StorageError
from mtpchat.paths import APP, write_atomically

_log = logging.getLogger(__name__)


def keep(changes: Sequence[Change], chats: Path) -> Path | None:
    """Write changes where there is room: beside the file of chats, in the user's folder of state, or for want of both
    in the folder of temporary files. None if none of them takes it.
    """
    text = b"".join(_encoded(change) + b"\n" for change in _said_once(changes))
    stamp = f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(3)}.jsonl"
    for folder, name in (*_places(chats), (Path(tempfile.gettempdir()), f"mtpchat-{chats.name}.unsaved-")):
        try:
            write_atomically(folder / (name + stamp), text)
            return folder / (name + stamp)
        except StorageError as error:
            _log.warning("unsaved chats: %s", error)
    return None


def _encoded(change: Change) -> bytes:
    """A change as a line; half of a surrogate pair, which a paste can bring along, becomes a question mark."""
    try:
        return msgspec.json.encode(change)
    except UnicodeEncodeError:
        plain = json.dumps(msgspec.to_builtins(change), ensure_ascii=False)
        return plain.encode("utf-8", "replace")


def _said_once(changes: Sequence[Change]) -> Iterator[Change]:
    """The changes, in which messages that an earlier one brings are left out: room may be scarce."""
    brought: set[str] = set()
    for change in changes:
        match change:
            case TurnBegun():
                yield _without(change, brought)
            case TurnEnded(begun=begun, message=message):
                yield msgspec.structs.replace(change, begun=_without(begun, brought))
                brought.update([message.id] if message is not None else [])
            case _:
                yield change


def _without(begun: TurnBegun, brought: set[str]) -> TurnBegun:
    """The last message stays: the answer hangs on it."""
    path = (*(said for said in begun.path[:-1] if said.id not in brought), *begun.path[-1:])
    brought.update(said.id for said in begun.path)
    return msgspec.structs.replace(begun, path=path)


def waiting(chats: Path) -> list[Path]:
    """Files of earlier runs, the oldest first."""
    found = [path for folder, name in _places(chats) if folder.is_dir() for path in folder.iterdir() if _is(path, name)]
    return sorted(found, key=lambda path: path.name[-len("20000101-000000-123456.jsonl") :])


def read(path: Path) -> tuple[list[Change], bool]:
    """The changes of a file, and whether that is all of it. Raises OSError."""
    changes: list[Change] = []
    damaged, reason = 0, ""
    for line in path.read_bytes().splitlines():
        try:
            changes.append(msgspec.json.decode(line, type=Change))
        except (msgspec.DecodeError, ValueError, RecursionError) as error:
            damaged, reason = damaged + 1, str(error)
    if damaged:
        _log.warning("%s: %d lines cannot be read: %s", path, damaged, reason)
    return changes, not damaged


def _places(chats: Path) -> tuple[tuple[Path, str], ...]:
    """(folder, beginning of the name): beside the file of chats, and where it lies cannot be written, by its path."""
    state = platformdirs.user_state_path(APP, appauthor=False)
    return (chats.parent, f"{chats.name}.unsaved-"), (state, f"unsaved-{zlib.crc32(bytes(chats.absolute())):08x}-")


def _is(path: Path, name: str) -> bool:
    return path.name.startswith(name) and path.suffix == ".jsonl"
