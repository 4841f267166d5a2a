"""What is typed, in a real terminal: it survives a kill, and one's own editor gets the terminal and gives it back."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest

from tests.e2e.test_crash import LEFT_ALONE, answering, drafts, mortal
from tests.e2e.test_kept_chats import said, until
from tests.e2e.test_terminal import ALTERNATE_SCREEN, ORDINARY_SCREEN, model_arguments, terminal
from tests.models import TinyModel

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(90)]


def test_a_kill_costs_neither_what_was_said_nor_what_waits_nor_what_is_being_typed(
    dense_model: TinyModel, tmp_path: Path
) -> None:
    arguments = [*model_arguments(dense_model), *LEFT_ALONE]
    with mortal(arguments, tmp_path) as app:
        answering(app)
        app.type("waiting one\r")
        app.type("half typed")
        until(app, lambda: "waiting one" in drafts() and "half typed" in drafts())
        app.kill(signal.SIGKILL)
        app.left()
    question, answer = said()
    assert question == ("user", "hello", True)
    assert answer[1]
    assert not answer[2]
    with terminal([*arguments, "--continue"], tmp_path) as app:
        app.wait_for("waiting one")
        app.wait_for("not sent yet")
        app.wait_for("half typed")
        app.type("\x03\x03")
        assert app.ended() == 0
        assert app.errors.read_bytes() == b""
    assert "waiting one" in drafts()


def test_the_editor_gets_the_terminal_and_its_text_the_prompt(
    short_answer: TinyModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor = tmp_path / "editor.py"
    editor.write_text(
        "import sys, pathlib\n"
        "assert sys.stdin.isatty() and sys.stdout.isatty() and sys.stderr.isatty()\n"
        "path = pathlib.Path(sys.argv[-1])\n"
        "word = input('the editor asks: ')\n"
        "path.write_text(path.read_text() + word)\n"
    )
    monkeypatch.setenv("VISUAL", f"{sys.executable} {editor}")
    with terminal(model_arguments(short_answer), tmp_path) as app:
        app.wait_for(ALTERNATE_SCREEN)
        app.wait_for("n-gram")
        app.type("first and ")
        app.type("\x07")
        app.wait_for(ORDINARY_SCREEN)
        app.wait_for("the editor asks: ")
        app.type("second\n")
        app.wait_for(ALTERNATE_SCREEN)
        app.wait_for("first and second")
        app.type("\x03\x03")
        assert app.ended() == 0
        assert app.errors.read_bytes() == b""
