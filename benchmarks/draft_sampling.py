"""Which guess is kept more often when the answer is sampled: the most likely token, or a draw with the answer's noise?

    python benchmarks/draft_sampling.py -m MODEL.gguf [-md DRAFTER.gguf] [--depth 2] [--tokens 80] [--temps 0.5 0.8 1.0]

Both rules guess for the same answers: the text does not depend on the rule, which is checked. Printed is the share of
guesses kept at each position, among those that were looked at. That is a property of the model and its drafter, not of
the machine, so nothing is timed.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from mtpchat.backend.llama.loader import LlamaBackend
from mtpchat.backend.protocol import LoadPlan
from mtpchat.bench.prompts import Prompt, builtin, read, select
from mtpchat.config import Config, ModelConfig, SamplingConfig, SpeculativeConfig
from mtpchat.engine.engine import ChatEngine
from mtpchat.engine.requests import TurnRequest
from mtpchat.events import Finished, SpeculationControl
from mtpchat.messages import Message
from mtpchat.stats import TurnStats

RULES = ("argmax", "keyed")


@dataclass
class Kept:
    """Guesses at each position of a draft: how many were kept, how many looked at."""

    depth: int
    kept: list[int] = field(init=False)
    tested: list[int] = field(init=False)
    tokens: int = 0
    steps: int = 0

    def __post_init__(self) -> None:
        self.kept, self.tested = [0] * self.depth, [0] * self.depth

    def add(self, stats: TurnStats) -> None:
        """Count a turn. A position is looked at when all before it were kept."""
        accepted = [*stats.accepted_at, *[0] * self.depth][: self.depth]
        self.kept = [a + b for a, b in zip(self.kept, accepted, strict=True)]
        reached = [stats.steps, *accepted[:-1]]
        self.tested = [a + b for a, b in zip(self.tested, reached, strict=True)]
        self.tokens += stats.output_tokens
        self.steps += stats.steps

    def line(self) -> str:
        """Shares per position and tokens per step."""
        shares = " ".join(f"{k / t:5.3f}" if t else "  -  " for k, t in zip(self.kept, self.tested, strict=True))
        return f"{shares}   {self.tokens / max(1, self.steps):5.3f}"


@contextmanager
def loaded(options: argparse.Namespace, rule: str) -> Iterator[ChatEngine]:
    """An engine with the pair; guesses follow `rule`."""
    model = ModelConfig(context=2048, threads=options.threads)
    speculative = SpeculativeConfig(draft_sampling=rule)  # type: ignore[arg-type]
    engine = ChatEngine(LlamaBackend())
    try:
        plan = LoadPlan(options.model, options.drafter, options.spec, Config(model=model, speculative=speculative))
        facts = engine.load(plan, lambda _what, _fraction, _size: None, lambda: False)
        if facts.kind in ("none", "ngram"):
            raise SystemExit(f"Nothing to compare: {facts.choice}")
        yield engine
    finally:
        engine.close()


def answer(engine: ChatEngine, prompt: Prompt, sampling: SamplingConfig, depth: int) -> tuple[str, TurnStats]:
    """The text of one answer and its counters, at a fixed depth."""
    control = SpeculationControl(mode="on", draft_max=depth, pinned=True)
    request = TurnRequest((Message("user", prompt.text),), sampling)
    last = list(engine.turn(request, lambda: control, lambda: False))[-1]
    if not isinstance(last, Finished):
        raise SystemExit(str(last))
    return last.message.thinking + last.message.content, last.stats


def compare(options: argparse.Namespace, prompts: Sequence[Prompt]) -> None:
    """Print one line per temperature and rule."""
    print(f"{len(prompts)} prompts, {options.tokens} tokens each, depth {options.depth}")
    print("T     rule    kept at position 1 .. ; tokens per step")
    texts: dict[tuple[float, str], str] = {}
    for rule in RULES:
        with loaded(options, rule) as engine:
            for temperature in options.temps:
                kept = Kept(options.depth)
                for number, prompt in enumerate(prompts):
                    sampling = msgspec.structs.replace(
                        SamplingConfig(), temperature=temperature, seed=number, max_tokens=options.tokens
                    )
                    text, stats = answer(engine, prompt, sampling, options.depth)
                    kept.add(stats)
                    if texts.setdefault((temperature, prompt.name), text) != text:
                        print(f"      text of {prompt.name} at {temperature} differs: a near tie of the kernels")
                print(f"{temperature:<5} {rule:<7} {kept.line()}", flush=True)


def main() -> None:
    """Read the command line and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-m", dest="model", required=True, help="model with heads, or any model")
    parser.add_argument("-md", dest="drafter", default="", help="draft model or head")
    parser.add_argument("--spec", default="auto", help="kind of drafter")
    parser.add_argument("--depth", type=int, default=2)
    parser.add_argument("--tokens", type=int, default=80)
    parser.add_argument("--temps", type=float, nargs="+", default=[0.5, 0.8, 1.0])
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--prompts", type=Path, help="a file of prompts instead of those that ship")
    parser.add_argument("--only", nargs="*", default=[], help="classes, languages or names of prompts")
    options = parser.parse_args()
    prompts = read(options.prompts) if options.prompts else builtin()
    compare(options, select(prompts, options.only))


if __name__ == "__main__":
    main()
