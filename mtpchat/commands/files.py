"""Paths as people type them into commands: where they start, what they mean, how they go on."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from mtpchat.commands.base import Completion
from mtpchat.config import Config
from mtpchat.config_schema import nearest, printable
from mtpchat.errors import CommandError, HubNotFound, ModelNotFound
from mtpchat.gguf.cursor import human_size
from mtpchat.hub.names import parse_wanted
from mtpchat.paths import model_path
from mtpchat.shelf.index import Index
from mtpchat.shelf.naming import known_names, model_in, named

_MOST_ENTRIES = 5000
_MOST_ROWS = 50


def model_folders(config: Config) -> list[Path]:
    """Folders that relative model paths start from, in the order in which `model_path` looks."""
    return [Path.cwd(), *(expand(folder) for folder in config.paths.model_folders)]


def expand(typed: str) -> Path:
    """A typed path with quotes removed and ~ replaced. Raises CommandError when ~ names nobody."""
    try:
        return Path(typed.strip().strip("\"'")).expanduser()
    except RuntimeError as error:
        raise CommandError(f'The home folder in "{typed}" is unknown', hint="write the path in full.") from error


def find_model(typed: str, config: Config, *, drafters: bool = False) -> Path:
    """The model file that was meant, absolute: a path, a folder with one model in it, or a name of `mtpchat models`.

    Args:
        drafters: a drafter is wanted, so that files count that cannot chat.

    Raises:
        ModelNotFound: it names what is nearest, or all that could be meant.
    """
    wanted = expand(typed)
    path = model_path(str(wanted), *config.paths.model_folders)
    if os.path.isfile(path):
        return path.absolute()
    index = Index()
    if os.path.isdir(path):
        return model_in(path, index, drafters=drafters)
    is_name = not wanted.is_absolute()  # a path from the root is no name, so nobody need search for it
    found = named(typed.strip().strip("\"'"), config, index, drafters=drafters) if is_name else None
    if found is not None:
        return found
    places = [folder / wanted.parent for folder in model_folders(config)]
    close = nearest(wanted.name, [entry.name for place in places for entry in _entries(place) if _is_gguf(entry)])
    if close:
        raise ModelNotFound(f"There is no file {wanted}", hint=f"Did you mean {wanted.parent / close}?")
    close = nearest(typed.strip(), known_names(config) if is_name else ())
    if not close and is_name and _is_repository(typed):
        hint = f"To fetch it from Hugging Face: mtpchat pull {printable(typed.strip())}, or /pull in the chat."
        raise ModelNotFound(f"There is no model {printable(typed.strip())} on this machine", hint=hint)
    otherwise = "Check the path; mtpchat models, or /model in the chat, lists what is there, and pull fetches more."
    advice = f"Did you mean {close}?" if close else otherwise
    raise ModelNotFound(f"There is no file {wanted}", hint=advice)


def find_file(typed: str, config: Config) -> Path:
    """A file of any kind by its path, or a model or drafter by its name in `mtpchat models`.

    Raises:
        ModelNotFound: there is no such file, and no such name.
    """
    path = model_path(typed, *config.paths.model_folders)
    return path if os.path.lexists(path) else find_model(typed, config, drafters=True)


def _is_repository(typed: str) -> bool:
    """Does it look like something on a hub: OWNER/NAME, or the address of a page?"""
    try:
        parse_wanted(typed)
    except HubNotFound:
        return False
    return "://" in typed or not (os.path.exists(typed.strip().partition("/")[0]) or typed.strip().endswith(".gguf"))


def complete_models(typed: str, config: Config) -> list[Completion]:
    """GGUF files and folders that `typed` could become."""
    return complete_paths(typed, model_folders(config), (".gguf",))


def complete_paths(typed: str, folders: Sequence[Path], suffixes: Sequence[str]) -> list[Completion]:
    """Files with one of `suffixes`, and folders, that `typed` could become.

    Args:
        typed: absolute, with ~, or relative to any of `folders`.
        suffixes: lower case, with the dot.
    """
    head, slash, stem = typed.rpartition("/")
    rows: dict[str, Completion] = {}
    for folder in folders:
        try:
            place = folder / expand(head + slash) if slash else folder
        except CommandError:
            return []
        for entry in _entries(place):
            row = _row(entry, f"{head}{slash}", stem, suffixes)
            if row is not None:
                rows.setdefault(row.value, row)
    return sorted(rows.values(), key=lambda row: (row.value.endswith("/"), row.value.casefold()))[:_MOST_ROWS]


def _row(entry: os.DirEntry[str], before: str, stem: str, suffixes: Sequence[str]) -> Completion | None:
    hidden = entry.name.startswith(".") and not stem.startswith(".")
    if hidden or not entry.name.casefold().startswith(stem.casefold()):
        return None
    try:
        if entry.is_dir():
            return Completion(f"{before}{entry.name}/", "folder")
        if entry.name.casefold().endswith(tuple(suffixes)):
            return Completion(f"{before}{entry.name}", human_size(entry.stat().st_size))
    except OSError:
        return None  # a dangling link or a file that went away meanwhile cannot be offered
    return None


def _is_gguf(entry: os.DirEntry[str]) -> bool:
    return entry.name.casefold().endswith(".gguf")


def _entries(folder: Path) -> Iterator[os.DirEntry[str]]:
    """What lies in a folder; nothing when it cannot be listed."""
    try:
        with os.scandir(folder) as entries:
            yield from islice(entries, _MOST_ENTRIES)
    except (OSError, ValueError):
        return  # completion of an unreadable or impossible folder is empty, not an error
