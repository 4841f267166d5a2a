"""The app in a real pseudo-terminal of 80 by 24 cells, and headless answers, for the scripts beside this file.

What the terminal is sent is read without a pause, as a terminal does. The counters of the answer are written to a file
by the app's own process when the answer is finished: the very TurnStats that the screen shows.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pexpect

COLUMNS, ROWS = 80, 24
FIRST_FRAME = "Ask anything"
"""The invitation in the empty prompt: when it is on the screen, the app can be used."""

_LAUNCHER = """
import json, os, resource, sys
from dataclasses import asdict
from mtpchat.engine.service import EngineService
from mtpchat.events import Finished

stream = EngineService.stream

async def told(self, request):
    async for event in stream(self, request):
        yield event
        if isinstance(event, Finished):
            resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            note = {"stats": asdict(event.stats), "resident_kb": resident / (1024 if sys.platform == "darwin" else 1)}
            path = os.environ["TURN_STATS_FILE"]
            with open(path + ".part", "w") as file:
                json.dump(note, file)
            os.replace(path + ".part", path)

EngineService.stream = told
from mtpchat.cli import main
sys.exit(main(sys.argv[1:]))
"""


def environment(home: Path, stats: Path) -> dict[str, str]:
    """A home of its own, so that no settings and no history of the user's play a part."""
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH") if name in os.environ}
    folders = {
        name: str(home / name) for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME")
    }
    terminal = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8"}
    return {**kept, **folders, **terminal, "HOME": str(home), "TURN_STATS_FILE": str(stats)}


def spawn(command: list[str], home: Path, stats: Path, size: tuple[int, int] = (ROWS, COLUMNS)) -> pexpect.spawn:
    """Start a program in a terminal of that many rows and columns."""
    return pexpect.spawn(
        command[0], command[1:], dimensions=size, env=environment(home, stats), timeout=600, maxread=65536
    )


def counted_by(command: list[str], size: tuple[int, int] = (ROWS, COLUMNS)) -> Any:
    """What a program counts while it runs in a terminal of its own.

    It gets the name of a file behind its other arguments and writes JSON to it. Raises SystemExit with its last words
    if it ends without.
    """
    with tempfile.TemporaryDirectory() as home:
        result = Path(home, "result.json")
        child = spawn([*command, str(result)], Path(home), result, size)
        said = b""
        while child.isalive() or not result.exists():
            try:
                said = (said + child.read_nonblocking(65536, timeout=1))[-4000:]
            except pexpect.TIMEOUT:
                continue
            except pexpect.EOF:
                break
        child.close(force=True)
        if not result.exists():
            raise SystemExit(said.decode(errors="replace"))
        return json.loads(result.read_text())


def first_frame_s(arguments: list[str]) -> float:
    """Seconds from the start of the process until the prompt stands on the screen."""
    with tempfile.TemporaryDirectory() as home:
        began = time.perf_counter()
        child = spawn([sys.executable, "-m", "mtpchat", *arguments], Path(home), Path(home, "stats"))
        try:
            child.expect_exact(FIRST_FRAME.encode())
            return time.perf_counter() - began
        finally:
            child.close(force=True)


def answered(
    arguments: list[str], prompt: str, *, keys: str = "", size: tuple[int, int] = (ROWS, COLUMNS)
) -> tuple[dict[str, Any], float]:
    """Ask once in the app.

    Args:
        keys: pressed before the question.
        size: rows and columns of the terminal.

    Returns:
        The counters of the turn (fields of TurnStats), and the largest resident size in MB.
    """
    with tempfile.TemporaryDirectory() as home:
        stats = Path(home, "stats")
        child = spawn([sys.executable, "-c", _LAUNCHER, *arguments], Path(home), stats, size)
        try:
            child.expect_exact(FIRST_FRAME.encode())
            child.send(keys)
            child.send(prompt + "\r")
            while not stats.exists():
                child.expect([pexpect.TIMEOUT, rb".+"], timeout=0.1)
            note = json.loads(stats.read_text())
        finally:
            child.close(force=True)
    return note["stats"], note["resident_kb"] / 1024


def headless(arguments: list[str], prompt: str) -> dict[str, Any]:
    """What `mtpchat -p --json` prints for the same question."""
    with tempfile.TemporaryDirectory() as home:
        done = subprocess.run(
            [sys.executable, "-m", "mtpchat", *arguments, "--json", "-p", prompt],
            check=True,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            env=environment(Path(home), Path(home, "stats")),
        )
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer
