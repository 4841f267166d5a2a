"""Files without the app: -f, @file in the text of -p, and what is piped in."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mtpchat.cli import main
from mtpchat.log_file import stop_log
from mtpchat.messages import Attachment, Message
from tests.engine.test_headless import FakeEngine

Ask = Callable[..., Message]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a few files."""
    (tmp_path / "src").mkdir()
    (tmp_path / "notes.md").write_text("Rivers bend.\r\n")
    (tmp_path / "src" / "a b.py").write_text("x = 1")
    (tmp_path / "model.gguf").touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, place: Path) -> Iterator[Callable[..., tuple[int, FakeEngine]]]:
    def run(*argv: str, stdin: bytes = b"") -> tuple[int, FakeEngine]:
        engine = FakeEngine()
        monkeypatch.setattr("mtpchat.composition.open_engine", lambda *_: engine)
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        return main(["-m", str(place / "model.gguf"), *argv]), engine

    yield run
    stop_log()


@pytest.fixture
def ask(run: Callable[..., tuple[int, FakeEngine]]) -> Ask:
    """The message that reaches the engine."""

    def ask(*argv: str, stdin: bytes = b"") -> Message:
        code, engine = run(*argv, stdin=stdin)
        assert code == 0
        assert engine.request is not None
        return engine.request.messages[-1]

    return ask


NOTES = Attachment("notes.md", "Rivers bend.\n")
CODE = Attachment("src/a b.py", "x = 1")


def test_files_of_flags_come_before_those_that_the_text_mentions(ask: Ask) -> None:
    said = ask("-p", "What is @notes.md?", "-f", "src/a b.py")
    assert said == Message("user", "What is @notes.md?", attachments=(CODE, NOTES))


def test_a_file_goes_along_once_however_often_it_is_named(ask: Ask, place: Path) -> None:
    said = ask("-p", "@notes.md", "--file", "notes.md", "-f", str(place / "notes.md"))
    assert said.attachments == (NOTES,)


def test_a_folder_goes_along_with_its_files(ask: Ask) -> None:
    assert ask("-p", "Explain", "-f", "src").attachments == (CODE,)
    assert ask("-p", "Explain @src/").attachments == (CODE,)


def test_what_is_piped_in_mentions_no_files(ask: Ask) -> None:
    said = ask("-p", "Explain:", stdin=b"@notes.md\n")
    assert said == Message("user", "Explain:\n\n@notes.md")


def test_a_file_alone_can_be_answered(ask: Ask) -> None:
    assert ask("-f", "notes.md") == Message("user", "", attachments=(NOTES,))


def test_mentions_of_nothing_stay_text(ask: Ask) -> None:
    assert ask("-p", "me@notes.md or @gone.md") == Message("user", "me@notes.md or @gone.md")


@pytest.mark.parametrize(
    ("argv", "complaint"),
    [
        (["-f", "gone.md"], "There is no file gone.md"),
        (["-f", "pipe"], "pipe is a pipe, no file"),
        (["-p", "what is @/dev/zero"], "/dev/zero is a device, no file"),
        (["-f", "picture.txt"], "picture.txt is a picture, no text"),
    ],
)
def test_a_file_that_cannot_go_along_ends_it_before_a_model_is_loaded(
    run: Callable[..., tuple[int, FakeEngine]],
    place: Path,
    capsys: pytest.CaptureFixture[str],
    argv: list[str],
    complaint: str,
) -> None:
    os.mkfifo(place / "pipe")
    (place / "picture.txt").write_bytes(b"\x89PNG\r\n\x1a\n\x00")
    code, engine = run("-p", "Explain", *argv)
    assert code == 2
    assert engine.plan is None
    assert complaint in capsys.readouterr().err


def test_an_encoding_of_the_past_is_told_on_stderr(ask: Ask, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "old.txt").write_text("häufig schöne Straßen " * 30, encoding="utf-16")
    ask("-p", "Explain", "-f", "old.txt")
    assert "old.txt: read as UTF-16" in capsys.readouterr().err


def test_the_limit_is_a_setting(
    run: Callable[..., tuple[int, FakeEngine]], place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "settings.toml").write_text("[chats]\nattachments_max_mb = 1\n")
    (place / "large.txt").write_text("x" * 1_000_001)
    code, _engine = run("--config", "settings.toml", "-p", "Explain", "-f", "large.txt")
    assert code == 2
    assert "at most 1 MB of a file are read" in capsys.readouterr().err
