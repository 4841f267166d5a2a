"""Every test has a home of its own: no developer's settings are read, nothing is left behind."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mtpchat.errors import ModelNotFound
from mtpchat.shelf import places

pytest_plugins = ["tests.models.fixtures"]

# More threads than cores make the tiny models a hundred times slower.
os.environ["OMP_NUM_THREADS"] = "1"


@pytest.fixture(autouse=True)
def isolated_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home folder; every place that platformdirs may name lies below it."""
    home = tmp_path_factory.mktemp("home")
    for variable in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(variable, str(home))
    for variable, folder in {
        "XDG_CONFIG_HOME": ".config",
        "XDG_DATA_HOME": ".local/share",
        "XDG_STATE_HOME": ".local/state",
        "XDG_CACHE_HOME": ".cache",
        "APPDATA": "AppData/Roaming",
        "LOCALAPPDATA": "AppData/Local",
    }.items():
        monkeypatch.setenv(variable, str(home / folder))
    # Nor does it matter in which terminal the tests are run.
    for variable in ("NO_COLOR", "LC_ALL", "LC_CTYPE"):
        monkeypatch.delenv(variable, raising=False)
    for variable, value in {"TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "en_US.UTF-8"}.items():
        monkeypatch.setenv(variable, value)
    monkeypatch.setattr(places, "demo_model", _no_demo_model)
    return home


def _no_demo_model() -> Path:
    raise ModelNotFound("whether the package is installed here decides no test")
