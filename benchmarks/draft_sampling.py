"""Which guess is kept more often when the answer is sampled: the likeliest token, or a draw with the answer's noise?

    python -m benchmarks.draft_sampling -m MODEL.gguf [-md DRAFTER.gguf] [--temps 0.4 0.7 1.0] [--json]

The model writes plainly; at each of its tokens the drafter is asked for one guess, which is never used. So all rules
are judged on the same contexts, by the model's own truncated distribution p and the distribution q that the drafter has
for its first guess:

    argmax    p[argmax q]: the guess is the drafter's likeliest token.
    keyed     chance that argmax(log p + g) = argmax(log q + g) for the same Gumbel noise g, which is
              sum over i of  1 / (sum over j of max(p_j / p_i, q_j / q_i)).
    ceiling   sum of min(p_i, q_i) = 1 - TV(p, q): classic rejection (Leviathan, Kalman, Matias 2023).

The last one is what no rule for one draw from q can exceed, and what rejection sampling reaches: it looks at the guess
and keeps it with chance min(1, p/q), else it draws from what is left of p. The answer then has the right distribution,
but *which* answer it is hangs on what was guessed: another drafter, another depth, or speculation switched off half-way
give another text under the same seed. Here the text is a function of model, prompt, settings and seed, so that anybody
can check losslessness by comparing strings; the ceiling is therefore something to compare with, not an option.

The keyed rule needs no agreement between the two sides but the noise. It is kept with a chance of at least
(1 - TV) / (1 + TV), and no rule without communication can promise more for all p and q (Daliri, Musco, Suresh:
"Coupling without Communication and Drafter-Invariant Speculative Decoding", ISIT 2025, arXiv 2408.07978).

q is cut as the program cuts it (speculate/guessing.py) and taken at several temperatures, as shares of the answer's;
the program uses 1. "best" takes, token by token, the better of the likeliest and the keyed guess: what choosing between
the two could bring at most. Chances are exact, not counted, so noise of the draws plays no part; the spread is the
standard deviation over prompts. Nothing is timed.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import fmean, stdev

import msgspec
import numpy as np
from numpy.typing import NDArray

from benchmarks.bounded import bounded
from mtpchat.backend.llama.loader import LlamaBackend
from mtpchat.backend.protocol import Floats, LoadedModel, LoadPlan
from mtpchat.bench.distribution import exact_distribution
from mtpchat.bench.prompts import Prompt, builtin, read, select
from mtpchat.config import Config, ModelConfig, SamplingConfig
from mtpchat.engine.prompt import ChatPrompt
from mtpchat.engine.requests import TurnRequest
from mtpchat.engine.template import choose_template
from mtpchat.messages import Message
from mtpchat.speculate.base import Drafter, Parts, strategies
from mtpchat.speculate.guessing import Guessing

Chances = NDArray[np.float64]
SHARES = (0.5, 0.75, 1.0, 1.5)
"""Temperatures of the drafter as shares of the answer's."""
SURE = (0.0, 0.3, 0.5, 0.7, 0.9)
"""Lower edges of the classes of the drafter's confidence, by which results are told apart."""
_CHUNK = 64


def ceiling(p: Chances, q: Chances) -> float:
    """Chance that classic rejection keeps a draw from q; both of shape (n,)."""
    return float(np.minimum(p, q).sum())


def keyed(p: Chances, q: Chances) -> float:
    """Chance that the same Gumbel noise draws the same token from both; see the module's docstring.

    With E_i = exp(-g_i), which is exponential, i wins on both sides if E_j / E_i exceeds both p_j / p_i and q_j / q_i
    for all j; of exponentials with rates r_j the first is number i with chance r_i / sum of r.
    """
    both = np.flatnonzero((p > 0) & (q > 0))
    either = np.flatnonzero((p > 0) | (q > 0))
    ratios = np.maximum(p[either][None, :] / p[both][:, None], q[either][None, :] / q[both][:, None])
    return float((1 / ratios.sum(axis=1)).sum()) if len(both) else 0.0


def softened(logits: Floats, ids: NDArray[np.integer], temperature: float) -> Chances:
    """Probabilities of all tokens when only `ids` are left; shape (n_vocab,)."""
    scores = logits[ids].astype(np.float64) / temperature
    weights = np.exp(scores - scores.max())
    made = np.zeros(len(logits))
    made[ids] = weights / weights.sum()
    return made


@dataclass(frozen=True, slots=True)
class Place:
    """One token of an answer: chances that a guess for it is kept.

    Attributes:
        confidence: the drafter's in its likeliest token, at temperature 1 and uncut.
        keyed / ceilings: for each of SHARES.
    """

    confidence: float
    argmax: float
    keyed: tuple[float, ...]
    ceilings: tuple[float, ...]


def judge(target: Floats, draft: Floats, sampling: SamplingConfig, guessing: Guessing) -> Place:
    """What each rule is worth where the model and its drafter say this; both of shape (n_vocab,)."""
    p, best = exact_distribution(target, sampling), int(draft.argmax())
    ids = guessing.candidates(draft)
    qs = [softened(draft, ids, share * sampling.temperature) for share in SHARES]
    certainty = 1 / float(np.exp(draft.astype(np.float64) - draft[best]).sum())
    return Place(certainty, float(p[best]), tuple(keyed(p, q) for q in qs), tuple(ceiling(p, q) for q in qs))


@dataclass(slots=True)
class Overheard(Guessing):
    """Guesses as the program does, and keeps the row that the guess was made from."""

    logits: Floats = field(default_factory=lambda: np.zeros(1, np.float32))

    def __call__(self, logits: Floats, position: int) -> tuple[int, float]:
        self.logits = logits.copy()
        return Guessing.__call__(self, logits, position)


@dataclass(slots=True)
class Pair:
    """A loaded model and a drafter that is asked for one guess and overheard."""

    loaded: LoadedModel
    drafter: Drafter
    guessing: Overheard

    def walk(self, prompt: Prompt, sampling: SamplingConfig) -> Iterator[Place]:
        """Write one answer plainly, and judge a guess for each token but the first."""
        loaded, target = self.loaded, self.loaded.target
        chat = ChatPrompt(choose_template("", loaded.chat_template), loaded.tokenizer)
        system = (Message("system", prompt.system),) if prompt.system.strip() else ()
        context = list(chat.encode(TurnRequest((*system, Message("user", prompt.text)), sampling)).tokens)
        target.clear()
        self.drafter.close()
        self.guessing.begin(sampling, sampling.seed)
        end = len(context) - 1
        for start in range(0, end, _CHUNK):
            self._decode(context[start : min(start + _CHUNK, end)], start)
        sampler = loaded.make_sampler(sampling, sampling.seed)
        try:
            for _ in range(sampling.max_tokens):
                guessed = bool(self.drafter.propose(context, lambda made: not made).tokens)
                row = self._decode(context[-1:], len(context) - 1)
                if guessed:
                    yield judge(row, self.guessing.logits, sampling, self.guessing)
                context.append(sampler.sample(row, len(context)))
                if context[-1] in loaded.tokenizer.eog:
                    return
        finally:
            sampler.close()

    def _decode(self, tokens: Sequence[int], start: int) -> Floats:
        rows = self.loaded.target.decode(tokens, rows="last")
        self.drafter.observe(start, tokens, rows)
        return rows.logits(rows.count - 1).copy()


def load(backend: LlamaBackend, options: argparse.Namespace) -> Pair:
    """Load the pair."""
    config = Config(model=ModelConfig(context=2048, threads=options.threads))
    plan = LoadPlan(str(options.model), str(options.drafter or ""), options.spec, config)
    loaded = backend.load(plan, lambda _what, _fraction, _size: None, lambda: False)
    guessing = Overheard("argmax")
    found = strategies().get(loaded.draft_kind)
    drafter = found and found.build(Parts(loaded.draft, loaded.draft_kind, config.speculative, guessing))
    if not drafter:
        loaded.close()
        raise SystemExit(f"Nothing to compare: {loaded.choice or 'there is no drafter'}")
    return Pair(loaded, drafter, guessing)


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule at one temperature.

    Attributes:
        kept / spread: mean over prompts of the chance that a guess is kept, and its standard deviation over prompts.
        gain / gain_spread: the same of the difference to the likeliest token, prompt by prompt.
    """

    name: str
    kept: float
    spread: float
    gain: float
    gain_spread: float


def rules(answers: Sequence[Sequence[Place]]) -> list[Rule]:
    """All rules over the answers to all prompts; answers without a guess are left out."""
    answers = [answer for answer in answers if answer]
    base = [fmean(place.argmax for place in answer) for answer in answers]
    unit = SHARES.index(1.0)
    columns = {"argmax": base}
    for at, share in enumerate(SHARES):
        columns[f"keyed, q at {share:g} T"] = [fmean(place.keyed[at] for place in answer) for answer in answers]
    columns["best"] = [fmean(max(place.argmax, place.keyed[unit]) for place in answer) for answer in answers]
    columns["ceiling"] = [fmean(place.ceilings[unit] for place in answer) for answer in answers]
    return [_rule(name, means, base) for name, means in columns.items()]


def _rule(name: str, means: Sequence[float], base: Sequence[float]) -> Rule:
    gains = [own - other for own, other in zip(means, base, strict=True)]
    return Rule(name, fmean(means), _deviation(means), fmean(gains), _deviation(gains))


def _deviation(values: Sequence[float]) -> float:
    return stdev(values) if len(values) > 1 else 0.0


def by_confidence(answers: Sequence[Sequence[Place]]) -> list[dict[str, float]]:
    """Argmax and keyed chances by how sure the drafter was, over all tokens."""
    unit = SHARES.index(1.0)
    found = []
    for low, high in zip(SURE, (*SURE[1:], 2.0), strict=True):
        own = [place for answer in answers for place in answer if low <= place.confidence < high]
        if own:
            found.append(
                {
                    "from": low,
                    "tokens": len(own),
                    "argmax": fmean(place.argmax for place in own),
                    "keyed": fmean(place.keyed[unit] for place in own),
                    "ceiling": fmean(place.ceilings[unit] for place in own),
                }
            )
    return found


def main() -> None:
    """Read the command line, walk, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-m", dest="model", required=True, help="model with heads, or any model")
    parser.add_argument("-md", dest="drafter", default="", help="draft model or head")
    parser.add_argument("--spec", default="auto", help="kind of drafter")
    parser.add_argument("--tokens", type=int, default=60)
    parser.add_argument("--temps", type=float, nargs="+", default=[0.4, 0.7, 1.0])
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--prompts", type=Path, help="a file of prompts instead of those that ship")
    parser.add_argument("--only", nargs="*", default=[], help="classes, languages or names of prompts")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    prompts = select(read(options.prompts) if options.prompts else builtin(), options.only)
    backend = LlamaBackend()
    pair = load(backend, options)
    results = []
    try:
        for temperature in options.temps:
            sampling = msgspec.structs.replace(
                SamplingConfig(), temperature=temperature, max_tokens=options.tokens, seed=0
            )
            answers = [
                list(pair.walk(prompt, msgspec.structs.replace(sampling, seed=number)))
                for number, prompt in enumerate(prompts)
            ]
            results.append((temperature, answers))
            if not options.json:
                show(temperature, answers, pair.loaded.choice)
    finally:
        pair.loaded.close()
        backend.close()
    if options.json:
        print(json.dumps([as_object(*one) for one in results]))


def as_object(temperature: float, answers: Sequence[Sequence[Place]]) -> dict[str, object]:
    """One temperature as plain data."""
    tokens = sum(map(len, answers))
    rows = [asdict(rule) for rule in rules(answers)]
    return {"temperature": temperature, "tokens": tokens, "rules": rows, "by_confidence": by_confidence(answers)}


def show(temperature: float, answers: Sequence[Sequence[Place]], choice: str) -> None:
    """One temperature as tables."""
    print(f"\ntemperature {temperature:g}: {len(answers)} prompts, {sum(map(len, answers))} guesses; {choice}")
    print("rule               kept     ±        against argmax     ±")
    for rule in rules(answers):
        print(f"{rule.name:17} {rule.kept:6.3f} {rule.spread:6.3f} {rule.gain:+18.3f} {rule.gain_spread:10.3f}")
    print("drafter's confidence    guesses  argmax   keyed  ceiling")
    for row in by_confidence(answers):
        figures = f"{row['argmax']:7.3f} {row['keyed']:7.3f} {row['ceiling']:8.3f}"
        print(f"from {row['from']:<18.1f} {row['tokens']:7.0f} {figures}", flush=True)


if __name__ == "__main__":
    sys.exit(bounded(main, minutes=120))
