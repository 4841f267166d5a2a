"""A hard limit on the time that a benchmark takes: when it is up, the program and all that it has started are killed.

    if __name__ == "__main__":
        sys.exit(bounded(main, minutes=30))

The program runs in a child, and this process does nothing but wait. What the child has started is found by descent,
also where it runs in a terminal or a session of its own, as apps and servers do. On Linux that holds for those as well
that have lost their parent, because they become children of this process.

`BENCHMARK_MINUTES=90 python -m benchmarks.soak` sets another limit.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType

TIMED_OUT = 124
"""Exit code where the limit was reached, as with timeout(1)."""
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_LONGEST_END_S = 10.0


class _TimeIsUpError(BaseException):
    """Ends the waiting."""


def bounded(main: Callable[[], int | None], minutes: float, *, inside: bool = False) -> int:
    """Run a program in a child for so long at most; its exit code, or TIMED_OUT.

    Returns twice: in the child with what `main` returns.

    Args:
        inside: this process was itself started by such a program. The kernel ends it a minute later, should whoever
            started it be gone by then, even if Python is in a loop.
    """
    limit_s = 60 * float(os.environ.get("BENCHMARK_MINUTES") or minutes)
    if inside:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, limit_s + 60)
        return main() or 0
    _ask_kernel(_PR_SET_CHILD_SUBREAPER, 1)
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        _ask_kernel(_PR_SET_PDEATHSIG, signal.SIGKILL)
        return main() or 0
    try:
        code = _waited(child, limit_s)
    finally:
        left = _end_all()
    if code == TIMED_OUT:
        print(f"\nended after {limit_s / 60:g} minutes, with {left} processes (BENCHMARK_MINUTES)", file=sys.stderr)
    return code


def end_with_terminal() -> None:
    """From now on a hang-up ends this process at once; an app that is steered would wait for whoever steers it."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def _waited(child: int, limit_s: float) -> int:
    def up(_number: int, _frame: FrameType | None) -> None:
        raise _TimeIsUpError

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C reaches the child by itself, which may show what it has
    signal.signal(signal.SIGTERM, up)
    signal.signal(signal.SIGALRM, up)
    signal.setitimer(signal.ITIMER_REAL, limit_s)
    try:
        _, status = os.waitpid(child, 0)
    except _TimeIsUpError:
        return TIMED_OUT
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def _end_all() -> int:
    """Kill everything that descends from this process, again and again until nothing does; how many there were."""
    killed: set[int] = set()
    until = time.monotonic() + _LONGEST_END_S
    while (alive := _descendants(os.getpid())) and time.monotonic() < until:
        for pid in alive:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
            killed.add(pid)
        _reap()
    return len(killed)


def _reap() -> None:
    """Take note of children that have ended; what is not a child of ours is its parent's to take note of."""
    time.sleep(0.01)
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return


def _descendants(root: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for pid, parent in _processes():
        children.setdefault(parent, []).append(pid)
    found, todo = list[int](), [root]
    while todo:
        below = children.get(todo.pop(), [])
        found += below
        todo += below
    return found


def _processes() -> list[tuple[int, int]]:
    """(process, parent) of all, those among them that have ended and were not taken note of."""
    if not Path("/proc/self/stat").exists():
        told = subprocess.run(["ps", "-A", "-o", "pid=,ppid=,comm="], capture_output=True, text=True, check=True).stdout
        rows = [line.split(None, 2) for line in told.splitlines()]
        return [(int(pid), int(parent)) for pid, parent, name in rows if name.strip() != "ps"]
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal():
            continue
        try:
            parent = (entry / "stat").read_text().rpartition(")")[2].split()[1]
        except OSError:  # it is gone meanwhile
            continue
        found.append((int(entry.name), int(parent)))
    return found


def _ask_kernel(option: int, value: int) -> None:
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
