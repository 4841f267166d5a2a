"""Fetches files: goes on where it was broken off, and gives a file its name only when its checksum is right."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from io import FileIO
from pathlib import Path
from typing import Literal

from mtpchat.errors import HubDamaged, HubError, HubUnreachable, StorageError
from mtpchat.hub import places
from mtpchat.hub.client import HubClient
from mtpchat.hub.listing import Listing, RemoteFile
from mtpchat.hub.patience import rest, stopped

_CHUNK = 4 << 20
SEGMENT = 32 << 30
"""Most bytes that are asked for at once: the servers behind Hugging Face send no more than 50 GB in one answer."""
Phase = Literal["checking", "fetching", "waiting", "done"]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far it is.

    Attributes:
        file: path in the repository.
        index: which file, from 0; `count` there are.
        done, size: bytes of this file.
        all_done, all_size: bytes of all files.
        resumed: bytes of this file that were there before.
        remark: why it waits, or "".
    """

    file: str
    index: int
    count: int
    done: int
    size: int
    all_done: int
    all_size: int
    phase: Phase
    resumed: int = 0
    remark: str = ""


@dataclass(frozen=True, slots=True)
class Fetched:
    """A file that is there.

    Attributes:
        new: it was not there before.
        verified: its checksum was computed and is right.
    """

    path: Path
    new: bool
    verified: bool


Report = Callable[[Progress], None]


class Transfer:
    """Fetches files one after the other.

    Args:
        report: called with every piece; on the thread that fetches.
        cancelled: set by another thread to stop; what has come is kept.
    """

    def __init__(
        self,
        client: HubClient,
        listing: Listing,
        target: places.Target,
        report: Report,
        cancelled: threading.Event,
    ) -> None:
        self._client = client
        self._listing = listing
        self._target = target
        self._report = report
        self._cancelled = cancelled
        self._now = Progress("", 0, 0, 0, 0, 0, 0, "checking")

    def run(self, files: Sequence[RemoteFile]) -> list[Fetched]:
        """Fetch what is not there yet.

        Raises:
            StorageError: no room, or the disk refuses.
            HubError: the hub refuses, does not answer, or sent something else; FetchCancelled when stopped.
        """
        wanted = [self._client.digest_of(self._listing, file) for file in files]
        to_come = [file for file in wanted if not self._there(file)]
        places.require_space(self._target, to_come)
        found: list[Fetched] = []
        before = 0
        for index, file in enumerate(wanted):
            all_size = sum(one.size for one in wanted)
            self._now = Progress(file.path, index, len(wanted), 0, file.size, before, all_size, "checking")
            found.append(self._one(file))
            before += file.size
            self._now = replace(self._now, done=file.size, all_done=before)
            self._tell("done")
        return found

    def _one(self, file: RemoteFile) -> Fetched:
        if self._there(file):
            return Fetched(self._target.final(file), new=False, verified=False)
        partial = places.make_partial_folder(self._target, file)
        with places.storage_errors(partial), _alone(self._target.lock(file), file):
            try:
                self._whole(file, partial)
            except HubError as error:
                if isinstance(error, HubDamaged) or not places.partial_size(partial):
                    partial.unlink(missing_ok=True)
                raise
            return Fetched(self._target.settle(file), new=True, verified=bool(file.digest))

    def _there(self, file: RemoteFile) -> bool:
        return places.existing(self._target, file) or places.adopt(self._target, file)

    def _whole(self, file: RemoteFile, partial: Path) -> None:
        """Have the whole file in `partial`, with the right checksum. Raises HubDamaged otherwise."""
        with _opened(partial) as stream:
            digest = self._receive(file, stream)
            os.fsync(stream.fileno())
        if file.digest and digest.hexdigest() != file.digest:
            raise HubDamaged(
                f"The checksum of {file.name} is wrong, so it has been deleted",
                hint="Fetch it again. If that happens twice, the hub or a proxy on the way changes it.",
            )

    def _receive(self, file: RemoteFile, stream: FileIO) -> _Digest:
        """Get the file whole; `stream` may hold its beginning."""
        digest = self._read_again(file, stream)
        self._now = replace(self._now, resumed=digest.length)
        failures, patience = 0, self._client.patience
        while digest.length < file.size:
            before = digest.length
            end = min(before + SEGMENT, file.size)
            try:
                digest = self._more(file, stream, digest, end)
                if digest.length < end:
                    raise HubUnreachable(f"The connection ended early while {file.name} came", hint=_KEPT)
            except HubUnreachable as error:
                failures = 1 if digest.length > before else failures + 1
                wait = patience.wait_s(failures, error)
                if wait is None:
                    raise
                self._tell("waiting", f"{error}; again in {wait:.0f} s")
                rest(wait, self._cancelled)
        return digest

    def _read_again(self, file: RemoteFile, stream: FileIO) -> _Digest:
        """The digest of what came earlier. More than the file has, or nothing to hold it against, begins anew."""
        digest = _Digest(file)
        size = os.fstat(stream.fileno()).st_size
        if size > file.size or not file.digest:
            stream.truncate(0)
        while piece := stream.read(_CHUNK):
            self._stop_if_asked()
            digest.update(piece)
            self._advance(digest.length, "checking")
        return digest

    def _more(self, file: RemoteFile, stream: FileIO, digest: _Digest, end: int) -> _Digest:
        """Append what one connection brings of the bytes up to `end`."""
        count = end - digest.length if end < file.size else None
        with self._client.body(self._listing, file, digest.length, count) as body:
            if body.total is not None and body.total != file.size:  # what has come may still be right
                raise HubError(f"{file.name} has another size than the hub's list says", hint=_LIST_AGAIN)
            if body.start != digest.length:  # a server that cannot go on in the middle
                digest.restart()
                stream.seek(0)
                stream.truncate()
            for piece in body.pieces:
                self._stop_if_asked()
                if digest.length + len(piece) > file.size:
                    raise HubDamaged(f"{file.name} is longer than the hub's list says", hint=_LIST_AGAIN)
                _write(stream, piece)
                digest.update(piece)
                self._advance(digest.length, "fetching")
        return digest

    def _advance(self, done: int, phase: Phase) -> None:
        self._now = replace(self._now, done=done, all_done=self._now.all_done + done - self._now.done)
        self._tell(phase)

    def _tell(self, phase: Phase, remark: str = "") -> None:
        self._now = replace(self._now, phase=phase, remark=remark)
        self._report(self._now)

    def _stop_if_asked(self) -> None:
        if self._cancelled.is_set():
            raise stopped()


_KEPT = "What has come is kept: the same command goes on from there."
_LIST_AGAIN = "The repository may just have changed: list it again."


class _Digest:
    """The digest that the hub names a file by, as bytes come."""

    def __init__(self, file: RemoteFile) -> None:
        self._file = file
        self.restart()

    def restart(self) -> None:
        self.length = 0
        if len(self._file.digest) == 40:
            self._hash = hashlib.sha1(f"blob {self._file.size}\0".encode(), usedforsecurity=False)
        else:
            self._hash = hashlib.sha256()

    def update(self, piece: bytes) -> None:
        self._hash.update(piece)
        self.length += len(piece)

    def hexdigest(self) -> str:
        return self._hash.hexdigest()


def _write(stream: FileIO, piece: bytes) -> None:
    """Write all of it: straight to the file, so that a full disk is noticed here and not at the end."""
    rest_of = memoryview(piece)
    while rest_of:
        rest_of = rest_of[stream.write(rest_of) :]


@contextmanager
def _opened(path: Path) -> Iterator[FileIO]:
    """The partial file, for reading and writing, at its beginning; links are not followed."""
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    with FileIO(os.open(path, flags, 0o666), "r+") as stream:
        yield stream


@contextmanager
def _alone(lock_path: Path, file: RemoteFile) -> Iterator[None]:
    """While this program writes there, no other does. Raises StorageError when one does already."""
    from filelock import FileLock, Timeout

    lock = FileLock(lock_path)
    try:
        lock.acquire(timeout=0)
    except Timeout as error:
        raise StorageError(
            f"{file.name} is being fetched already, by another program",
            path=lock_path,
            hint="Wait for that one, or stop it.",
        ) from error
    try:
        yield
    finally:
        lock.release()
        if lock_path.name.startswith("."):  # in a folder of the user's; the cache keeps its locks
            lock_path.unlink(missing_ok=True)
