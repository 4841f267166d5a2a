"""What the tests in a real terminal share."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from mtpchat.paths import cache_dir


@pytest.fixture(autouse=True)
def verdicts(isolated_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A model is tried in a child process once, not in the home of each test anew."""
    kept, here = tmp_path_factory.getbasetemp() / "trials.json", cache_dir() / "trials.json"
    if kept.exists():
        here.parent.mkdir(parents=True)
        shutil.copy(kept, here)
    yield
    if here.exists():
        shutil.copy(here, kept)
