"""Memory: the largest resident size of mtpchat, headless and as the app, against llama-server with the same context.

    python benchmarks/memory_against_server.py -m MODEL.gguf --llama-server PATH [-md DRAFTER.gguf] [-c 4096] [-t 2]
        [--server-args "..."]

Each program loads the model and answers once. Linux only: read from VmHWM in /proc. The mapped file counts on all
sides.
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
from pathlib import Path

from app_in_terminal import answered
from bounded import bounded

from mtpchat.bench.peer import command_line, serving
from mtpchat.bench.prompts import Prompt
from mtpchat.config import ModelConfig, SamplingConfig

PROMPT = "Explain in a few sentences why the sky is blue."
ONCE = """
import re, sys
from mtpchat.cli import main
main(sys.argv[1:])
print(re.search(r"VmHWM:\\s*(\\d+)", open("/proc/self/status").read())[1])
"""


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-m", "--model", type=Path, required=True)
    parser.add_argument("-md", "--drafter", type=Path)
    parser.add_argument("--llama-server", type=Path, required=True)
    parser.add_argument("--server-args", default="")
    parser.add_argument("-c", "--context", type=int, default=4096)
    parser.add_argument("-t", "--threads", type=int, default=2)
    parser.add_argument("-n", "--tokens", type=int, default=64)
    options = parser.parse_args()
    arguments = ["-m", str(options.model), "-c", str(options.context), "-t", str(options.threads)]
    arguments += ["-n", str(options.tokens), "--temp", "0"]
    arguments += ["-md", str(options.drafter)] if options.drafter else []
    figures = {
        "mtpchat -p": headless(arguments),
        "mtpchat app": answered(arguments, PROMPT)[1],
        "llama-server": server(options),
    }
    for name, megabytes in figures.items():
        print(f"{name:<14} {megabytes:8.0f} MB   × {megabytes / figures['llama-server']:.2f}")
    return 0


def headless(arguments: list[str]) -> float:
    """Largest resident size of one answer without the app, in MB."""
    command = [sys.executable, "-c", ONCE, *arguments, "-p", PROMPT]
    done = subprocess.run(command, check=True, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return int(done.stdout.split()[-1]) / 1024


def server(options: argparse.Namespace) -> float:
    """Largest resident size of llama-server after the same answer, in MB."""
    settings = ModelConfig(context=options.context)
    extra = shlex.split(options.server_args)

    def command(port: int) -> list[str]:
        model = str(options.model)
        return [*command_line(options.llama_server, model, settings, options.threads, port), *extra]

    # Tokens of any text do: what counts is that a prompt is read and an answer is written.
    with serving(command, lambda _prompt: list(range(100, 130))) as peer:
        peer.run(Prompt("memory", PROMPT), SamplingConfig(temperature=0, max_tokens=options.tokens))
        status = Path(f"/proc/{peer.pid}/status").read_text()
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))) / 1024


if __name__ == "__main__":
    sys.exit(bounded(main, minutes=20))
