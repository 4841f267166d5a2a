"""A short soak in a process of its own: no thread and no file is left behind by loads, switches and answers.

So few rounds are all warm-up for the allocator; whether memory grows is told by the long one (benchmarks/soak.py).
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.soak import Outcome, Sample

ROOT = Path(__file__).resolve().parents[2]
SHORT = """
import sys
from pathlib import Path
from benchmarks.soak import soak
for outcome in soak(Path(sys.argv[1]), loads=20, switches=30, turns=50, tokens=2000):
    print(outcome)
    assert not outcome.leaks(9.0), outcome.leaks(9.0)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="counts what /proc shows")
def test_threads_and_files_stay_what_they_are(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SHORT, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, timeout=55, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("rounds") == 6


def made(*rounds: tuple[int, int, int, float]) -> Outcome:
    return Outcome("made up", [Sample(*one) for one in rounds])


def test_what_grows_or_slows_down_is_found() -> None:
    steady = [(1000, 1, 9, 50.0)] * 40
    assert made(*steady).faults == []
    assert made((5, 3, 3, 1.0), *steady).faults == []  # before it was warm
    assert made(*[(1000 + 10 * at, 1, 9, 50.0) for at in range(40)]).faults == ["memory grew by 29.2%"]
    assert made(*[(1000, 1, 9 + at // 20, 50.0) for at in range(40)]).faults == ["9 to 10 files"]
    assert made(*[(1000, 1 + at // 39, 9, 50.0) for at in range(40)]).faults == ["1 to 2 threads"]
    assert made(*steady[:20], *[(1000, 1, 9, 40.0)] * 20).faults == ["speed fell to 0.80"]
