"""Every test has a home of its own: no developer's settings are read, nothing is left behind."""

from __future__ import annotations

import faulthandler
import os
import shutil
import sys
from collections.abc import Callable, Generator, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from mtpchat.errors import ModelNotFound
from mtpchat.shelf import places

pytest_plugins = ["tests.models.fixtures", "tests.permissions"]

# More threads than cores make the tiny models a hundred times slower.
os.environ["OMP_NUM_THREADS"] = "1"

# How long an example takes says something about the machine alone; where one runs away, the test's timeout ends it.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
if not os.environ.get("CI"):  # there Hypothesis is patient by itself, and tries the same examples each time
    settings.load_profile("patient")

_AT_MOST_S = 400
"""Seconds; the longest timeout of a test is 300."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Generator[None, Any, Any]:
    """A timeout is an exception, which may be swallowed: in the end the process says where it was and dies."""
    faulthandler.dump_traceback_later(_AT_MOST_S, exit=True, file=sys.__stderr__)
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()


@pytest.hookimpl(wrapper=True)
def pytest_report_to_serializable(report: object) -> Generator[None, Any, Any]:
    """Halves of characters, of which hostile texts are full, cannot be sent to the process that prints the report."""
    return _encodable((yield))


def _encodable(value: Any) -> Any:
    match value:
        case str():
            return value.encode("utf-8", "backslashreplace").decode()
        case dict():
            return {_encodable(key): _encodable(one) for key, one in value.items()}
        case list() | tuple():
            return [_encodable(one) for one in value]
    return value


@pytest.fixture(scope="session")
def new_home(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Path]:
    """Makes one empty folder after the other."""
    homes, numbers = tmp_path_factory.mktemp("homes"), count(1)

    def make() -> Path:
        home = homes / str(next(numbers))
        home.mkdir()
        return home

    return make


@pytest.fixture(autouse=True)
def isolated_home(new_home: Callable[[], Path], monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty home folder; every place that platformdirs may name lies below it."""
    home = new_home()
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
    yield home
    shutil.rmtree(home, ignore_errors=True)


def _no_demo_model() -> Path:
    raise ModelNotFound("whether the package is installed here decides no test")
