"""The settings and the folders: is the file in order, are its models there, can everything be written?"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from mtpchat import paths
from mtpchat.config_file import LoadedConfig
from mtpchat.doctor.finding import Finding, fact, fault
from mtpchat.hub.access import HUGGING_FACE, access
from mtpchat.shelf.places import expanded, short_path


def look_at_places(loaded: LoadedConfig) -> list[Finding]:
    """The settings file, the models that it names, and the folders that are written to."""
    return [*_settings(loaded), *_models(loaded), *_folders(loaded)]


def _settings(loaded: LoadedConfig) -> Iterator[Finding]:
    there = "" if os.path.exists(loaded.path) else " (not there; defaults hold)"
    if loaded.banner is not None:
        yield fault("settings", loaded.banner.message, loaded.banner.hint or "Mend the file; until then defaults hold.")
    else:
        yield fact("settings", f"{short_path(loaded.path)}{there}")


def _models(loaded: LoadedConfig) -> Iterator[Finding]:
    config = loaded.config
    named = (("model", config.model.path), ("drafter", config.speculative.drafter))
    for what, text in named:
        if text and not os.path.exists(paths.model_path(text, *config.paths.model_folders)):
            yield fault(
                "settings",
                f"The {what} {text} is not there.",
                f"Correct its path in {loaded.path}, or on the command line.",
            )
    for folder in config.paths.model_folders:
        if os.path.isdir(expanded(folder)):
            continue
        yield fault("settings", f"The folder of models {folder} is not there.", "Correct models under [paths].")


def _folders(loaded: LoadedConfig) -> Iterator[Finding]:
    wanted = {
        "settings": paths.config_dir(),
        "cache": paths.cache_dir(),
        "log": paths.log_dir(loaded.config.paths.logs),
        "history": paths.history_file(loaded.config.paths.history).parent,
        "chats": paths.chats_file(loaded.config.paths.chats).parent,
    }
    closed = {name: folder for name, folder in wanted.items() if not _can_be_written(folder)}
    for name, folder in closed.items():
        yield fault(f"{name} folder", f"{folder} cannot be written.", "Change its permissions, or make it a folder.")
    yield fact("folders", f"can be written: {', '.join(name for name in wanted if name not in closed) or 'none'}")
    places = {"settings": wanted["settings"], "cache": wanted["cache"], "log": wanted["log"]}
    places |= {"prompts": wanted["history"], "chats": paths.chats_file(loaded.config.paths.chats)}
    for name, place in places.items():
        yield fact("folders", f"{name}: {short_path(place)}")
    yield fact(
        "folders",
        f"models that were fetched: {short_path(access(endpoint=HUGGING_FACE).cache)} (other programs use it, too)",
    )


def _can_be_written(folder: Path) -> bool:
    """Can files be put there? Nothing is created: the nearest folder that exists decides."""
    for place in (folder, *folder.parents):
        if os.path.lexists(place):
            return os.path.isdir(place) and os.access(place, os.W_OK | os.X_OK)
    return False
