"""Running contenders on prompts, in alternation, and noting what each trial did."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import msgspec

from mtpchat.bench.loops import looping
from mtpchat.bench.order import order
from mtpchat.bench.prompts import Prompt
from mtpchat.bench.subject import EngineSubject
from mtpchat.bench.variants import Variant
from mtpchat.config import SamplingConfig

WARM_UP_TOKENS = 16


@dataclass(frozen=True, slots=True)
class Measured:
    """What one contender did with one prompt. Seconds; None where a contender does not tell.

    Attributes:
        output_tokens: length of the answer, the end-of-generation token included.
        decoded_tokens: how many tokens decode_s produced. A server whose clock starts with the first token has
            produced one less than it put out.
        reached_at / accepted_at: per position, how often a guess was tested and kept.
        loops: the answer repeats itself; see loops.
        digest: of the tokens of the answer.
    """

    output_tokens: int
    decoded_tokens: int
    decode_s: float
    ttft_s: float | None = None
    steps: int | None = None
    drafted: int = 0
    accepted: int = 0
    reached_at: tuple[int, ...] = ()
    accepted_at: tuple[int, ...] = ()
    reason: str = ""
    loops: bool = False
    digest: str = ""

    @property
    def rate(self) -> float | None:
        """Decoded tokens per second."""
        return self.decoded_tokens / self.decode_s if self.decoded_tokens > 0 and self.decode_s > 0 else None


@dataclass(frozen=True, slots=True)
class Trial:
    """One measurement with its place in the plan. `place` is its number within its round, from 0."""

    contender: str
    prompt: str
    group: str
    language: str
    temperature: float
    round: int
    place: int
    measured: Measured


class Contender(Protocol):
    """Something that can be measured."""

    @property
    def label(self) -> str:
        """Unique in a run."""
        ...

    def run(self, prompt: Prompt, sampling: SamplingConfig) -> Measured:
        """Answer once, from an empty memory. Raises EngineError."""
        ...


@dataclass(frozen=True, slots=True)
class EngineContender:
    """A way to speculate on the loaded model. Each has learnt only from its own trials."""

    subject: EngineSubject
    variant: Variant

    @property
    def label(self) -> str:
        return self.variant.label

    def run(self, prompt: Prompt, sampling: SamplingConfig) -> Measured:
        """See Contender.run."""
        self.subject.apart(self.label)
        answer = self.subject.ask(prompt, self.variant.control, sampling)
        stats = answer.stats
        return Measured(
            output_tokens=stats.output_tokens,
            decoded_tokens=stats.output_tokens,
            decode_s=stats.decode_s,
            ttft_s=stats.ttft_s,
            steps=stats.steps,
            drafted=stats.drafted,
            accepted=stats.accepted,
            reached_at=stats.reached_at,
            accepted_at=stats.accepted_at,
            reason=answer.reason,
            loops=looping(answer.tokens),
            digest=digest(answer.tokens),
        )


def digest(tokens: Sequence[int]) -> str:
    """A short name of a sequence of tokens: equal for equal answers."""
    return hashlib.sha256(" ".join(map(str, tokens)).encode()).hexdigest()[:16]


def trials_planned(contenders: int, prompts: int, samplings: int, rounds: int) -> int:
    """How many answers `measure` will ask for, warm-up included."""
    return contenders * (1 + prompts * samplings * rounds)


def measure(
    contenders: Sequence[Contender],
    prompts: Sequence[Prompt],
    samplings: Sequence[SamplingConfig],
    rounds: int,
    progress: Callable[[str], None] = lambda _what: None,
) -> Iterator[Trial]:
    """Warm every contender up, then measure all of them on each prompt before going on to the next.

    Args:
        samplings: one per temperature, with a fixed seed and a limit of tokens.
        rounds: how often each prompt is asked.
        progress: told what is about to run, once per answer.

    Raises:
        EngineError: an answer failed.
    """
    if not prompts or not samplings:
        return
    short = min(WARM_UP_TOKENS, samplings[0].max_tokens or WARM_UP_TOKENS)
    for contender in contenders:
        progress(f"{contender.label}: warming up")
        contender.run(prompts[0], msgspec.structs.replace(samplings[0], max_tokens=short))
    for round_ in range(rounds):
        for sampling in samplings:
            for number, prompt in enumerate(prompts):
                for place, contender in enumerate(order(contenders, number, round_)):
                    progress(f"{contender.label}: {prompt.name}, round {round_ + 1} of {rounds}")
                    yield Trial(
                        contender=contender.label,
                        prompt=prompt.name,
                        group=prompt.group,
                        language=prompt.language,
                        temperature=sampling.temperature,
                        round=round_,
                        place=place,
                        measured=contender.run(prompt, sampling),
                    )
