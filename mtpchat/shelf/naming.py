"""From what somebody typed to the model file that was meant: a folder, a name from the list, or its beginning."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from mtpchat.config import Config
from mtpchat.errors import ModelNotFound
from mtpchat.shelf.finding import Found, find, find_all, locate
from mtpchat.shelf.index import Index
from mtpchat.shelf.places import Place, places, short_path
from mtpchat.shelf.walk import Walk, identity

_MOST_NAMED = 8
_MOST_READ = 64
_SECONDS = 3.0


def model_in(folder: Path, index: Index, *, drafters: bool = False) -> Path:
    """The one chat model (or drafter) of a folder.

    Raises:
        ModelNotFound: there is none, or more than one; the hint names them.
    """
    place = Place("folder", folder, depth=2)
    kinds = ("drafter", "model") if drafters else ("model",)
    files = sorted(find(place, Walk(seconds=_SECONDS)), key=lambda one: one.path)
    there = [one for one in files[:_MOST_READ] if index.record(one.path).kind in kinds]
    index.save()
    if len(there) == 1:
        return there[0].path.absolute()
    what = "drafter" if drafters else "chat model"
    if not there:
        raise ModelNotFound(f"{short_path(folder)} is a folder without a {what}", hint="Name a GGUF file.")
    names = [str(one.path.relative_to(folder)) for one in there]
    raise ModelNotFound(
        f"{short_path(folder)} is a folder with {len(there)} {what}s", hint=f"Name one: {_listed(names)}"
    )


def named(text: str, config: Config, index: Index, *, drafters: bool = False) -> Path | None:
    """The file that `mtpchat models` shows under a name, or under one that begins so; None when there is none.

    Raises:
        ModelNotFound: several match; the hint names them.
    """
    wanted = text.strip().casefold()
    if not wanted:
        return None
    files = list(find_all(places(config), Walk(seconds=_SECONDS)))
    kinds = ("drafter", "model") if drafters else ("model",)
    for matches in _LEVELS:
        fitting = [one for one in files if matches(one, wanted)]
        fitting = [one for one in fitting[:_MOST_READ] if index.record(one.path).kind in kinds]
        if len(fitting) == 1:
            index.save()
            return fitting[0].path.absolute()
        if fitting:
            index.save()
            raise _ambiguous(text.strip(), fitting)
    return None


def name_for(path: Path, config: Config, index: Index, *, drafters: bool = False) -> str:
    """The short name under which `named` finds exactly this file; "" when it has none, or shares it."""
    own, _ = locate(path, places(config), Walk(seconds=_SECONDS))
    try:
        found = named(own.name, config, index, drafters=drafters)
    except ModelNotFound:
        return ""
    return own.name if found is not None and identity(found) == identity(path) else ""


def known_names(config: Config) -> list[str]:
    """Names of all files in all places, read or not."""
    return [one.name for one in find_all(places(config), Walk(seconds=_SECONDS))]


def _ambiguous(text: str, fitting: Sequence[Found]) -> ModelNotFound:
    names = [one.name for one in fitting]
    if len(set(names)) < len(names):  # one name in two places: only paths tell them apart
        names = [short_path(one.path) for one in fitting]
    return ModelNotFound(f"{text!r} could be {len(fitting)} models", hint=f"Name one: {_listed(names)}")


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more


def _short_name(found: Found) -> str:
    return found.name.rpartition("/")[2].casefold()


_LEVELS: tuple[Callable[[Found, str], bool], ...] = (
    lambda found, wanted: found.name.casefold() == wanted,
    lambda found, wanted: wanted in (_short_name(found), found.path.name.casefold(), found.path.stem.casefold()),
    lambda found, wanted: found.name.casefold().startswith(wanted),
    lambda found, wanted: _short_name(found).startswith(wanted) or found.path.stem.casefold().startswith(wanted),
    lambda found, wanted: all(word in found.name.casefold() for word in wanted.split()),
)
"""From the narrowest sense in which a name may be meant to the widest."""
