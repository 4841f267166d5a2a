"""Places and writing: nothing appears by asking, and a failed write loses nothing."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mtpchat import paths
from mtpchat.errors import StorageError

PLACES: list[Callable[[], Path]] = [
    paths.config_dir,
    paths.config_file,
    paths.themes_dir,
    paths.cache_dir,
    paths.log_dir,
    paths.history_file,
]


@pytest.mark.parametrize("place", PLACES)
def test_asking_for_a_place_creates_nothing(place: Callable[[], Path]) -> None:
    assert not place().exists()
    assert place().is_absolute()


def test_importing_the_module_creates_nothing(tmp_path: Path) -> None:
    home = tmp_path / "fresh"
    home.mkdir()
    environment = {"HOME": str(home), "PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run(
        [sys.executable, "-c", "import mtpchat.paths, mtpchat.config_file, mtpchat.cli"], env=environment, check=True
    )
    assert list(home.iterdir()) == []


def test_the_themes_that_ship_are_found_in_a_source_tree() -> None:
    folder = paths.builtin_themes_dir()
    assert folder == Path(paths.__file__).parent.parent / "themes" or folder.name == "_themes"


def test_settings_move_logs_and_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert paths.log_dir("~/logs") == tmp_path / "logs"
    assert paths.history_file(str(tmp_path / "h")) == tmp_path / "h"


def test_a_relative_model_is_looked_for_here_and_then_in_the_models_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, models = tmp_path / "here", tmp_path / "models"
    here.mkdir()
    models.mkdir()
    monkeypatch.chdir(here)
    (models / "a.gguf").touch()
    assert paths.model_path("a.gguf", str(models)) == models / "a.gguf"
    (here / "a.gguf").touch()
    assert paths.model_path("a.gguf", str(models)) == Path("a.gguf")
    assert paths.model_path("nowhere.gguf", str(models)) == Path("nowhere.gguf")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(versions=st.lists(st.text(), min_size=1, max_size=4))
def test_the_file_holds_the_last_text_and_the_backup_the_one_before(tmp_path: Path, versions: list[str]) -> None:
    folder = Path(os.path.realpath(tmp_path)) / os.urandom(4).hex()
    file = folder / "deep" / "config.toml"
    for text in versions:
        paths.write_atomically(file, text)
    assert file.read_bytes().decode() == versions[-1]
    assert paths.backup_of(file).exists() == (len(versions) > 1)
    if len(versions) > 1:
        assert paths.backup_of(file).read_bytes().decode() == versions[-2]
    assert {p.name for p in file.parent.iterdir()} <= {"config.toml", "config.toml.bak"}


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_full_disk_leaves_the_old_file_and_no_litter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    file = tmp_path / "config.toml"
    file.write_text("old")

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(f"mtpchat.paths.os.{step}", refuse)
    with pytest.raises(StorageError) as caught:
        paths.write_atomically(file, "new")
    assert "No space left" in caught.value.message
    assert "free some space" in caught.value.hint
    assert caught.value.path == file
    assert [p.name for p in tmp_path.iterdir()] == ["config.toml"]
    assert file.read_text() == "old"


def test_a_file_in_the_way_of_a_folder_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "mtpchat").write_text("in the way")
    with pytest.raises(StorageError, match="Cannot create the folder"):
        paths.write_atomically(tmp_path / "mtpchat" / "themes" / "x.toml", "text")
    with pytest.raises(StorageError) as caught:
        paths.ensure_dir(tmp_path / "mtpchat")
    assert "not a folder" in caught.value.hint


def test_a_folder_in_the_way_of_the_file_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "config.toml").mkdir()
    with pytest.raises(StorageError, match="Cannot write"):
        paths.write_atomically(tmp_path / "config.toml", "text")


def test_bytes_are_written_as_they_are(tmp_path: Path) -> None:
    data = b"\x89PNG\r\n\x1a\n\x00\xff"
    paths.write_atomically(tmp_path / "chart.png", data)
    assert (tmp_path / "chart.png").read_bytes() == data


def test_text_that_is_not_unicode_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(StorageError):
        paths.write_atomically(tmp_path / "x", "\ud800")


@pytest.mark.skipif(sys.platform == "win32", reason="needs symbolic links")
def test_a_symbolic_link_stays_one(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "config.toml"
    real.parent.mkdir()
    real.write_text("old")
    link = tmp_path / "config.toml"
    link.symlink_to(real)
    paths.write_atomically(link, "new")
    assert link.is_symlink()
    assert real.read_text() == "new"
    assert paths.backup_of(real).read_text() == "old"


@pytest.mark.skipif(sys.platform == "win32", reason="needs permission bits")
def test_permissions_survive_a_write(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text("old")
    file.chmod(0o600)
    paths.write_atomically(file, "new")
    assert file.stat().st_mode & 0o777 == 0o600
