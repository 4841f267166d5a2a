"""A benchmark that never ends is ended, and nothing that it has started outlives it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.bounded import TIMED_OUT

ROOT = Path(__file__).parents[2]
HANGS = """
import signal, subprocess, sys
from benchmarks.bounded import bounded

def main():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    deaf = [sys.executable, "-c", "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"]
    alone = subprocess.Popen(deaf, start_new_session=True)
    # Its parent ends at once, so that it has none that anybody here has started.
    leaves = f"import subprocess; print(subprocess.Popen({deaf!r}).pid, flush=True)"
    orphan = subprocess.Popen([sys.executable, "-c", leaves])
    print(alone.pid, flush=True)
    orphan.wait()
    alone.wait()

sys.exit(bounded(main, minutes=float(sys.argv[1])))
"""


def run(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=50, check=False
    )


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="orphans are only found on Linux")
def test_what_never_ends_is_ended_with_all_that_it_has_started() -> None:
    done = run(HANGS, "0.02")
    assert done.returncode == TIMED_OUT
    assert "BENCHMARK_MINUTES" in done.stderr
    assert not [pid for pid in map(int, done.stdout.split()) if alive(pid)]


@pytest.mark.parametrize(("ending", "code"), [("return 3", 3), ("return None", 0), ("sys.exit(4)", 4), ("1 / 0", 1)])
def test_what_ends_by_itself_ends_as_without_a_limit(ending: str, code: int) -> None:
    program = (
        f"import sys\nfrom benchmarks.bounded import bounded\ndef main():\n    {ending}\nsys.exit(bounded(main, 1))"
    )
    assert run(program).returncode == code


def test_what_was_started_by_such_a_program_ends_although_nobody_waits_for_it() -> None:
    program = (
        "import sys\nfrom benchmarks import bounded as limit\n"
        "real = limit.signal.setitimer\nlimit.signal.setitimer = lambda which, _s: real(which, 0.2)\n"
        "def main():\n    while True:\n        pass\n"
        "sys.exit(limit.bounded(main, 1, inside=True))"
    )
    assert run(program).returncode == -signal.SIGALRM
