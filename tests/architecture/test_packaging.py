"""What ships: themes and style sheets in the wheel, the same version everywhere."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from mtpchat import __version__, paths

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
THEMES = sorted(path.name for path in (ROOT / "themes").glob("*.toml"))


def test_there_are_at_least_four_themes() -> None:
    assert len(THEMES) >= 4


def test_wheel_takes_the_themes_to_where_the_program_looks_for_them() -> None:
    wheel = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert wheel["force-include"] == {"themes": "mtpchat/_themes"}
    assert wheel["packages"] == ["mtpchat"]
    assert sorted(path.name for path in paths.builtin_themes_dir().glob("*.toml")) == THEMES


@pytest.mark.skipif(importlib.util.find_spec("hatchling") is None, reason="hatchling is not installed here")
def test_built_wheel_holds_every_theme_and_every_file_of_the_package(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True, timeout=50)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert {f"mtpchat/_themes/{name}" for name in THEMES} <= names
    sources = [path for path in (ROOT / "mtpchat").rglob("*") if path.suffix in {".py", ".tcss", ".typed"}]
    assert {path.relative_to(ROOT).as_posix() for path in sources} <= names
    assert not any(name.startswith("tests/") for name in names)


def test_console_script_leads_to_a_function() -> None:
    module, _, function = PROJECT["project"]["scripts"]["mtpchat"].partition(":")
    assert callable(getattr(importlib.import_module(module), function))


def test_native_and_painted_dependencies_are_pinned_exactly() -> None:
    exact = [one for one in PROJECT["project"]["dependencies"] if "==" in one]
    assert [one.partition("==")[0] for one in exact] == ["llama-cpp-python", "textual"]


def test_version_is_a_release_number() -> None:
    assert all(part.isdecimal() for part in __version__.split("."))
