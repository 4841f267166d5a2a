"""The user's own editor: what comes back, and that nothing is lost where nothing does."""

from __future__ import annotations

import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from textual.app import App, SuspendNotSupported

from mtpchat.errors import EditorFailed
from mtpchat.ui.external_editor import edit, editor_command


class StillApp(App[None]):
    """Stands aside as the real one does, without a terminal."""

    @contextmanager
    def suspend(self) -> Iterator[None]:
        yield


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of temporary files, empty."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def an_editor(monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """An editor that is a line of Python; `path` is the file."""
    code = f"import sys, pathlib; path = pathlib.Path(sys.argv[1]); {script}"
    monkeypatch.setenv("VISUAL", f"{sys.executable} -c '{code}'")


def test_what_the_editor_saves_comes_back(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    an_editor(monkeypatch, 'path.write_text(path.read_text() + " and more\\n")')
    assert edit(StillApp(), "a word ⟦é⟧") == "a word ⟦é⟧ and more"
    assert list(desk.iterdir()) == []


def test_escapes_from_the_editor_are_harmless(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    an_editor(monkeypatch, 'path.write_bytes(b"a\\x1b[2Jb")')
    assert edit(StillApp(), "") == "a␛[2Jb"


def test_a_failing_editor_leaves_what_it_saved_where_it_is(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    an_editor(monkeypatch, 'path.write_text("long work"); sys.exit(3)')
    with pytest.raises(EditorFailed, match="ended with an error \\(3\\)") as caught:
        edit(StillApp(), "before")
    (left,) = desk.iterdir()
    assert str(left) in caught.value.hint
    assert left.read_text() == "long work"


def test_a_failing_editor_that_changed_nothing_leaves_no_file(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    an_editor(monkeypatch, "sys.exit(1)")
    with pytest.raises(EditorFailed):
        edit(StillApp(), "before")
    assert list(desk.iterdir()) == []


def test_ctrl_c_in_an_editor_that_leaves_it_to_the_terminal_does_not_reach_the_app(
    desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = signal.getsignal(signal.SIGINT)
    script = 'import os, signal; os.kill(os.getppid(), signal.SIGINT); path.write_text("saved nevertheless")'
    an_editor(monkeypatch, script)
    assert edit(StillApp(), "before") == "saved nevertheless"
    assert signal.getsignal(signal.SIGINT) is before


def test_the_editor_itself_minds_it(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    an_editor(monkeypatch, "import os, signal; os.kill(os.getpid(), signal.SIGINT)")
    with pytest.raises(EditorFailed, match="ended with an error"):
        edit(StillApp(), "before")


def test_a_missing_editor_is_named(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISUAL", "/no/such/editor --wait")
    with pytest.raises(EditorFailed, match=r"/no/such/editor --wait cannot be started") as caught:
        edit(StillApp(), "before")
    assert "VISUAL" in caught.value.hint
    assert list(desk.iterdir()) == []


def test_a_file_that_comes_back_as_something_else_is_kept(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    an_editor(monkeypatch, 'path.write_bytes(b"\\xff\\xfe")')
    with pytest.raises(EditorFailed, match="not UTF-8") as caught:
        edit(StillApp(), "before")
    (left,) = desk.iterdir()
    assert str(left) in caught.value.hint


def test_a_terminal_that_cannot_be_handed_over_is_said(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    an_editor(monkeypatch, "pass")

    class Fixed(App[None]):
        @contextmanager
        def suspend(self) -> Iterator[None]:
            raise SuspendNotSupported("no")
            yield

    with pytest.raises(EditorFailed, match="cannot be handed"):
        edit(Fixed(), "before")
    assert list(desk.iterdir()) == []


def test_visual_goes_before_editor_and_words_are_kept_apart() -> None:
    assert editor_command({"VISUAL": "code --wait", "EDITOR": "vi"}) == ["code", "--wait"]
    assert editor_command({"VISUAL": " ", "EDITOR": "'/a b/vi' -n"}) == ["/a b/vi", "-n"]
    with pytest.raises(EditorFailed, match="VISUAL cannot be read"):
        editor_command({"VISUAL": "'vi"})


def test_no_editor_at_all_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EditorFailed, match="No editor is set"):
        editor_command({})
