"""A subject made of hashes whose speculation can be made to lie, and whose arithmetic can be made to wobble."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mtpchat.backend.llama.sampler import LlamaSampler
from mtpchat.backend.protocol import Floats, Sampler
from mtpchat.bench.prompts import Prompt
from mtpchat.bench.subject import Answer
from mtpchat.config import SamplingConfig
from mtpchat.events import SpeculationControl
from mtpchat.stats import TurnStats
from tests.speculate.fake_model import VOCABULARY, logits_after

PROMPT = (1, 2, 3)


@dataclass
class FakeSubject:
    """Answers from hashes of the past.

    Attributes:
        lie_at: with speculation on, this token of the answer is another one.
        tie_at: behind this token of the answer the two best candidates are `tie_gap` apart, and a decode that is
            wider than one turns them round.
        cut: with speculation on, the answer ends after so many tokens.
        wrong_sampler: the sampler draws at another temperature than asked for.
    """

    lie_at: int | None = None
    tie_at: int | None = None
    tie_gap: float = 1e-4
    cut: int | None = None
    wrong_sampler: bool = False

    def ask(self, prompt: Prompt, control: SpeculationControl, sampling: SamplingConfig) -> Answer:
        speculating = control.mode != "off"
        width = control.draft_max + 1 if speculating else 1
        sampler = self.sampler(sampling, sampling.seed)
        said: list[int] = []
        while len(said) < sampling.max_tokens and (not speculating or len(said) != self.cut):
            token = sampler.sample(self.logits_after(prompt, said, width), len(PROMPT) + len(said))
            if speculating and len(said) == self.lie_at:
                token = (token + 1) % VOCABULARY
            said.append(token)
        sampler.close()
        drafted = len(said) if speculating else 0
        stats = TurnStats(prompt_tokens=len(PROMPT), output_tokens=len(said), drafted=drafted, accepted=drafted // 2)
        return Answer(PROMPT, tuple(said), " ".join(map(str, said)), stats, "length")

    def logits_after(self, prompt: Prompt, said: Sequence[int], width: int = 1) -> Floats:
        logits = logits_after((*PROMPT, *said))
        if len(said) == self.tie_at:
            first, second = np.argsort(-logits)[:2]
            logits[second] = logits[first] - self.tie_gap
            if width > 1:
                logits[second] += 2 * self.tie_gap
        return logits

    def prompt_tokens(self, prompt: Prompt) -> tuple[int, ...]:
        return PROMPT

    def piece(self, token: int) -> str:
        return f"<{token}>"

    def sampler(self, sampling: SamplingConfig, seed: int) -> Sampler:
        if self.wrong_sampler:
            sampling = SamplingConfig(temperature=sampling.temperature * 1.4, top_k=0, top_p=1.0, min_p=0.0)
        return LlamaSampler(sampling, seed, VOCABULARY)
