"""The terminal belongs to the app while it runs, and is given back whatever happens. Run in a real pseudo-terminal."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mtpchat.ui.terminal_guard import _stty_state

pty = pytest.importorskip("pty")
termios = pytest.importorskip("termios")

ROOT = Path(__file__).resolve().parents[2]
HEAD = """
import os, sys, tty
from pathlib import Path
from mtpchat.ui.terminal_guard import guarded_terminal
log = Path(sys.argv[1])
"""


def run_in_terminal(code: str, log: Path) -> tuple[int, str, bool]:
    """Run `code` in a pseudo-terminal: status, what appeared there, whether its line discipline is as before."""
    leader, follower = pty.openpty()
    before = termios.tcgetattr(follower)
    child = subprocess.Popen(
        [sys.executable, "-c", HEAD + code, str(log)],
        stdin=follower,
        stdout=follower,
        stderr=follower,
        cwd=ROOT,
        env={**os.environ, "TERM": "xterm"},
        start_new_session=True,
    )
    status = child.wait(timeout=30)
    shown = _drain(leader, follower, until=b"The log: " if status else b"")
    restored = termios.tcgetattr(follower) == before
    os.close(leader)
    os.close(follower)
    return status, shown, restored


def _drain(leader: int, follower: int, until: bytes) -> str:
    """All that was written; `until` is what a process that outlives the child writes last."""
    data = b""
    if not until:
        os.write(follower, b"<end>")
        until = b"<end>"
    while until not in data:
        data += os.read(leader, 4096)
    return data.decode(errors="replace")


def test_native_noise_goes_to_the_log_and_the_app_paints_on_the_terminal(tmp_path: Path) -> None:
    log = tmp_path / "logs" / "mtpchat.log"
    code = """
with guarded_terminal(log):
    os.write(2, b"ggml noise")
    os.write(1, b"more noise")
    print("warning", file=sys.stderr)
    sys.__stderr__.write("PAINT"); sys.__stderr__.flush()
    assert os.get_terminal_size(sys.__stdout__.fileno())
print("after", file=sys.stderr)
"""
    status, shown, restored = run_in_terminal(code, log)
    assert status == 0
    assert "PAINT" in shown
    assert "after" in shown
    assert "noise" not in shown
    assert "warning" not in shown
    assert restored
    written = log.read_text()
    for word in ("ggml noise", "more noise", "warning"):
        assert word in written


def test_an_exception_gives_the_terminal_back(tmp_path: Path) -> None:
    code = """
try:
    with guarded_terminal(log):
        tty.setraw(0)
        sys.__stderr__.write("\\x1b[?1049h"); sys.__stderr__.flush()
        raise RuntimeError("crash")
except RuntimeError:
    print("caught")
"""
    status, shown, restored = run_in_terminal(code, tmp_path / "log")
    assert status == 0
    assert restored
    assert shown.index("\x1b[?1049l") < shown.index("caught")
    assert "\x1b[?25h" in shown


def test_a_process_that_aborts_leaves_a_usable_terminal(tmp_path: Path) -> None:
    code = """
with guarded_terminal(log):
    tty.setraw(0)
    sys.__stderr__.write("\\x1b[?1049h"); sys.__stderr__.flush()
    os.abort()
"""
    status, shown, restored = run_in_terminal(code, tmp_path / "log")
    assert status < 0
    assert restored
    assert shown.index("\x1b[?1049l") < shown.index("abruptly")


def test_a_log_that_cannot_be_written_costs_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    code = "with guarded_terminal(log):\n    os.write(2, b'noise')\nprint('fine')\n"
    status, shown, _ = run_in_terminal(code, tmp_path / "file" / "log")
    assert status == 0
    assert "fine" in shown
    assert "noise" not in shown


def test_a_killed_process_leaves_a_usable_terminal_and_its_last_words(tmp_path: Path) -> None:
    record, log = tmp_path / "1.run", tmp_path / "log"
    record.write_text("{}\nllama.cpp: ggml.c:1: ASSERT(%s) \x1b[2J failed\nFatal Python error: Aborted\n")
    code = f"""
import signal
with guarded_terminal(log, Path({str(record)!r}), "Go on: mtpchat --continue."):
    tty.setraw(0)
    sys.__stderr__.write("\\x1b[?1049h"); sys.__stderr__.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""
    status, shown, restored = run_in_terminal(code, log)
    assert status == -9
    assert restored
    assert "abruptly: llama.cpp: ggml.c:1: ASSERT(%s) [2J failed. Go on: mtpchat --continue." in shown
    assert "Fatal Python error: Aborted" in log.read_text()


def test_a_terminal_that_a_shell_has_taken_back_is_not_touched(tmp_path: Path) -> None:
    code = """
with guarded_terminal(log):
    import termios
    mode = termios.tcgetattr(0)
    mode[3] &= ~(termios.ICANON | termios.ECHO)
    termios.tcsetattr(0, termios.TCSANOW, mode)
    os.abort()
"""
    status, shown, restored = run_in_terminal(code, tmp_path / "log")
    assert status < 0
    assert "abruptly" in shown
    assert not restored


@pytest.mark.parametrize("blow", ["SIGSTOP", "SIGKILL"])
def test_a_watcher_that_does_not_listen_is_no_hindrance(tmp_path: Path, blow: str) -> None:
    code = f"""
import signal, subprocess
from mtpchat.ui import terminal_guard
terminal_guard._GOODBYE_S = 0.2
started = []
class Popen(subprocess.Popen):
    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        started.append(self)
terminal_guard.subprocess.Popen = Popen
with guarded_terminal(log):
    os.kill(started[-1].pid, signal.{blow})
assert started[-1].returncode is not None
print("left")
"""
    status, shown, restored = run_in_terminal(code, tmp_path / "log")
    assert status == 0
    assert restored
    assert "left" in shown
    assert "abruptly" not in shown


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere stty itself is asked")
def test_the_line_discipline_is_written_as_stty_writes_it() -> None:
    leader, follower = pty.openpty()
    mode = termios.tcgetattr(follower)
    mode[3] &= ~termios.ECHO
    mode[6][termios.VINTR] = b"\xff"
    termios.tcsetattr(follower, termios.TCSANOW, mode)
    told = subprocess.run(["stty", "-g"], stdin=follower, capture_output=True, text=True, check=True).stdout.strip()
    with os.fdopen(follower, "w") as terminal:
        assert _stty_state(terminal) == told
    os.close(leader)
