"""A closed standard output, a full disk behind it, and a reader that goes away: said, and in the exit code."""

from __future__ import annotations

import errno
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mtpchat.cli import main
from mtpchat.cli_streams import tell_failure
from mtpchat.headless_output import Notes, write_out
from tests.models import TinyModel

FULL = Path("/dev/full")
UNWRITABLE = "mtpchat: Standard output cannot be written: No space left on device."
QUICK = [
    ["--version"],
    ["help", "pull"],
    ["config", "show"],
    ["models"],
    ["models", "--json"],
    ["inspect", "MODEL"],
    ["plan", "MODEL"],
    ["chats", "list"],
    ["stats"],
    ["-p", "hi", "--json"],
]
"""One command for each way in which something is shown."""


def run(argv: list[str], redirection: str) -> subprocess.CompletedProcess[str]:
    command = f'exec "$0" -m mtpchat "$@" {redirection}'
    return subprocess.run(
        ["sh", "-c", command, sys.executable, *argv],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        env={name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"},
    )


@pytest.mark.skipif(sys.platform == "win32", reason="shells elsewhere close no streams")
def test_with_stdout_closed_nothing_is_done_and_that_is_said(isolated_home: Path) -> None:
    done = run(["config", "init"], ">&-")
    said = "mtpchat: Standard output is closed: what is to be shown has nowhere to go."
    assert (done.returncode, done.stderr.splitlines()[0]) == (1, said)
    assert not (isolated_home / ".config").exists()
    assert run(["--version"], ">&- 2>&-").returncode == 1


@pytest.mark.skipif(not FULL.exists(), reason="there is no disk that is always full")
def test_a_full_disk_behind_stdout_is_noticed_although_little_is_written() -> None:
    done = run(["--version"], f">{FULL}")
    assert (done.returncode, done.stderr) == (1, f"{UNWRITABLE}\n")


class FullDisk(io.StringIO):
    """Takes what is written, as a buffer does, and has no room for it."""

    def flush(self) -> None:
        if self.getvalue():
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("argv", QUICK, ids=" ".join)
def test_a_full_disk_behind_stdout_is_said_by_every_command(
    argv: list[str], hybrid_random: TinyModel, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"")))
    monkeypatch.setattr("sys.stdout", FullDisk())
    assert main([str(hybrid_random.path) if word == "MODEL" else word for word in argv]) == 1
    assert capsys.readouterr().err.splitlines()[-1] == UNWRITABLE


@pytest.mark.skipif(not FULL.exists(), reason="there is no disk that is always full")
def test_a_full_disk_behind_stderr_changes_no_exit_code() -> None:
    done = run(["--no-such-flag"], f"2>{FULL}")
    assert (done.returncode, done.stderr) == (2, "")


@pytest.mark.skipif(sys.platform == "win32", reason="descriptors are inherited on POSIX systems")
def test_closed_descriptors_are_not_given_to_the_next_file() -> None:
    code = (
        "import os, sys\nfrom mtpchat.cli_streams import standard_streams\nstandard_streams()\n"
        "sys.exit(os.open(os.devnull, os.O_RDONLY) < 3)"
    )
    closed = subprocess.run(["sh", "-c", 'exec "$0" -c "$1" <&- >&- 2>&-', sys.executable, code], check=False)
    assert closed.returncode == 0


class Left(io.StringIO):
    """A pipe whose reader has gone."""

    def flush(self) -> None:
        raise BrokenPipeError


def test_a_reader_that_has_left_does_not_turn_a_finding_into_a_success(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", io.StringIO())
    write_out(Left(), "1 thing to mend\n")  # nothing is raised, so that the exit code is that of what was found


def test_a_file_that_stands_in_the_way_is_named() -> None:
    said = io.StringIO()
    tell_failure(PermissionError(13, "Permission denied", "/etc/shadow"), said)
    assert said.getvalue() == "mtpchat: /etc/shadow: Permission denied.\n"


def test_notes_that_nobody_can_read_are_let_go() -> None:
    class Full(io.StringIO):
        def write(self, _text: str) -> int:
            raise OSError(28, os.strerror(28))

    Notes(Full()).error("it does not work", "")
