"""Models that are split into several files, ...-00001-of-0000N.gguf, read as one."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from mtpchat.errors import ModelNotFound, ModelUnreadable
from mtpchat.gguf.file_names import part_in, without_part
from mtpchat.gguf.header import Header, Shard, TensorInfo, read_header

_SUFFIX = ".gguf"
_TOGETHER = "All parts must lie in one folder, and come from one download."


def read_model(path: str | os.PathLike[str]) -> Header:
    """Read the header of a model; of all parts when it is split, as one header with the tensors of all of them.

    Raises:
        ModelNotFound, ModelUnreadable: about the file, or the part, that is missing or damaged.
    """
    named = _paths(Path(path))
    if not os.path.exists(path) and any(os.path.exists(one) for one in named):
        _require_all(named)
    first = read_header(path)
    count, number = first.integer("split.count") or 1, first.integer("split.no") or 0
    if count <= 1:
        return first
    if len(_paths(first.path)) != count:
        raise ModelUnreadable(
            f"{first.path.name} is one of {count} parts, but its name does not say which.",
            hint=f"Give the parts their names back: ...-00001-of-{count:05d}.gguf and so on.",
        )
    if number != 0:
        raise ModelUnreadable(
            f"{first.path.name} is part {number + 1} of {count}.",
            hint=f"Name the first part: {_paths(first.path)[0].name}.",
        )
    paths = _paths(first.path)
    _require_all(paths)
    return _joined(first, [_read_part(part, index, count) for index, part in enumerate(paths[1:], 1)])


def first_shard(path: Path) -> Path:
    """The first file of a split model of which `path` is any part; `path` itself when its name tells of no parts."""
    paths = _paths(path)
    return paths[0] if paths else path


def _paths(path: Path) -> list[Path]:
    """Where all parts of a split model ought to be, in order; [] when the name of this one does not say."""
    stem = path.name.removesuffix(_SUFFIX)
    part = part_in(stem) if stem != path.name else None
    if part is None:
        return []
    first, of = without_part(stem), part[1]
    return [path.with_name(f"{first}-{number:05d}-of-{of:05d}{_SUFFIX}") for number in range(1, of + 1)]


def _require_all(paths: Sequence[Path]) -> None:
    missing = [number for number, path in enumerate(paths, 1) if not os.path.exists(path)]
    if not missing:
        return
    name = paths[missing[0] - 1].name
    others = f", and so are {len(missing) - 1} more parts" if len(missing) > 2 else ""
    others = f", and so is part {missing[1]}" if len(missing) == 2 else others
    raise ModelNotFound(
        f"{name} is missing: it is part {missing[0]} of {len(paths)} of the model{others}.", hint=_TOGETHER
    )


def _read_part(path: Path, index: int, count: int) -> Header:
    part = read_header(path)
    told, of = part.integer("split.no"), part.integer("split.count")
    if told != index or of != count:
        what = f"part {told + 1} of {of}" if told is not None and of else "no part of a split model"
        raise ModelUnreadable(
            f"{path.name} says of itself that it is {what}, not part {index + 1} of {count}.", hint=_TOGETHER
        )
    return part


def _joined(first: Header, rest: Sequence[Header]) -> Header:
    tensors: dict[str, TensorInfo] = dict(first.tensors)
    for part in rest:
        twice = next((name for name in part.tensors if name in tensors), None)
        if twice is not None:
            raise ModelUnreadable(f"{part.path.name} has {twice!r}, which an earlier part has, too.", hint=_TOGETHER)
        tensors.update(part.tensors)
    told = first.integer("split.tensors.count")
    if told is not None and told != len(tensors):
        raise ModelUnreadable(
            f"The parts of {first.path.name} hold {len(tensors)} tensors instead of {told}.", hint=_TOGETHER
        )
    parts = [first, *rest]
    return replace(
        first,
        size=sum(part.size for part in parts),
        tensors=tensors,
        shards=tuple(Shard(part.path, part.file_size, len(part.tensors)) for part in parts),
    )
