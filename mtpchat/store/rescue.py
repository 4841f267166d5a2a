"""What could not be written into the file of chats until the program ended, kept in a small file until it can be.

What is read back is taken for what the user has said. So it must come from the user, or from whoever owns the folder it
is in: in a folder of temporary files anybody may leave something that looks like it.
"""

from __future__ import annotations

import json
import logging
import os
import secrets
import stat
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

_TEMPORARY = "mtpchat-unsaved-"
"""How folders of our own among the temporary files begin."""
_OPEN = os.O_RDONLY | sum(getattr(os, flag, 0) for flag in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"))


def keep(changes: Sequence[Change], chats: Path) -> Path | None:
    """Write changes where there is room: beside the file of chats, in the user's folder of state, or for want of both
    in a folder of our own among the temporary files. None if none of them takes it.
    """
    text = b"".join(_encoded(change) + b"\n" for change in _said_once(changes))
    stamp = f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(3)}.jsonl"
    for folder, name in _places(chats):
        try:
            return _written(folder / (name + stamp), text)
        except StorageError as error:
            _log.warning("unsaved chats: %s", error)
    try:
        own = Path(tempfile.mkdtemp(prefix=_TEMPORARY))
    except OSError as error:
        _log.warning("unsaved chats: %s", error)
        return None
    try:
        return _written(own / (_name_elsewhere(chats) + stamp), text)
    except StorageError as error:
        _log.warning("unsaved chats: %s", error)
        own.rmdir()
        return None


def _written(path: Path, text: bytes) -> Path:
    write_atomically(path, text, keep_previous=False)
    return path


def discard(path: Path) -> None:
    """Remove a file that is no longer needed; none is fine, too. Raises OSError."""
    path.unlink(missing_ok=True)
    if path.parent.name.startswith(_TEMPORARY):
        path.parent.rmdir()


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
    places = [*_places(chats), *((folder, _name_elsewhere(chats)) for folder in _own_among_temporary())]
    found = [path for folder, name in places for path in _listed(folder) if _is(path, name)]
    return sorted(found, key=lambda path: path.name[-len("20000101-000000-123456.jsonl") :])


def read(path: Path) -> tuple[list[Change], bool]:
    """The changes of a file, and whether that is all of it. Raises OSError, also for what is not the user's."""
    changes: list[Change] = []
    damaged, reason = 0, ""
    for line in _own_bytes(path).splitlines():
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
    return (chats.parent, f"{chats.name}.unsaved-"), (state, _name_elsewhere(chats))


def _name_elsewhere(chats: Path) -> str:
    return f"unsaved-{zlib.crc32(bytes(chats.absolute())):08x}-"


def _listed(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:  # there is none, or it may not be read
        return []


def _own_among_temporary() -> list[Path]:
    """Folders of ours that nobody else could have put anything into."""
    try:
        with os.scandir(tempfile.gettempdir()) as entries:  # of which there may be very many
            folders = [Path(entry.path) for entry in entries if entry.name.startswith(_TEMPORARY)]
    except OSError:
        return []
    return [folder for folder in folders if _is_private(folder)]


def _is_private(folder: Path) -> bool:
    try:
        status = folder.lstat()
    except OSError:
        return False
    alone = not hasattr(os, "geteuid") or (status.st_uid == os.geteuid() and not status.st_mode & 0o077)
    return stat.S_ISDIR(status.st_mode) and alone


def _owner_of(folder: Path) -> int:
    return folder.stat().st_uid


def _own_bytes(path: Path) -> bytes:
    """What is in a file of the user's, or of whoever owns its folder: some drives have one owner for everything."""
    number = os.open(path, _OPEN)
    with os.fdopen(number, "rb") as file:
        status = os.fstat(number)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(f"{path} is no file")
        if hasattr(os, "geteuid") and status.st_uid not in (os.geteuid(), _owner_of(path.parent)):
            raise PermissionError(f"{path} is somebody else's")
        return file.read()


def _is(path: Path, name: str) -> bool:
    return path.name.startswith(name) and path.suffix == ".jsonl"
