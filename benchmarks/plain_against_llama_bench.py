"""Plain decoding: `mtpchat -p ... --json --spec none` against `llama-bench -p 0 -n N`, same file and threads, in turns.

    python benchmarks/plain_against_llama_bench.py -m MODEL.gguf --llama-bench PATH [-t 2] [-n 128] [--runs 5]

Each run is a fresh process on both sides, A B then B A. Printed are the rates of each pair, their ratio, and the median
with its median absolute deviation. llama-bench warms up before it counts and starts from an empty context; mtpchat
counts from its very first step, behind a prompt of about 50 tokens. `-d 50` lets llama-bench begin there as well.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

from app_in_terminal import headless
from bounded import bounded

from mtpchat.bench.figures import middle, spread
from mtpchat.bench.order import order

PROMPT = "Write a long story about a lighthouse, the sea and an old clock. Go on for many pages."


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-m", "--model", type=Path, required=True)
    parser.add_argument("--llama-bench", type=Path, required=True)
    parser.add_argument("-t", "--threads", type=int, default=2)
    parser.add_argument("-n", "--tokens", type=int, default=128)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("-d", "--depth", type=int, default=0, help="tokens llama-bench reads before it counts")
    options = parser.parse_args()
    sides = {"mtpchat": mtpchat_rate, "llama-bench": llama_bench_rate}
    ratios: list[float] = []
    for run in range(options.runs):
        rates = {name: sides[name](options) for name in order(tuple(sides), 0, run)}
        ratios.append(rates["mtpchat"] / rates["llama-bench"])
        print(f"mtpchat {rates['mtpchat']:7.2f}   llama-bench {rates['llama-bench']:7.2f}   ratio {ratios[-1]:.3f}")
    deviation = spread(ratios)
    print(f"median ratio {middle(ratios):.3f}" + (f" ± {deviation:.3f}" if deviation is not None else ""))
    return 0


def mtpchat_rate(options: argparse.Namespace) -> float:
    """Tokens per second of one plain answer."""
    arguments = ["-m", str(options.model), "--spec", "none", "--temp", "0", "-c", "2048"]
    answer = headless([*arguments, "-t", str(options.threads), "-n", str(options.tokens)], PROMPT)
    count = answer["usage"]["completion_tokens"]
    if count < options.tokens:
        print(f"note: the answer ended after {count} tokens")
    return float(answer["timings"]["tokens_per_second"])


def llama_bench_rate(options: argparse.Namespace) -> float:
    """Tokens per second of llama-bench, one repetition after its own warm-up."""
    command = [str(options.llama_bench), "-m", str(options.model), "-p", "0", "-n", str(options.tokens)]
    command += ["-t", str(options.threads), "-r", "1", "-o", "json", "-d", str(options.depth)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return float(json.loads(done.stdout)[0]["avg_ts"])


if __name__ == "__main__":
    sys.exit(bounded(main, minutes=30))
