"""Damaged tiny models through a load with trial: how many are refused, run, or end a process, and which process.

    python -m benchmarks.fuzz_load --files 300 --keep /tmp/deadly

Each file goes the way of a chat twice: first its header is read and a child loads and uses it, which tells what
llama.cpp makes of it; then the loader of the program does all of it in this process, which must live.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import msgspec

from benchmarks.bounded import bounded
from mtpchat.backend.llama.exercise import use_once
from mtpchat.backend.llama.loader import LlamaBackend
from mtpchat.backend.llama.trial import COMMAND
from mtpchat.backend.protocol import LoadPlan
from mtpchat.config import Config, ModelConfig
from mtpchat.errors import MtpChatError
from mtpchat.gguf.facts import facts_of, read_model, require_chat
from mtpchat.gguf.traps import require_loadable
from tests.gguf.mutations import damaged_model
from tests.models import TinyModel, chained_heads, dense, eagle3_head, gemma4, gemma4_assistant, hybrid_mtp

LONGEST_S = 30.0


def pairs(folder: Path) -> list[tuple[TinyModel, TinyModel | None]]:
    """Models alone, with their own heads, and with drafters of every kind."""
    main = dense(folder / "dense.gguf", blocks=3)
    return [
        (main, None),
        (hybrid_mtp(folder / "hybrid.gguf"), None),
        (chained_heads(folder / "chained.gguf"), None),
        (gemma4(folder / "gemma4.gguf"), gemma4_assistant(folder / "assistant.gguf")),
        (main, eagle3_head(folder / "eagle3.gguf")),
        (main, dense(folder / "draft.gguf", 0.7, width=96, blocks=1, seed=6)),
    ]


def attempt(main: Path, drafter: Path | None) -> tuple[str, str, float]:
    """What becomes of a pair of files, in a word and a sentence, and the seconds that the child took.

    "refused": from the header; "library": by llama.cpp, in words; "runs"; "without": runs, without its drafter; "dies";
    "hangs"; "raises": an error that nobody foresaw.
    """
    try:
        header = read_model(main)
        facts = facts_of(header)
        require_chat(facts)
        require_loadable(header, facts)
    except MtpChatError as error:
        return "refused", error.message, 0.0
    config = Config(model=ModelConfig(context=256, threads=1, trial="off"))
    plan = LoadPlan(str(main), str(drafter or ""), "auto", config)
    begun = time.monotonic()
    environment = {**os.environ, "GGML_NO_BACKTRACE": "1", "OMP_NUM_THREADS": "1"}
    try:
        done = subprocess.run(
            COMMAND,
            input=msgspec.json.encode(plan),
            capture_output=True,
            timeout=LONGEST_S,
            env=environment,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "hangs", "", LONGEST_S
    seconds = time.monotonic() - begun
    said = done.stderr.decode("utf-8", "replace").strip().splitlines()
    if done.returncode < 0:
        asserted = [line for line in said if "GGML_ASSERT" in line or "abort" in line.lower()]
        return "dies", f"signal {-done.returncode}: {(asserted or said or [''])[-1][:160]}", seconds
    if done.returncode:
        return ("library" if "mtpchat.errors." in said[-1] else "raises"), said[-1][:160], seconds
    reason = json.loads(done.stdout.splitlines()[-1])["reason"]
    return "without" if reason else "runs", reason, seconds


def load_here(backend: LlamaBackend, main: Path, drafter: Path | None) -> str:
    """Load and use a pair of files as a chat does, trial first, in this process. Returns what became of it."""
    config = Config(model=ModelConfig(context=256, threads=1))
    plan = LoadPlan(str(main), str(drafter or ""), "auto", config)
    try:
        loaded = backend.load(plan, lambda _what, _fraction, _size: None, lambda: False)
    except MtpChatError as error:
        return "refused in words" if error.hint else f"refused without a hint: {error.message}"
    try:
        use_once(loaded)
        return "used, without its drafter" if loaded.fallback_reason and drafter else "used"
    except MtpChatError:
        return "loaded, and refused in words when used"
    finally:
        loaded.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=300)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="folder for files that ended a child")
    arguments = parser.parse_args()
    outcomes: Counter[tuple[str, str]] = Counter()
    sentences: Counter[str] = Counter()
    here: Counter[str] = Counter()
    longest = 0.0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["XDG_CACHE_HOME"] = name
        backend = LlamaBackend()
        subjects = pairs(folder)
        for number in range(arguments.first, arguments.first + arguments.files):
            model, drafter = subjects[number % len(subjects)]
            spoils_drafter = drafter is not None and number % 2 == 1
            spoiled = folder / "spoiled.gguf"
            spoiled.write_bytes(damaged_model((drafter if spoils_drafter and drafter else model).path, number))
            files = (model.path, spoiled) if spoils_drafter else (spoiled, drafter.path if drafter else None)
            outcome, sentence, seconds = attempt(*files)
            # A model that hangs in a child would hang here; everything else is loaded once more.
            here[load_here(backend, *files) if outcome != "hangs" else "not loaded: it hangs"] += 1
            longest = max(longest, seconds)
            outcomes[outcome, "drafter" if spoils_drafter else "model"] += 1
            if outcome in ("dies", "hangs", "raises"):
                sentences[f"{outcome} ({'drafter' if spoils_drafter else 'model'}) {sentence}"] += 1
                print(f"{number}: {outcome}: {sentence}", flush=True)
                if arguments.keep:
                    arguments.keep.mkdir(parents=True, exist_ok=True)
                    (arguments.keep / f"{number}.gguf").write_bytes(spoiled.read_bytes())
    for (outcome, what), count in sorted(outcomes.items()):
        print(f"{count:5} {outcome:8} damaged {what}")
    for sentence, count in sentences.most_common():
        print(f"{count:5} {sentence}")
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"longest child {longest:.1f} s, largest child {peak / 1024:.0f} MB")
    print(f"in this process, {own / 1024:.0f} MB at most: {dict(here)}")
    return 0


if __name__ == "__main__":
    sys.exit(bounded(main, minutes=120))
