"""What ggml says before it ends the process reaches those who are to know it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DIES = """
import sys, threading
from pathlib import Path
import llama_cpp.llama_cpp as lib
from mtpchat.backend.llama.loader import LlamaBackend
from mtpchat.last_run import RunRecord
folder = Path(sys.argv[1])
record = RunRecord(folder / "running") if sys.argv[2] == "recorded" else None
backend = LlamaBackend(folder / "llama.log", record=record)

def die():
    lib._lib.ggml_abort(b"/build/ggml/src/ggml.c", 7, b"GGML_ASSERT(%s) failed", b"x > 0")


threading.Thread(target=die).start() if sys.argv[3] == "thread" else die()
"""

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the library there does not show the function")


def die(folder: Path, *how: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", DIES, str(folder), *how],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


@pytest.mark.parametrize("where", ["main", "thread"])
def test_a_recorded_run_says_nothing_on_the_terminal(tmp_path: Path, where: str) -> None:
    done = die(tmp_path, "recorded", where)
    assert done.returncode == -6
    assert "GGML_ASSERT" not in done.stderr
    (record,) = (tmp_path / "running").iterdir()
    assert record.read_text().splitlines()[1] == "llama.cpp: ggml.c:7: GGML_ASSERT(x > 0) failed"
    assert "llama.cpp ends the program: ggml.c:7: GGML_ASSERT(x > 0) failed" in (tmp_path / "llama.log").read_text()


def test_others_say_it_where_errors_go(tmp_path: Path) -> None:
    done = die(tmp_path, "alone", "main")
    assert done.returncode == -6
    assert done.stderr.splitlines() == ["llama.cpp ends the program: ggml.c:7: GGML_ASSERT(x > 0) failed"]
