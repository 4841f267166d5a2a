"""Where fetched files land: in the Hugging Face cache, in the layout that other programs share, or in a folder.

While a file comes it is called `<digest>.incomplete`; it gets its name only when it is whole and its checksum right.
Nothing that stands there already is overwritten with something else.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from mtpchat.errors import HubError, StorageError
from mtpchat.gguf.cursor import human_size
from mtpchat.hub.listing import Listing, RemoteFile
from mtpchat.hub.names import why_unsafe
from mtpchat.paths import ensure_dir

_RESERVE = 64 << 20
"""Bytes that stay free on the disk."""


class Target(Protocol):
    """Files of one repository on disk."""

    @property
    def root(self) -> Path:
        """Nothing is written outside this folder."""
        ...

    def final(self, file: RemoteFile) -> Path:
        """Where the file is when it is whole."""
        ...

    def partial(self, file: RemoteFile) -> Path:
        """Where it is while it comes."""
        ...

    def lock(self, file: RemoteFile) -> Path:
        """What keeps other programs from writing there at the same time."""
        ...

    def settle(self, file: RemoteFile) -> Path:
        """Give the whole file its name. Raises StorageError."""
        ...


@dataclass(frozen=True, slots=True)
class CacheTarget:
    """The Hugging Face cache: `models--owner--name/blobs/<digest>`, and a link to it below `snapshots/<commit>`."""

    cache: Path
    listing: Listing

    @property
    def root(self) -> Path:
        return self.cache / repo_folder(self.listing.repo)

    def final(self, file: RemoteFile) -> Path:
        return self.root / "snapshots" / self.listing.commit / _safe(file)

    def partial(self, file: RemoteFile) -> Path:
        return self.root / "blobs" / f"{_named(file)}.incomplete"

    def lock(self, file: RemoteFile) -> Path:
        return self.cache / ".locks" / repo_folder(self.listing.repo) / f"{_named(file)}.lock"

    def settle(self, file: RemoteFile) -> Path:
        blob, pointer = self.root / "blobs" / _named(file), self.final(file)
        with storage_errors(pointer):
            _make_folder(pointer.parent, self.root)
            if os.path.exists(self.partial(file)):
                os.replace(self.partial(file), blob)
            pointer.unlink(missing_ok=True)
            try:
                pointer.symlink_to(os.path.relpath(blob, pointer.parent))
            except OSError:  # a system without links; huggingface_hub moves the file then, too
                os.replace(blob, pointer)
            self._note_revision()
        return pointer

    def _note_revision(self) -> None:
        if self.listing.revision == self.listing.commit:
            return
        reference = self.root / "refs" / self.listing.revision
        _make_folder(reference.parent, self.root)
        reference.write_text(self.listing.commit, "ascii")


@dataclass(frozen=True, slots=True)
class FolderTarget:
    """A folder of the user's, with the files under their names in the repository."""

    folder: Path
    listing: Listing

    @property
    def root(self) -> Path:
        return self.folder

    def final(self, file: RemoteFile) -> Path:
        return self.folder / _safe(file)

    def partial(self, file: RemoteFile) -> Path:
        final = self.final(file)
        mark = file.digest[:16] or self.listing.commit[:16]
        return final.with_name(f".{final.name}.{mark}.incomplete")

    def lock(self, file: RemoteFile) -> Path:
        partial = self.partial(file)
        return partial.with_name(f"{partial.name}.lock")

    def settle(self, file: RemoteFile) -> Path:
        final = self.final(file)
        with storage_errors(final):
            _refuse_foreign(final)
            os.replace(self.partial(file), final)
        return final


def repo_folder(repo: str) -> str:
    """Name of a repository's folder in the cache."""
    return "models--" + repo.replace("/", "--")


def target_for(listing: Listing, cache: Path, folder: Path | None) -> Target:
    """The folder when one was named, else the cache."""
    return CacheTarget(cache, listing) if folder is None else FolderTarget(folder, listing)


def existing(target: Target, file: RemoteFile) -> bool:
    """Whether the whole file is there, judged by its size. Raises StorageError when another one stands in its place."""
    final = target.final(file)
    try:
        size = os.stat(final).st_size if os.path.isfile(final) else None
    except OSError:
        return False
    if size is None or size == file.size:
        return size is not None
    if isinstance(target, FolderTarget):
        _refuse_foreign(final)
    return False


def adopt(target: Target, file: RemoteFile) -> bool:
    """Use a blob that lies in the cache under another commit or name. False when there is none."""
    if not isinstance(target, CacheTarget) or not file.digest:
        return False
    blob = target.root / "blobs" / file.digest
    try:
        there = blob.is_file() and blob.stat().st_size == file.size
    except OSError:
        return False
    if there:
        target.settle(file)
    return there


def make_partial_folder(target: Target, file: RemoteFile) -> Path:
    """Make the folder of the partial file; returns its path. Raises StorageError, also when a link leads outside."""
    path = target.partial(file)
    with storage_errors(path):
        _make_folder(path.parent, target.root)
        ensure_dir(target.lock(file).parent)
        if path.is_symlink():
            raise StorageError(f"{path} is a link, which is not followed", path=path, hint="Remove it and try again.")
    return path


def require_space(target: Target, files: list[RemoteFile]) -> None:
    """Raise StorageError, with numbers, when the disk cannot take what is still to come."""
    to_come = sum(max(file.size - partial_size(target.partial(file)), 0) for file in files)
    folder = target.root
    while not os.path.exists(folder) and folder != folder.parent:
        folder = folder.parent
    try:
        free = shutil.disk_usage(folder).free
    except OSError:
        return  # a disk that does not say; the write itself will
    if to_come + _RESERVE > free:
        raise StorageError(
            f"{human_size(to_come)} are still to come, but only {human_size(free)} are free at {folder}",
            path=folder,
            hint="Make room, choose a smaller quantisation, or name a folder on another disk with --to DIR.",
        )


def partial_size(path: Path) -> int:
    """Bytes that have come already."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


@contextlib.contextmanager
def storage_errors(path: Path) -> Iterator[None]:
    """Trouble with the disk as a StorageError that says what to do."""
    try:
        yield
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        raise StorageError(
            f"The disk is full: {path.parent}" if full else f"Cannot write {path}: {error.strerror or error}",
            path=path,
            hint="What has come is kept. Make room, then the same command goes on from there."
            if full
            else "Check the permissions of the folder, or name another one with --to DIR.",
        ) from error


def _refuse_foreign(final: Path) -> None:
    if os.path.lexists(final):
        raise StorageError(
            f"Another file stands at {final}", path=final, hint="Move it away, or name another folder with --to DIR."
        )


def _safe(file: RemoteFile) -> str:
    """The path as it may stand below a folder. Raises HubError; listings hold no other ones."""
    if why := why_unsafe(file.path):
        raise HubError(f"{file.path!r} is not written: {why}", hint="Do not trust this repository.")
    return os.path.join(*file.path.split("/"))


def _named(file: RemoteFile) -> str:
    if not file.digest:
        raise HubError(
            f"The hub names no checksum of {file.name}, by which the cache keeps files",
            hint="Name a folder: --to DIR. The file is then fetched without being verified.",
        )
    return file.digest


def _make_folder(folder: Path, root: Path) -> None:
    """Make a folder that really lies below `root`, whatever links there are. Raises StorageError."""
    ensure_dir(root)
    here = root
    for word in folder.relative_to(root).parts:
        here = here / word
        if here.is_symlink():
            raise StorageError(f"{here} is a link that leads elsewhere", path=here, hint="Remove it, or use --to DIR.")
    ensure_dir(folder)
