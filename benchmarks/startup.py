"""How long until something is there: `mtpchat --version`, and the first frame of the app at 80 by 24.

    python benchmarks/startup.py [-m MODEL.gguf] [--runs 7]

The first run of each is thrown away: it fills the caches of the file system.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time

from app_in_terminal import first_frame_s
from bounded import bounded

from mtpchat.bench.figures import middle, spread
from mtpchat.demo import demo_model


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-m", "--model", default="", help="the demo model unless given")
    parser.add_argument("--runs", type=int, default=7)
    options = parser.parse_args()
    arguments = ["-m", options.model or str(demo_model()), "-c", "2048"]
    show("python -c pass", [python_s("-c", "pass") for _ in range(options.runs + 1)])
    show("mtpchat --version", [python_s("-m", "mtpchat", "--version") for _ in range(options.runs + 1)])
    show("first frame", [first_frame_s(arguments) for _ in range(options.runs + 1)])
    return 0


def python_s(*arguments: str) -> float:
    """Seconds of one run of this Python."""
    began = time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def show(name: str, seconds: list[float]) -> None:
    """Median and spread, without the first."""
    kept = seconds[1:]
    print(f"{name:<18} {(middle(kept) or 0) * 1000:7.0f} ms ± {(spread(kept) or 0) * 1000:.0f}")


if __name__ == "__main__":
    sys.exit(bounded(main, minutes=15))
