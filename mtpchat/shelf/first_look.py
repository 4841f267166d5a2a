"""Is there anything to choose from? Answered at the first model that is found, however many there are."""

from __future__ import annotations

from pathlib import Path

from mtpchat.config import Config
from mtpchat.shelf.finding import find, find_all
from mtpchat.shelf.listing import Shelf
from mtpchat.shelf.places import Place, places
from mtpchat.shelf.walk import Walk


def has_models(config: Config) -> bool:
    """Whether any place has a model for chatting, the demo not counted. Reads headers until there is one."""
    return any(one.record.kind == "model" and one.found.place.kind != "demo" for one in Shelf(config).items())


def demo_file(config: Config) -> Path | None:
    """The demo model, if it is installed."""
    demos = (place for place in places(config) if place.kind == "demo")
    return next((found.path for place in demos for found in find(place, Walk())), None)


def model_files_in(folder: Path) -> int:
    """How many model files a folder holds, itself and what is below it; no file is opened."""
    return sum(1 for _ in find_all([Place("folder", folder)], Walk()))
