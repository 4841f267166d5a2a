"""Where model files may lie: folders of the user, caches of programs that fetch them, the package of the demo model.

Asking creates nothing and looks into none of them; a place that does not exist is simply empty.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from mtpchat.config import Config
from mtpchat.demo import demo_model
from mtpchat.errors import ModelNotFound

PlaceKind = Literal["folder", "huggingface", "lmstudio", "ollama", "llama.cpp", "demo"]

SYSTEM_OLLAMA = Path("/usr/share/ollama/.ollama/models")
"""Where Ollama keeps models when it runs as a service of its own user on Linux."""

_TITLES: dict[PlaceKind, str] = {
    "folder": "folder",
    "huggingface": "Hugging Face cache",
    "lmstudio": "LM Studio",
    "ollama": "Ollama",
    "llama.cpp": "llama.cpp cache",
    "demo": "demo model",
}


@dataclass(frozen=True, slots=True)
class Place:
    """A folder and how files are arranged in it.

    Attributes:
        depth: folders below it that are entered, where its arrangement does not say.
    """

    kind: PlaceKind
    folder: Path
    depth: int = 6

    @property
    def title(self) -> str:
        """What people call it."""
        return short_path(self.folder) if self.kind == "folder" else _TITLES[self.kind]


def places(config: Config, environment: Mapping[str, str] = os.environ, platform: str = sys.platform) -> list[Place]:
    """All places, the user's own folders first; each folder once.

    Args:
        environment: variables that move the caches (HF_HOME, OLLAMA_MODELS, LLAMA_CACHE, ...).
        platform: as sys.platform.
    """
    found = [
        *(Place("folder", expanded(folder)) for folder in config.paths.model_folders),
        *(Place("folder", folder, depth=1) for folder in _folder_of_model(config)),
        *(Place("huggingface", folder) for folder in _huggingface(environment)),
        *(Place("lmstudio", folder) for folder in _lmstudio(environment)),
        *(Place("ollama", folder) for folder in _ollama(environment, platform)),
        *(Place("llama.cpp", folder) for folder in _llama_cpp(environment, platform)),
        *(Place("demo", folder, depth=0) for folder in _demo()),
    ]
    caches = [place.folder for place in found if place.kind != "folder"]
    # The folder of a model inside a cache is part of that cache, where it has a better name.
    kept = [place for place in found if place.kind != "folder" or not any(_inside(place.folder, one) for one in caches)]
    once: dict[Path, Place] = {}
    for place in kept:
        once.setdefault(place.folder, place)
    return list(once.values())


def expanded(folder: str) -> Path:
    """A path with "~" replaced; as it is when "~name" names nobody."""
    try:
        return Path(folder).expanduser()
    except RuntimeError:
        return Path(folder)


def short_path(path: Path) -> str:
    """A path as people write it, the home folder as "~"."""
    try:
        return "~/" + path.relative_to(Path.home()).as_posix() if path != Path.home() else "~"
    except (ValueError, RuntimeError):
        return str(path)


def _folder_of_model(config: Config) -> list[Path]:
    """Where the model in use lies; it may be a home folder, so that only what is right below it is looked at."""
    path = expanded(config.model.path)
    return [path.absolute().parent] if config.model.path and os.path.isfile(path) else []


def _huggingface(environment: Mapping[str, str]) -> list[Path]:
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        if environment.get(name):
            return [expanded(environment[name])]
    home = environment.get("HF_HOME")
    if home:
        return [expanded(home) / "hub"]
    return [_cache_home(environment) / "huggingface" / "hub"]


def _lmstudio(environment: Mapping[str, str]) -> list[Path]:
    home = _home(environment)
    return [home / ".lmstudio" / "models", home / ".cache" / "lm-studio" / "models"]


def _ollama(environment: Mapping[str, str], platform: str) -> list[Path]:
    if environment.get("OLLAMA_MODELS"):
        return [expanded(environment["OLLAMA_MODELS"])]
    own = _home(environment) / ".ollama" / "models"
    return [own, SYSTEM_OLLAMA] if platform.startswith("linux") else [own]


def _llama_cpp(environment: Mapping[str, str], platform: str) -> list[Path]:
    if environment.get("LLAMA_CACHE"):
        return [expanded(environment["LLAMA_CACHE"])]
    if platform == "win32":
        local = environment.get("LOCALAPPDATA")
        return [Path(local) / "llama.cpp"] if local else []
    if platform == "darwin":
        return [_home(environment) / "Library" / "Caches" / "llama.cpp"]
    return [_cache_home(environment) / "llama.cpp"]


def _demo() -> list[Path]:
    try:
        return [demo_model().parent]
    except ModelNotFound:
        return []


def _cache_home(environment: Mapping[str, str]) -> Path:
    told = environment.get("XDG_CACHE_HOME")
    return expanded(told) if told else _home(environment) / ".cache"


def _home(environment: Mapping[str, str]) -> Path:
    told = environment.get("HOME") or environment.get("USERPROFILE")
    return Path(told) if told else expanded("~")


def _inside(folder: Path, cache: Path) -> bool:
    return folder == cache or cache in folder.parents
