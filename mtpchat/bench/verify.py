"""Proving losslessness on the user's own model: the same prompts with speculation off and on, token by token.

Speculation may not change a token. One thing may: a decode of k + 1 tokens rounds differently from k + 1 decodes of one
token, and where two candidates are nearly equal that decides between them. So a difference is not yet a fault. At the
first differing token the logits are computed anew, plainly and in the widths that speculation uses; how far they move
apart is the noise there, and the gap between the two candidates is held against it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec

from mtpchat.backend.protocol import Floats, Sampler
from mtpchat.bench.distribution import Fit, chi_square, draw, exact_distribution
from mtpchat.bench.prompts import Prompt
from mtpchat.bench.subject import Answer, Subject
from mtpchat.bench.variants import PLAIN, Variant
from mtpchat.config import SamplingConfig

NOISE_FACTOR = 4.0
"""A gap up to so many times the noise seen at that position counts as a near tie: the noise of other widths and of what
was decoded before is larger than one look shows."""

LEAST_THRESHOLD = 1e-3
"""In logits. Single precision alone moves them by about 1e-5 per layer and width."""

MOST_THRESHOLD = 1.0
"""In logits. Whatever moves them further than that is not rounding."""

_WIDEST_RAISE = 64.0

Verdict = Literal["near tie", "mismatch"]
_NEAR_TIE: Verdict = "near tie"
_MISMATCH: Verdict = "mismatch"


@dataclass(frozen=True, slots=True)
class Difference:
    """The first token that differs.

    Attributes:
        at: its place in the answer, from 0.
        plain / other: the token without and with speculation; None where that answer had ended.
        gap: by how much the logit of the other candidate must rise for the sampler to choose it, after plain decoding;
            None when an answer ended.
        noise: how far that gap moves when the same tokens are decoded in the widths that speculation uses.
        threshold: gaps up to this are near ties.
        flips: decoded in one of those widths, and without any drafter, the model itself chooses the other candidate.
    """

    at: int
    plain: int | None
    other: int | None
    plain_text: str
    other_text: str
    gap: float | None
    noise: float | None
    threshold: float
    flips: bool
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Check:
    """One prompt with one way to speculate. `difference` is None when the answers are identical."""

    prompt: str
    variant: str
    temperature: float
    tokens: int
    drafted: int
    accepted: int
    difference: Difference | None = None


@dataclass(frozen=True, slots=True)
class SamplerCheck:
    """The sampler on the model's logits behind one prompt."""

    prompt: str
    temperature: float
    fit: Fit


def verify(
    subject: Subject, prompts: Sequence[Prompt], variants: Sequence[Variant], samplings: Sequence[SamplingConfig]
) -> Iterator[Check]:
    """Compare every variant with plain decoding, prompt by prompt.

    Args:
        variants: ways to speculate; "off" among them is skipped.
        samplings: their seeds are used for both sides.

    Raises:
        EngineError: a turn failed.
    """
    for sampling in samplings:
        for prompt in prompts:
            plain = subject.ask(prompt, PLAIN.control, sampling)
            for variant in variants:
                if variant.control.mode == "off":
                    continue
                other = subject.ask(prompt, variant.control, sampling)
                yield Check(
                    prompt=prompt.name,
                    variant=variant.label,
                    temperature=sampling.temperature,
                    tokens=len(other.tokens),
                    drafted=other.stats.drafted,
                    accepted=other.stats.accepted,
                    difference=_difference(subject, prompt, sampling, (plain, other), variant.width),
                )


def check_sampler(
    subject: Subject, prompts: Sequence[Prompt], sampling: SamplingConfig, draws: int
) -> Iterator[SamplerCheck]:
    """Draw from the model's logits behind each prompt and test the draws. Raises EngineError."""
    for prompt in prompts:
        logits = subject.logits_after(prompt, ())
        context = subject.prompt_tokens(prompt)
        sampler = subject.sampler(sampling, max(0, sampling.seed))
        try:
            sampler.reset(context)
            drawn = draw(sampler, logits, draws)
        finally:
            sampler.close()
        yield SamplerCheck(
            prompt.name, sampling.temperature, chi_square(drawn, exact_distribution(logits, sampling, context))
        )


def _difference(
    subject: Subject, prompt: Prompt, sampling: SamplingConfig, answers: tuple[Answer, Answer], width: int
) -> Difference | None:
    plain, other = answers
    if plain.tokens == other.tokens and plain.text == other.text:
        return None
    pairs = zip(plain.tokens, other.tokens, strict=False)
    shorter = min(len(plain.tokens), len(other.tokens))
    at = next((place for place, (one, two) in enumerate(pairs) if one != two), shorter)
    left, right = _token(plain, at), _token(other, at)
    gap = noise = None
    threshold, flips, verdict = LEAST_THRESHOLD, False, _MISMATCH
    if left is not None and right is not None:
        gap, noise, flips = _Look(subject, prompt, sampling, plain.tokens[:at], right).judge(width)
        threshold = min(MOST_THRESHOLD, max(LEAST_THRESHOLD, NOISE_FACTOR * noise))
        verdict = _NEAR_TIE if gap <= threshold else _MISMATCH
    return Difference(
        at=at,
        plain=left,
        other=right,
        plain_text="" if left is None else subject.piece(left),
        other_text="" if right is None else subject.piece(right),
        gap=gap,
        noise=noise,
        threshold=threshold,
        flips=flips,
        verdict=verdict,
    )


def _token(answer: Answer, at: int) -> int | None:
    return answer.tokens[at] if at < len(answer.tokens) else None


@dataclass(frozen=True, slots=True)
class _Look:
    """The place where two answers part, with the candidate that speculative decoding chose."""

    subject: Subject
    prompt: Prompt
    sampling: SamplingConfig
    said: tuple[int, ...]
    other: int

    def judge(self, widest: int) -> tuple[float, float, bool]:
        """Gap after plain decoding, how far it moves in widths up to `widest`, and whether one of them flips it."""
        context = (*self.subject.prompt_tokens(self.prompt), *self.said)
        sampler = self.subject.sampler(self.sampling, max(0, self.sampling.seed))
        try:
            sampler.reset(context)
            gap = self._gap(sampler, self._logits(1), len(context))
            gaps = [self._gap(sampler, self._logits(width), len(context)) for width in range(2, widest + 1)]
        finally:
            sampler.close()
        noise = max((abs(one - gap) for one in gaps), default=0.0)
        return abs(gap), noise, any(one <= 0 for one in gaps)

    def _logits(self, width: int) -> Floats:
        return self.subject.logits_after(self.prompt, self.said, width)

    def _gap(self, sampler: Sampler, logits: Floats, position: int) -> float:
        """By how much the other candidate's logit must rise to be chosen; negative: how far it may fall and still be.

        Found by halving with the sampler itself, so that it holds for any temperature, truncation and penalty.
        """

        def chosen(rise: float) -> bool:
            moved = logits.copy()
            moved[self.other] += rise
            return sampler.sample(moved, position) == self.other

        low, high = (-_WIDEST_RAISE, 0.0) if chosen(0.0) else (0.0, _WIDEST_RAISE)
        while high - low > 1e-6:
            centre = (low + high) / 2
            low, high = (low, centre) if chosen(centre) else (centre, high)
        return high


def samplings_for(base: SamplingConfig, temperatures: Sequence[float], tokens: int) -> tuple[SamplingConfig, ...]:
    """One set of settings per temperature, with a fixed seed and a length."""
    seed = base.seed if base.seed >= 0 else 42
    return tuple(
        msgspec.structs.replace(base, temperature=temperature, seed=seed, max_tokens=tokens)
        for temperature in temperatures
    )
