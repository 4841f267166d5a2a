"""How often guesses are right: per position and per confidence, learnt only from guesses that were really tested.

A guess behind a wrong one is never tested (it is censored), so each position's rate is conditional on its whole prefix
having been accepted. Confidences of drafters are not probabilities of acceptance; ten bins on the logit scale translate
one into the other, shrunk towards a blend of both where a bin has seen little.
"""

from __future__ import annotations

import math

_BINS = 10
_DECAY = 0.985
_SHRINK = 4.0
_SLOWEST = 0.06
_PRIORS = (0.8, 0.8, 0.72, 0.65, 0.6)
_LAST_PRIOR = 0.55


class Acceptance:
    """Acceptance statistics of one kind of drafter."""

    def __init__(self) -> None:
        self._rate: dict[int, float] = {}
        self._count: dict[int, float] = {}
        self._tested: dict[tuple[int, int], float] = {}
        self._hits: dict[tuple[int, int], float] = {}

    def rate(self, position: int) -> float:
        """Chance that guess number `position` (from 1) is right, given that those before it are."""
        known = self._rate.get(position)
        if known is not None:
            return known
        prior = _PRIORS[position - 1] if position <= len(_PRIORS) else _LAST_PRIOR
        nearest = max((p for p in self._rate if p < position), default=None)
        return prior if nearest is None else min(prior, self._rate[nearest] + 0.05)

    def chance(self, position: int, confidence: float) -> float:
        """The same, with the drafter's confidence in this very guess taken into account."""
        cell = (min(position, 3), _bin(confidence))
        blend = min(0.97, 0.5 * confidence + 0.5 * self.rate(position))
        return (self._hits.get(cell, 0.0) + _SHRINK * blend) / (self._tested.get(cell, 0.0) + _SHRINK)

    def observe(self, position: int, confidence: float, *, hit: bool) -> None:
        """Note one tested guess."""
        cell = (min(position, 3), _bin(confidence))
        self._tested[cell] = self._tested.get(cell, 0.0) * _DECAY + 1
        self._hits[cell] = self._hits.get(cell, 0.0) * _DECAY + hit
        old, count = self.rate(position), self._count.get(position, 2.0)
        self._rate[position] = old + max(_SLOWEST, 1 / (count + 1)) * (hit - old)
        self._count[position] = count + 1

    def fade(self, share: float = 0.25) -> None:
        """Trust the past less, after the sampling or the model changed."""
        for table in (self._tested, self._hits):
            for cell in table:
                table[cell] *= share
        for position in self._count:
            self._count[position] = max(2.0, self._count[position] * share)


def _bin(confidence: float) -> int:
    p = min(max(confidence, 1e-4), 1 - 1e-4)
    logit = math.log(p / (1 - p))
    return min(_BINS - 1, int((max(-3.0, min(4.9, logit)) + 3.0) / 0.8))
