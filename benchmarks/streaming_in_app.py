"""What painting costs: the decode rate of the app in a terminal of 80 by 24 against the same answer without the app.

    python benchmarks/streaming_in_app.py [-m MODEL.gguf] [-md DRAFTER.gguf] [--spec none] [-t 2] [-n 300] [--runs 5]

With `--panel` the app with the panel of speculation beside the chat (F4) against the app without it, at 160 by 48.

Fresh processes in turns, A B then B A; the same prompt, greedily, so that both say the same.
"""

from __future__ import annotations

import argparse
import sys

from app_in_terminal import answered, headless
from bounded import bounded

from mtpchat.bench.figures import middle, spread
from mtpchat.bench.order import order
from mtpchat.demo import demo_model

_F4 = "\x1bOS"
_WIDE = (48, 160)
PROMPT = "Explain how a bicycle works, with headings, a list of its parts and a short example of code."


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-m", "--model", default="", help="the demo model unless given")
    parser.add_argument("-md", "--drafter", default="")
    parser.add_argument("--spec", default="none")
    parser.add_argument("-t", "--threads", default="2")
    parser.add_argument("-n", "--tokens", default="300")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--panel", action="store_true")
    options = parser.parse_args()
    arguments = ["-m", options.model or str(demo_model()), "--spec", options.spec, "-t", options.threads]
    arguments += ["-n", options.tokens, "--temp", "0", "-c", "2048"]
    arguments += ["-md", options.drafter] if options.drafter else []
    sides = {"app": app_rate, "headless": headless_rate}
    if options.panel:
        sides = {"panel": panel_rate, "without": wide_rate}
    one, other = sides
    ratios: list[float] = []
    for run in range(options.runs):
        rates = {name: sides[name](arguments) for name in order(tuple(sides), 0, run)}
        ratios.append(rates[one] / rates[other])
        print(f"{one} {rates[one]:7.2f}   {other} {rates[other]:7.2f}   ratio {ratios[-1]:.3f}")
    deviation = spread(ratios)
    print(f"median ratio {middle(ratios):.3f}" + (f" ± {deviation:.3f}" if deviation is not None else ""))
    return 0


def app_rate(arguments: list[str]) -> float:
    """Tokens per second in the app."""
    stats, _resident = answered(arguments, PROMPT)
    return float(stats["output_tokens"] / stats["decode_s"])


def panel_rate(arguments: list[str]) -> float:
    """Tokens per second in a wide app with the panel open."""
    stats, _resident = answered(arguments, PROMPT, keys=_F4, size=_WIDE)
    return float(stats["output_tokens"] / stats["decode_s"])


def wide_rate(arguments: list[str]) -> float:
    """The same without the panel."""
    stats, _resident = answered(arguments, PROMPT, size=_WIDE)
    return float(stats["output_tokens"] / stats["decode_s"])


def headless_rate(arguments: list[str]) -> float:
    """Tokens per second of the same answer without the app."""
    return float(headless(arguments, PROMPT)["timings"]["tokens_per_second"])


if __name__ == "__main__":
    sys.exit(bounded(main, minutes=45))
