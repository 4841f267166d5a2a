"""What of a repository lies in the Hugging Face cache: all that can be had in offline mode."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from mtpchat.hub.names import is_gguf, part_names, part_of, quantization_of
from mtpchat.hub.places import repo_folder

_MOST = 10_000


@dataclass(frozen=True, slots=True)
class CachedFile:
    """A model file in the cache; of a split model, its first part.

    Attributes:
        path: of the link in the snapshot.
        name: in the repository.
        whole: all parts are there.
        size: bytes of all parts.
    """

    path: Path
    name: str
    whole: bool
    size: int

    @property
    def label(self) -> str:
        """Quantisation, or the name where it says none."""
        return quantization_of(self.name) or self.path.stem


def cached_files(cache: Path, repo: str) -> list[CachedFile]:
    """The model files of a repository in the cache; of several commits the one written last counts."""
    found: dict[str, CachedFile] = {}
    for snapshot in _snapshots(cache / repo_folder(repo)):
        for name in sorted(_names(snapshot)):
            if part_of(name)[0] == 1:
                found[name] = _entry(snapshot, name)
    return sorted(found.values(), key=lambda one: one.size)


def find_cached(files: list[CachedFile], choice: str) -> CachedFile | None:
    """The one that `choice` means, by label or file name."""
    wanted = choice.casefold()
    for one in files:
        if one.whole and wanted in (one.label.casefold(), one.name.casefold(), one.path.name.casefold()):
            return one
    return None


def unfinished(cache: Path, repo: str) -> int:
    """Bytes of transfers that were broken off."""
    total = 0
    for path in islice((cache / repo_folder(repo) / "blobs").glob("*.incomplete"), _MOST):
        try:
            total += path.stat().st_size
        except OSError:
            continue
    return total


def _snapshots(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder / "snapshots") as entries:
            dated = [(entry.stat().st_mtime, entry.path) for entry in entries if entry.is_dir()]
    except OSError:
        return []
    return [Path(path) for _, path in sorted(dated)]


def _names(snapshot: Path) -> Iterator[str]:
    for path in islice(snapshot.rglob("*.gguf"), _MOST):
        if is_gguf(path.name) and path.is_file():
            yield path.relative_to(snapshot).as_posix()


def _entry(snapshot: Path, name: str) -> CachedFile:
    parts = [snapshot / part for part in part_names(name)]
    sizes = [part.stat().st_size for part in parts if part.is_file()]
    return CachedFile(snapshot / name, name, len(sizes) == len(parts), sum(sizes))
