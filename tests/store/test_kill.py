"""A kill at any moment loses no turn that had ended, and of the running one at most the last second."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
KILLS = int(os.environ.get("MTPCHAT_TEST_KILLS", "40"))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and SIGKILL")
def test_what_was_safe_is_there_after_a_kill_at_any_moment(tmp_path: Path) -> None:
    # In a process of its own, which has no threads yet when it forks.
    script = (
        "import sys; from pathlib import Path; from benchmarks.kill_journal import run; "
        f"turns = run(Path(sys.argv[1]), {KILLS}, timed=False, abreast=4); assert turns > {KILLS}, turns"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, timeout=50, check=False
    )
    assert done.returncode == 0, done.stderr
