"""How a drafter turns its logits into a guess: the most likely token, or a draw with the target's own noise.

The target draws with keyed noise (mtpchat.backend.noise). What the same noise picks from the drafter's distribution
leans to the same token, so "auto" guesses that at every temperature above 0, where the two are the same. Measured
(benchmarks/draft_sampling.py): a drafter that knows the target well gains .03 at temperature 0.2, .18 at 0.7 and .29 at
1.0 over its most likely token; a poor one gains or loses less than .01 up to 0.7. Any other temperature of the drafter
than the target's own costs the good one more than it brings the poor one. The text is the same either way; only
acceptance differs.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from mtpchat.backend.noise import gumbel_noise
from mtpchat.backend.protocol import Floats
from mtpchat.config import SamplingConfig

_MOST_CANDIDATES = 20
"""Of so many tokens the noise picks one: what is less likely than these is hardly ever what the target draws."""
_LEAST_RATIO = 1e-4
"""Tokens less likely than this, against the most likely one, are no guess."""


@dataclass(slots=True)
class Guessing:
    """The rule in force; shared by all drafters of a model and set anew for each turn.

    Attributes:
        rule: "auto", "argmax" or "keyed"; see config.SpeculativeConfig.draft_sampling.
        sampling: how the target chooses in this turn.
        seed: of this turn.
        vocabulary: how many tokens the target knows; a draft model of the same family may know some more, which are no
            guesses. None: as many as the drafter.
    """

    rule: str = "auto"
    sampling: SamplingConfig = field(default_factory=lambda: SamplingConfig(temperature=0.0))
    seed: int = 0
    vocabulary: int | None = None

    def begin(self, sampling: SamplingConfig, seed: int) -> None:
        """A turn begins."""
        self.sampling, self.seed = sampling, seed

    @property
    def keyed(self) -> bool:
        """True when guesses are drawn with noise."""
        return self.rule != "argmax" and self.sampling.temperature > 0

    def __call__(self, logits: Floats, position: int) -> tuple[int, float]:
        """A guess for the token at absolute `position`, and its probability (0..1) where it was taken from."""
        logits = logits[: self.vocabulary]
        top = int(np.argmax(logits))
        if not self.keyed:
            return top, float(1.0 / np.exp(logits - logits[top]).sum())
        ids = self.candidates(logits)
        scores = logits[ids].astype(np.float64) / self.sampling.temperature
        chosen = int(np.argmax(scores + gumbel_noise(self.seed, position, ids)))
        return int(ids[chosen]), float(1.0 / np.exp(scores - scores[chosen]).sum())

    def candidates(self, logits: Floats) -> NDArray[np.int32]:
        """Ids that the settings of the target would leave of the drafter's distribution, about; never empty."""
        sampling, best = self.sampling, float(logits.max())
        floor = best + np.log(max(sampling.min_p, _LEAST_RATIO))
        ids = np.flatnonzero(logits >= floor).astype(np.int32)
        most = min(sampling.top_k or _MOST_CANDIDATES, _MOST_CANDIDATES)
        kept = logits[ids]
        if len(ids) > most:
            ids = ids[np.argpartition(kept, -most)[-most:]]
            kept = logits[ids]
        if sampling.top_p >= 1 or len(ids) == 1:
            return ids
        order = np.argsort(-kept, kind="stable")
        shares = np.exp(kept[order] - best)
        behind = np.cumsum(shares) - shares
        count = max(1, int((behind < sampling.top_p * shares.sum()).sum()))
        kept_ids: NDArray[np.int32] = ids[order[:count]]
        return kept_ids
