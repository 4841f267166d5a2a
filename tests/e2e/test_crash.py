"""The program dies in a real terminal, by its own hand or another's: what is left of it, what the next start says."""

from __future__ import annotations

import os
import shlex
import signal
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path

import pexpect
import platformdirs
import pytest

from mtpchat.paths import drafts_dir, log_dir
from tests.e2e.test_kept_chats import kept, said, so_far, something_is_said, until
from tests.e2e.test_terminal import ALTERNATE_SCREEN, ORDINARY_SCREEN, Terminal, model_arguments, terminal
from tests.models import TinyModel

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(90)]

TOO_WIDE = """
import sys
from mtpchat.backend.llama.batch import Batch
from mtpchat.backend.llama.target import LlamaTarget
from mtpchat.cli import main

decode, flag = LlamaTarget.decode, sys.argv.pop(1)

def deadly(self, tokens, **options):
    import pathlib, time
    time.sleep(0.01)
    if pathlib.Path(flag).exists():
        batch = Batch(2048)
        self._lib.llama_decode(self.handle, batch.fill([1] * 1024, self.length, wanted="last"))
    return decode(self, tokens, **options)

LlamaTarget.decode = deadly
sys.exit(main(sys.argv[1:]))
"""
"""The app with a slow model; once a file exists, a decode of more tokens than the batch holds gets to llama.cpp."""
ROOT = Path(__file__).resolve().parents[2]
LEFT_ALONE = ["-n", "0", "-c", "2048"]


class Mortal(Terminal):
    """The app in a terminal that belongs to a shell, as people start it: what owns a terminal takes it along.

    A fault in it waits for its time.
    """

    def __init__(self, arguments: list[str], tmp_path: Path) -> None:
        script, self.flag = tmp_path / "mortal.py", tmp_path / "now"
        script.write_text(TOO_WIDE)
        command = shlex.join([sys.executable, str(script), str(self.flag), *arguments])
        self.errors = tmp_path / "stderr"
        self.child = pexpect.spawn(
            "/bin/sh",
            ["-c", f"{command} 2>{self.errors}; echo left with $?; read -r _"],
            dimensions=(24, 80),
            encoding="utf-8",
            timeout=40,
            env={**os.environ, "TERM": "xterm-256color", "LANG": "C.UTF-8", "PYTHONPATH": str(ROOT)},
            codec_errors="replace",
        )
        self.before = termios.tcgetattr(self.child.child_fd)

    def kill(self, number: int) -> None:
        """Send a signal to the app."""
        (record,) = running().glob("*.run")
        os.kill(int(record.stem), number)

    def left(self, *, dies: bool = True) -> str:
        """What stands on the ordinary screen once everything has settled; the line discipline is then as it was."""
        shown = everything_shown(self)
        ends = ["left with", ORDINARY_SCREEN, *(["The log: "] if dies else [])]
        until(self, lambda: all(end in shown.getvalue() for end in ends))
        until(self, lambda: shown.getvalue().endswith("\n"))
        assert termios.tcgetattr(self.child.child_fd) == self.before
        self.type("\r")
        self.child.expect(pexpect.EOF)
        left = shown.getvalue().rpartition(ORDINARY_SCREEN)[2]
        assert ALTERNATE_SCREEN not in left
        assert "\x1b[?25h" in left
        return " ".join(left.split())


def running() -> Path:
    return platformdirs.user_state_path("mtpchat", appauthor=False) / "running"


@contextmanager
def mortal(arguments: list[str], tmp_path: Path) -> Iterator[Mortal]:
    opened = Mortal(arguments, tmp_path)
    try:
        yield opened
    finally:
        opened.child.close(force=True)


def drafts() -> str:
    """What is kept of what was typed and not sent."""
    return "".join(path.read_text() for path in drafts_dir().glob("*.json"))


def answering(app: Terminal) -> None:
    """Ask something and wait until some of the answer is kept."""
    app.wait_for("Ask anything")
    app.type("hello\r")
    until(app, something_is_said)


def everything_shown(app: Terminal) -> StringIO:
    """Collects what the app paints from now on."""
    app.child.logfile_read = StringIO()
    return app.child.logfile_read


def test_an_assertion_of_llama_cpp_in_the_middle_of_an_answer(dense_model: TinyModel, tmp_path: Path) -> None:
    arguments = [*model_arguments(dense_model), *LEFT_ALONE]
    with mortal(arguments, tmp_path) as app:
        answering(app)
        app.flag.touch()
        left = app.left()
    assert "ended abruptly: llama.cpp: llama-context.cpp:" in left
    assert "GGML_ASSERT(" in left
    assert "Go on with the chat: mtpchat --continue." in left
    log = (log_dir() / "mtpchat.log").read_text()
    assert "Fatal Python error: Aborted" in log
    assert "deadly" in log  # where it was
    assert "GGML_ASSERT(" in (log_dir() / "llama.log").read_text()
    question, answer = said()
    assert question == ("user", "hello", True)
    assert answer[1]
    assert not answer[2]
    with terminal([*arguments, "--continue"], tmp_path) as app:
        app.wait_for("ended abruptly")
        app.wait_for("/mtp")
        app.type("/continue\r")
        until(app, lambda: any(len(one.thinking + one.content) > len(answer[1]) for one in so_far()[1:]))
        app.type("\x03\x03")
        assert app.ended() == 0
    with terminal(arguments, tmp_path) as app:  # it is told once
        shown = everything_shown(app)
        app.wait_for("n-gram")
        app.type("/quit\r")
        assert app.ended() == 0
        assert "abruptly" not in shown.getvalue()
    assert len(kept()) == 1


@pytest.mark.parametrize("name", ["SIGKILL", "SIGSEGV"])
def test_a_signal_in_the_middle_of_an_answer(dense_model: TinyModel, tmp_path: Path, name: str) -> None:
    arguments = [*model_arguments(dense_model), *LEFT_ALONE]
    with mortal(arguments, tmp_path) as app:
        answering(app)
        app.kill(getattr(signal, name))
        left = app.left()
    words = {"SIGKILL": "it was killed, perhaps because memory ran out", "SIGSEGV": "Segmentation fault"}
    assert f"ended abruptly: {words[name]}. Go on with the chat: mtpchat --continue." in left
    assert said()[1][1]
    with terminal(arguments, tmp_path) as app:
        app.wait_for("ended abruptly")
        app.wait_for("/chats")
        app.type("/chats 1\r")
        app.wait_for("2 messages")
        app.type("/quit\r")
        assert app.ended() == 0


@pytest.mark.parametrize("way", ["keys", "SIGTERM", "SIGHUP"])
def test_leaving_in_the_middle_of_an_answer_leaves_nothing_behind_and_costs_nothing(
    dense_model: TinyModel, tmp_path: Path, way: str
) -> None:
    with mortal([*model_arguments(dense_model), *LEFT_ALONE], tmp_path) as app:
        answering(app)
        app.type("waiting one\r")
        app.type("half typed")
        until(app, lambda: "waiting one" in drafts() and "half typed" in drafts())
        if way == "keys":
            app.type("\x03\x03")
        else:
            app.kill(getattr(signal, way))
        assert "abruptly" not in app.left(dies=False)
        assert not list(running().iterdir())
        assert app.errors.read_bytes() == b""
    assert "waiting one" in drafts()
    assert "half typed" in drafts()
    question, answer = said()
    assert question == ("user", "hello", True)
    assert answer[1]
    assert not answer[2]


def test_a_setting_leaves_speculation_on_after_a_death(dense_model: TinyModel, tmp_path: Path) -> None:
    config = tmp_path / "keep.toml"
    config.write_text('[speculative]\nafter_crash = "keep"\n')
    arguments = [*model_arguments(dense_model), "--config", str(config)]
    with mortal(arguments, tmp_path) as app:
        app.wait_for("n-gram")
        app.kill(signal.SIGKILL)
        app.left()
    with terminal(arguments, tmp_path) as app:
        shown = everything_shown(app)
        app.wait_for("ended abruptly")
        app.wait_for("/chats")
        app.type("/quit\r")
        assert app.ended() == 0
        assert "/mtp" not in shown.getvalue()
