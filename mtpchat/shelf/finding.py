"""Goes through the places and gives every model file there the name that its place has for it.

A name is made from paths and small lists alone; no model file is opened here. Later parts of split models are left out:
they belong to their first part.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from mtpchat.gguf.file_names import part_in, quantisation_in, without_part
from mtpchat.shelf.ollama import ollama_models
from mtpchat.shelf.places import Place
from mtpchat.shelf.walk import SUFFIX, Walk, identity

_HUB_URL = re.compile(r"^https?://[^/]+/([^/\s]+/[^/\s]+)/(?:resolve|blob)/")
_HUB_FOLDER = "models--"
_MOST_JSON = 1 << 20


@dataclass(frozen=True, slots=True)
class Found:
    """A model file.

    Attributes:
        name: what to call it: `qwen3:8b`, `org/repo:Q4_K_M`, or the file's stem.
        repo: "org/repo" where the place knows it.
    """

    path: Path
    place: Place
    name: str
    repo: str = ""


class _Download(msgspec.Struct):
    """What llama.cpp keeps beside a file that it fetched."""

    url: str = ""


def find_all(places: Iterable[Place], walk: Walk) -> Iterator[Found]:
    """Every model file of the places, each once, however many links lead to it. `walk` has the remarks afterwards."""
    seen: set[tuple[int, int]] = set()
    for place in places:
        for found in find(place, walk):
            number = identity(found.path)
            if number is not None and number not in seen:
                seen.add(number)
                yield found


def find(place: Place, walk: Walk) -> Iterator[Found]:
    """The model files of one place."""
    match place.kind:
        case "folder" | "demo":
            for path in _first_parts(walk.files(place.folder, depth=place.depth)):
                yield Found(path, place, stem(path))
        case "huggingface":
            yield from _in_hub(place, walk)
        case "lmstudio":
            yield from (_in_studio(path, place) for path in _first_parts(walk.files(place.folder)))
        case "ollama":
            for name, path in ollama_models(place.folder, walk):
                yield Found(path, place, name, name.partition(":")[0])
        case "llama.cpp":
            yield from _in_hub(place, walk)
            yield from _in_llama_cache(place, walk)


def locate(path: Path, places: Iterable[Place], walk: Walk) -> tuple[Found, list[Found]]:
    """A model file as its place knows it, and everything else of the same repository there.

    A file that no cache knows is one of its own folder.
    """
    number = identity(path)
    for place in places:
        if place.kind in ("folder", "demo") or place.folder not in path.parents or number is None:
            continue
        files = list(_around(path, place, walk))
        own = next((one for one in files if identity(one.path) == number), None)
        if own is not None:
            same = [one for one in files if one.repo == own.repo and one.path != own.path] if own.repo else []
            return replace(own, path=path), same
    return Found(path, Place("folder", path.parent), stem(path)), []


def _around(path: Path, place: Place, walk: Walk) -> Iterator[Found]:
    """The files of a place that may be of one repository with `path`; a cache of thousands is not gone through."""
    first = path.relative_to(place.folder).parts[0]
    if first.startswith(_HUB_FOLDER):
        yield from _in_hub_repo(place, first, walk)
    elif place.kind == "lmstudio":
        yield from (_in_studio(one, place) for one in _first_parts(walk.files(path.parent)))
    else:
        yield from find(place, walk)


def _in_studio(path: Path, place: Place) -> Found:
    """A file of LM Studio: publisher/repository/file."""
    owner = path.relative_to(place.folder).parts[:-1]
    repo = "/".join(owner[:2]) if len(owner) > 1 else ""
    return Found(path, place, _in_repo(repo, path, path.parent), repo)


def stem(path: Path) -> str:
    """A file's name without its ending and without the number of the part."""
    name = path.name[: -len(SUFFIX)] if path.name.casefold().endswith(SUFFIX) else path.name
    return without_part(name) or name


def is_later_part(path: Path) -> bool:
    """Whether this is a part of a split model, and not the first."""
    part = part_in(path.name[: -len(SUFFIX)])
    return part is not None and part[0] > 1


def _first_parts(paths: Iterable[Path]) -> Iterator[Path]:
    return (path for path in paths if not is_later_part(path))


def _in_repo(repo: str, path: Path, folder: Path) -> str:
    """`org/repo:Q4_K_M` for a model at the top of a repository; the file's own name for all else in it."""
    if not repo:
        return stem(path)
    tag = quantisation_in(stem(path))
    is_plain = path.parent == folder and not re.match(r"(?i)(mtp|eagle3|dflash|dspark|mmproj|draft)[-_.]", path.name)
    return f"{repo}:{tag}" if tag and is_plain else f"{repo}/{stem(path)}"


def _in_hub(place: Place, walk: Walk) -> Iterator[Found]:
    """Repositories as huggingface_hub lays them out: snapshots/<commit>/<file> are links into blobs."""
    for entry in walk.listed(place.folder):
        yield from _in_hub_repo(place, entry.name, walk)


def _in_hub_repo(place: Place, folder_name: str, walk: Walk) -> Iterator[Found]:
    owner, dashes, name = folder_name.removeprefix(_HUB_FOLDER).partition("--")
    if not folder_name.startswith(_HUB_FOLDER) or not (owner and dashes and name):
        return
    repo = f"{owner}/{name}"
    for snapshot in _snapshots(place.folder / folder_name, walk):
        for path in _first_parts(walk.files(snapshot, depth=3)):
            # Quantisations of large models lie in folders of their own: Q4_K_M/name-00001-of-00003.gguf.
            at_top = snapshot if path.parent.parent != snapshot or not quantisation_in(path.parent.name) else None
            yield Found(path, place, _in_repo(repo, path, at_top or path.parent), repo)


def _snapshots(folder: Path, walk: Walk) -> list[Path]:
    """The snapshots of a repository, the one that "main" names first."""
    main = _small_text(folder / "refs" / "main").strip()
    snapshots = [Path(entry.path) for entry in walk.listed(folder / "snapshots")]
    return sorted(snapshots, key=lambda path: path.name != main)


def _in_llama_cache(place: Place, walk: Walk) -> Iterator[Found]:
    """Single files whose origin llama.cpp keeps beside them, `<file>.json`; in newer versions a hub layout instead."""
    for path in _first_parts(walk.again(place.folder)):
        repo = _origin(path)
        name = stem(path).removeprefix(repo.replace("/", "_") + "_") if repo else stem(path)
        yield Found(path, place, _in_repo(repo, path.with_name(name + SUFFIX), path.parent), repo)


def _origin(path: Path) -> str:
    text = _small_text(path.with_name(path.name + ".json"))
    try:
        url = msgspec.json.decode(text.encode(), type=_Download).url if text else ""
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        return ""
    match = _HUB_URL.match(url)
    return match[1] if match else ""


def _small_text(path: Path) -> str:
    """The text of a small file of somebody else's; "" when there is none that can be read."""
    try:
        if not path.is_file() or path.stat().st_size > _MOST_JSON:
            return ""
        return path.read_text("utf-8", errors="replace")
    except (OSError, ValueError):
        return ""
