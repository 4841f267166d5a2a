"""States of the model's memory as files: whole and unharmed, or not there at all.

A file is a short header, the sections, and a digest of everything before it; the header has a digest of its own, so
that it can be searched without reading gigabytes. llama.cpp would trust a damaged state, and may end the process over
it, so nothing leaves this module that does not match its digest byte for byte.

Files are written beside their place and moved there when they are on the disk. The folder is bounded: what was used
least recently goes first. Other instances may write, read and remove in the same folder at any time.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
import struct
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

import msgspec
import numpy as np
from numpy.typing import NDArray

from mtpchat.errors import StorageError
from mtpchat.paths import ensure_dir, storage_errors
from mtpchat.state_record import FoundState, StateRecord

_MAGIC = b"mtpst\x00\x00\x01"  # the last byte counts up with the format
_LENGTH = struct.Struct("<Q")
_DIGEST = 32
_MOST_HEADER = 64 << 20
_CHUNK = 4 << 20
_SUFFIX = ".state"
_STALE_S = 3600.0
"""A draft of a file that nobody has written to for so long belongs to a process that is gone."""
_DISK_SHARE = 10

Bytes = NDArray[np.uint8]


class StateFolder:
    """The folder of states. Every method may be called from any thread.

    Args:
        folder: made when there is something to keep.
        most_bytes: all files together; less where that would be more than a tenth of what the disk has free.
        now: nanoseconds since 1970.
    """

    def __init__(self, folder: Path, most_bytes: int, now: Callable[[], int] = time.time_ns) -> None:
        self.folder = folder
        self._most = most_bytes
        self._now = now
        self._used_at = 0
        self._forgotten: set[str] = set()
        self._known: dict[tuple[str, int, int], StateRecord] = {}

    def allowance(self) -> int:
        """Bytes that all files together may have now."""
        place = next((one for one in (self.folder, *self.folder.parents) if one.exists()), self.folder)
        try:
            free = shutil.disk_usage(place).free
        except OSError:
            return 0
        return min(self._most, (free + sum(size for _, size, _ in self._files())) // _DISK_SHARE)

    def records(self, key: str = "") -> Sequence[FoundState]:
        """The states that fit a key, or all, those used last first. Harmed files are removed."""
        known: dict[tuple[str, int, int], StateRecord] = {}
        found: list[FoundState] = []
        for name, size, used in sorted(self._files(), key=lambda one: -one[2]):
            if not name.startswith(key):
                continue
            mark = (name, size, used)
            record = self._known.get(mark) or self._header(name)
            if record is None:
                continue
            known[mark] = record
            if not key or record.key == key:
                found.append(FoundState(name, record, size, used / 1e9))
        self._known = known
        return found

    def _header(self, name: str) -> StateRecord | None:
        try:
            with open(self.folder / name, "rb") as file:
                # Asked of the open file: another instance may just have put a newer one in its place.
                return _read_header(file, os.fstat(file.fileno()).st_size)[0]
        except OSError:
            return None
        except _Harmed:
            self.drop(name)
            return None

    def read(self, name: str, cancelled: Callable[[], bool] = lambda: False) -> Sequence[Bytes] | None:
        """The sections of a state; None if it was cancelled, or if the file is gone or harmed: then it is removed."""
        try:
            with open(self.folder / name, "rb") as file:
                sections = _read_whole(file, os.fstat(file.fileno()).st_size, cancelled)
        except (OSError, MemoryError):
            return None
        except _Harmed:
            self.drop(name)
            return None
        if sections is not None:
            self._touch(self.folder / name)
        return sections

    def write(
        self, record: StateRecord, sections: Sequence[Bytes], stopped: Callable[[], bool] = lambda: False
    ) -> bool:
        """Keep a state in place of the one that the same chat had with the same key.

        Returns:
            False if it is larger than all files together may be, if the chat was forgotten, or if `stopped` became
            True; nothing has changed then.

        Raises:
            StorageError: nothing has changed, but older states may have been removed to make room.
        """
        record = msgspec.structs.replace(record, sizes=tuple(len(section) for section in sections))
        header = _pack_header(record)
        total = len(header) + sum(record.sizes) + _DIGEST
        name = f"{record.key}-{_short(record.chat)}{_SUFFIX}"
        target = self.folder / name
        ensure_dir(self.folder)
        with storage_errors(target, "keep"):
            os.chmod(self.folder, 0o700)
            self.sweep()
            if not self._make_room(total, name):
                return False
            draft = target.with_name(f".{name}.{secrets.token_hex(6)}.tmp")
            try:
                if not _write_through(draft, header, sections, stopped) or record.chat in self._forgotten:
                    return False
                self._touch(draft)
                os.replace(draft, target)
                _sync_folder(self.folder)
            finally:
                draft.unlink(missing_ok=True)
        if record.chat in self._forgotten:  # since it was looked at, and before the file was there to be removed
            self.drop(name)
            return False
        return True

    def _make_room(self, needed: int, name: str) -> bool:
        """Remove what was used least recently until so many bytes are allowed in place of the file of that name."""
        allowance = self.allowance()
        if needed > allowance:
            return False
        others = sorted((one for one in self._files() if one[0] != name), key=lambda one: one[2])
        total = sum(size for _, size, _ in others)
        for other, size, _ in others:
            if total + needed <= allowance:
                break
            self.drop(other)
            total -= size
        return True

    def sweep(self) -> None:
        """Remove what writers left that did not come to an end."""
        for entry in self._scan():
            age_s = (self._now() - entry.stat().st_mtime_ns) / 1e9
            if entry.name.startswith(".") and entry.name.endswith(".tmp") and age_s > _STALE_S:
                self.drop(entry.name)

    def drop(self, name: str) -> None:
        """Remove a file; one that cannot be removed now is found again later."""
        try:
            (self.folder / name).unlink(missing_ok=True)
        except OSError:
            return

    @contextmanager
    def at_risk(self, name: str) -> Iterator[None]:
        """Out of sight while native code takes a state in: one that ends the process is not tried a second time."""
        file = self.folder / name
        aside = file.with_name(f".{name}.{secrets.token_hex(6)}.tmp")
        try:
            os.replace(file, aside)
        except OSError:  # gone, or on a disk where nothing can be moved
            yield
            return
        try:
            yield
        finally:
            if file.exists():  # another instance has kept a newer one
                self.drop(aside.name)
            else:
                with suppress(OSError):  # it goes with the next sweep
                    os.replace(aside, file)

    def forget(self, chat: str) -> int:
        """Remove the states of a chat, and keep none of it any more; returns how many there were."""
        self._forgotten.add(chat)
        mine = [name for name, _, _ in self._files() if name.endswith(f"-{_short(chat)}{_SUFFIX}")]
        for name in mine:
            self.drop(name)
        return len(mine)

    def allow(self, chat: str) -> None:
        """Keep states of a chat again that was forgotten: it was brought back, or is gone on with."""
        self._forgotten.discard(chat)

    def clear(self) -> int:
        """Remove everything; returns how many states there were."""
        files = self._files()
        for name, _, _ in files:
            self.drop(name)
        for entry in self._scan():
            if entry.name.endswith(".tmp"):
                self.drop(entry.name)
        return len(files)

    def _touch(self, path: Path) -> None:
        self._used_at = max(self._now(), self._used_at + 1)
        try:
            os.utime(path, ns=(self._used_at, self._used_at))
        except OSError:
            return  # on a read-only disk the order of use is not kept; nothing is removed there either

    def _files(self) -> list[tuple[str, int, int]]:
        """Name, bytes and time of last use of every state."""
        found = []
        for entry in self._scan():
            if entry.name.endswith(_SUFFIX) and not entry.name.startswith("."):
                facts = entry.stat()
                found.append((entry.name, facts.st_size, facts.st_mtime_ns))
        return found

    def _scan(self) -> Iterator[os.DirEntry[str]]:
        """Entries of the folder whose facts can be asked for: others may remove them at any time."""
        try:
            with os.scandir(self.folder) as entries:
                listed = list(entries)
        except OSError:
            return
        for entry in listed:
            try:
                entry.stat()
            except OSError:
                continue
            yield entry


class _Harmed(Exception):
    """A file is not what it was when it was written."""


def _short(chat: str) -> str:
    return hashlib.blake2b(chat.encode(), digest_size=8).hexdigest()


def _pack_header(record: StateRecord) -> bytes:
    packed = msgspec.msgpack.encode(record)
    start = _MAGIC + _LENGTH.pack(len(packed)) + packed
    return start + hashlib.blake2b(start, digest_size=_DIGEST).digest()


def _read_header(file: BinaryIO, size: int) -> tuple[StateRecord, bytes]:
    """The record at the file's beginning, and the bytes that it took."""
    start = file.read(len(_MAGIC) + _LENGTH.size)
    if len(start) < len(_MAGIC) + _LENGTH.size or not start.startswith(_MAGIC):
        raise _Harmed
    length = _LENGTH.unpack(start[len(_MAGIC) :])[0]
    if length > min(size, _MOST_HEADER):
        raise _Harmed
    start += file.read(length)
    digest = file.read(_DIGEST)
    if digest != hashlib.blake2b(start, digest_size=_DIGEST).digest():
        raise _Harmed
    try:
        record = msgspec.msgpack.decode(start[len(_MAGIC) + _LENGTH.size :], type=StateRecord)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise _Harmed from error
    if not record.sound() or size != len(start) + 2 * _DIGEST + sum(record.sizes):
        raise _Harmed
    return record, start + digest


def _read_whole(file: BinaryIO, size: int, cancelled: Callable[[], bool]) -> Sequence[Bytes] | None:
    record, header = _read_header(file, size)
    body = np.empty(sum(record.sizes), np.uint8)
    digest = hashlib.blake2b(header, digest_size=_DIGEST)
    view = memoryview(body.data)
    for at in range(0, len(body), _CHUNK):
        if cancelled():
            return None
        part = view[at : at + _CHUNK]
        if file.readinto(part) != len(part):  # type: ignore[attr-defined]
            raise _Harmed
        digest.update(part)
    if file.read(_DIGEST + 1) != digest.digest():
        raise _Harmed
    ends = np.cumsum((0, *record.sizes))
    return [body[start:end] for start, end in pairwise(ends)]


def _write_through(path: Path, header: bytes, sections: Sequence[Bytes], stopped: Callable[[], bool]) -> bool:
    digest = hashlib.blake2b(header, digest_size=_DIGEST)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600), "wb") as file:
        file.write(header)
        for section in sections:
            view = memoryview(np.ascontiguousarray(section).data)
            for at in range(0, len(view), _CHUNK):
                if stopped():
                    return False
                part = view[at : at + _CHUNK]
                digest.update(part)
                file.write(part)
        file.write(digest.digest())
        file.flush()
        os.fsync(file.fileno())
    return True


def _sync_folder(folder: Path) -> None:
    """Make the move itself last; where folders cannot be opened (Windows) it is."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def storage_sentence(error: StorageError) -> str:
    """What is said once when states cannot be kept."""
    return f"What the model remembers is not kept on disk: {error.sentence}"
