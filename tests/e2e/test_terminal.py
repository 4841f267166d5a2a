"""The program in a real terminal: start, speak, read the reply, leave; and the terminal is as it was."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pexpect
import pytest

from tests.models import TinyModel

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(90)]

ALTERNATE_SCREEN, ORDINARY_SCREEN = "\x1b[?1049h", "\x1b[?1049l"


class Terminal:
    """mtpchat in a pseudo-terminal. Its standard error goes to a file, which must stay empty."""

    def __init__(self, arguments: list[str], errors: Path, columns: int = 80, rows: int = 24) -> None:
        command = " ".join([sys.executable, "-m", "mtpchat", *arguments, "2>", str(errors)])
        environment = {**os.environ, "TERM": "xterm-256color", "LANG": "C.UTF-8", "OMP_NUM_THREADS": "1"}
        self.errors = errors
        self.child = pexpect.spawn(
            "/bin/sh",
            ["-c", f"exec {command}"],
            dimensions=(rows, columns),
            encoding="utf-8",
            timeout=40,
            env=environment,
            codec_errors="replace",
        )
        self.before = termios.tcgetattr(self.child.child_fd)

    def wait_for(self, text: str) -> None:
        self.child.expect_exact(text)

    def type(self, text: str) -> None:
        self.child.send(text)

    def ended(self) -> int:
        """Wait for the end; the exit code."""
        self.child.expect(pexpect.EOF)
        self.child.close()
        return self.child.exitstatus if self.child.exitstatus is not None else -int(self.child.signalstatus or 0)


@contextmanager
def terminal(arguments: list[str], tmp_path: Path, **size: int) -> Iterator[Terminal]:
    opened = Terminal(arguments, tmp_path / "stderr", **size)
    try:
        yield opened
    finally:
        opened.child.close(force=True)


def model_arguments(model: TinyModel) -> list[str]:
    return ["-m", str(model.path), "-t", "1", "-c", "512", "--temp", "0"]


@pytest.mark.parametrize(("columns", "rows"), [(60, 20), (160, 48)])
def test_a_question_is_answered_and_the_terminal_is_given_back(
    short_answer: TinyModel, tmp_path: Path, columns: int, rows: int
) -> None:
    with terminal(model_arguments(short_answer), tmp_path, columns=columns, rows=rows) as app:
        app.wait_for(ALTERNATE_SCREEN)
        app.wait_for("Ask anything")
        app.type("hello\r")
        app.wait_for("thought for")
        app.type("/quit\r")
        app.wait_for(ORDINARY_SCREEN)
        assert app.ended() == 0
        assert app.errors.read_bytes() == b""


def test_the_size_is_that_of_the_terminal_whatever_the_environment_says(
    short_answer: TinyModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("LINES", "40")
    with terminal(model_arguments(short_answer), tmp_path, columns=100, rows=31) as app:
        app.wait_for("quit")
        rows = [int(row) for row in re.findall(r"\x1b\[(\d+);\d+H", app.child.before)]
        assert max(rows) == 31


@pytest.mark.parametrize("shown", ["", ALTERNATE_SCREEN, "Ask anything"], ids=["nothing", "empty screen", "prompt"])
def test_what_is_typed_while_the_program_starts_is_answered(
    short_answer: TinyModel, tmp_path: Path, shown: str
) -> None:
    with terminal(model_arguments(short_answer), tmp_path) as app:
        app.wait_for(shown)
        app.type("hello\r")  # when the prompt stands, the model may not be there yet
        app.wait_for("thought for")
        app.type("/quit\r")
        assert app.ended() == 0


def test_two_interrupts_leave(short_answer: TinyModel, tmp_path: Path) -> None:
    with terminal(model_arguments(short_answer), tmp_path) as app:
        app.wait_for(ALTERNATE_SCREEN)
        app.wait_for("Ask anything")
        app.type("\x03")
        app.wait_for("once more")
        app.type("\x03")
        assert app.ended() == 0
        assert app.errors.read_bytes() == b""


def test_a_bad_model_is_said_on_the_screen_and_another_can_be_loaded(short_answer: TinyModel, tmp_path: Path) -> None:
    letter = tmp_path / "letter.gguf"
    letter.write_text("Dear model, " * 100)
    with terminal(["-m", str(letter), "-t", "1"], tmp_path) as app:
        app.wait_for("no model loaded")
        app.type(f"/model {short_answer.path}\r")
        app.wait_for("n-gram")
        app.type("hello\r")
        app.wait_for("thought for")
        app.type("/quit\r")
        assert app.ended() == 0


def run(arguments: list[str], **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mtpchat", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        **options,  # type: ignore[call-overload]
    )


def test_one_answer_in_a_pipe(short_answer: TinyModel) -> None:
    done = run([*model_arguments(short_answer), "--json"], input="hello")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["finish_reason"] == "stop"
    assert told["thinking"]
    assert told["usage"]["completion_tokens"] > 5
    assert told["speculation"]["kind"] == "ngram"


def test_the_same_seed_says_the_same_with_and_without_speculation(hybrid: Callable[[float], TinyModel]) -> None:
    model = ["-m", str(hybrid(0.7).path), "-t", "1", "-c", "512", "--temp", "1", "-s", "9", "-n", "40", "-p", "hi"]
    plain, drafted = (
        run([*model, "--spec", "none"]),
        run([*model, "--spec", "mtp", "--draft-max", "3", "--draft-min", "3"]),
    )
    assert plain.stdout == drafted.stdout
    assert len(plain.stdout) > 40
