"""What only the folder of temporary files had room for is read back, and nothing that others put there is."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from mtpchat.chats import Renamed
from mtpchat.store import reading, rescue
from mtpchat.store.chat_store import ChatStore
from tests.store.talk import Talk, looked_up, settled

OPEN = Callable[..., ChatStore]
POSIX = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="owners of POSIX")


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of temporary files; there is no room elsewhere."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    nowhere = tmp_path / "a file"
    nowhere.write_text("")
    monkeypatch.setattr(rescue, "_places", lambda chats: ((nowhere, "x-"), (nowhere, "y-")))
    return folder


def unsaved(open_store: OPEN, path: Path) -> Path:
    """A turn that could not be saved, and where it is."""
    path.mkdir(parents=True)
    store = open_store()
    Talk(store).turn("Where was I?", "Here.")
    assert "kept in" in store.close()
    path.rmdir()
    (kept,) = rescue.waiting(path)
    return kept


def said(path: Path) -> list[str]:
    lines = looked_up(path, lambda connection: reading.recent(connection, 9))
    return [one.content for line in lines for one in looked_up(path, lambda c, i=line.id: reading.load(c, i)).path]  # type: ignore[misc]


def test_it_is_read_back_by_the_next_start_and_nothing_is_left(open_store: OPEN, path: Path, temporary: Path) -> None:
    kept = unsaved(open_store, path)
    assert kept.is_relative_to(temporary)
    settled(open_store())
    assert said(path) == ["Where was I?", "Here."]
    assert list(temporary.iterdir()) == []


@POSIX
def test_nobody_else_can_read_it(open_store: OPEN, path: Path, temporary: Path) -> None:
    kept = unsaved(open_store, path)
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert stat.S_IMODE(kept.parent.stat().st_mode) == 0o700


def test_chats_of_another_file_stay_where_they_are(open_store: OPEN, path: Path, temporary: Path) -> None:
    kept = unsaved(open_store, path)
    assert rescue.waiting(path.with_name("others.db")) == []
    assert kept.exists()


@POSIX
@pytest.mark.parametrize("what", ["open to all", "a link", "a file", "somebody else's"])
def test_a_folder_that_others_may_have_made_is_left_alone(
    open_store: OPEN, path: Path, temporary: Path, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = unsaved(open_store, path)
    folder = kept.parent
    match what:
        case "open to all":
            folder.chmod(0o777)
        case "a link":
            folder.rename(temporary / "elsewhere")
            folder.symlink_to(temporary / "elsewhere")
        case "a file":
            kept.rename(temporary / "kept")
            folder.rmdir()
            (temporary / "kept").rename(folder)
        case _:
            monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    settled(open_store())
    assert said(path) == []
    assert folder.exists()


@POSIX
@pytest.mark.parametrize("what", ["a link", "a pipe", "a folder", "somebody else's"])
def test_what_is_not_the_users_file_is_not_taken_for_the_users_words(
    open_store: OPEN, path: Path, tmp_path: Path, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store()
    Talk(store).turn("Mine?", "Yes.")
    store.close()
    kept = rescue.keep([Renamed("aaaa00000001", "Planted")], path)
    assert kept is not None
    match what:
        case "a link":
            kept.rename(tmp_path / "elsewhere")
            kept.symlink_to(tmp_path / "elsewhere")
        case "a pipe":
            kept.unlink()
            os.mkfifo(kept)
        case "a folder":
            kept.unlink()
            kept.mkdir()
        case _:
            owner = os.getuid() + 1
            monkeypatch.setattr(os, "geteuid", lambda: owner)
            monkeypatch.setattr(rescue, "_owner_of", lambda folder: owner)
    settled(open_store())
    (line,) = looked_up(path, lambda connection: reading.recent(connection, 9))
    assert line.title == "Mine?"
    assert os.path.lexists(kept)


def test_a_folder_of_temporary_files_that_is_none_costs_nothing(
    open_store: OPEN, path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    store = open_store()
    Talk(store).turn("One?", "1.")
    settled(store)
    assert said(path) == ["One?", "1."]
