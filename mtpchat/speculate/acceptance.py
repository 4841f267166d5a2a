"""How often guesses are right: per position and per confidence, learnt only from guesses that were really tested.

A guess behind a wrong one is never tested (it is censored), so each position's rate is conditional on its whole prefix
having been accepted. Confidences of drafters are not probabilities of acceptance; ten bins on the logit scale translate
one into the other, shrunk towards a blend of both where a bin has seen little.

How often each bin comes up is counted, too: that is what makes it worth paying for a guess that will be verified only
if it turns out to be a confident one.

An example. A bin has seen 6 guesses with a confidence around 0.8, of which 3 were right, at a position whose rate is
0.6. The blend is (0.8 + 0.6) / 2 = 0.7, and the bin is believed to be (3 + 4 * 0.7) / (6 + 4) = 0.58. With 60 guesses,
30 of them right, it would be 0.51: what was seen outweighs what was said.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

BINS = 10
_DECAY = 0.985
"""Of what a bin has seen, with each further test: it remembers the last 70 or so, since texts change their nature."""
_SEEN_DECAY = 0.97
"""The same of how often each bin comes up, which every guess tells, tested or not."""
_SHRINK = 4.0
"""So many tests weigh as much as what was believed before them."""
_SLOWEST = 0.06
"""A rate moves by one part in n + 1 of the surprise, but never less than this: it forgets after about 17 tests."""
_PRIORS = (0.8, 0.8, 0.72, 0.65, 0.6)
"""What a good head reaches at positions 1, 2, ...: an optimist tries, and learns; a pessimist never does."""
_LAST_PRIOR = 0.55
_LOWEST, _WIDTH = -3.0, 0.8
"""Logits of the first bin's lower edge, and of a bin's width: confidences from .05 to .99."""
_CENTRES = tuple(1 / (1 + math.exp(-(_LOWEST + _WIDTH * (at + 0.5)))) for at in range(BINS))
PSEUDO_SAMPLES = 8.0
"""How much a thing learnt in an earlier run weighs against what is seen now."""


@dataclass(frozen=True, slots=True)
class AcceptanceRecord:
    """Statistics as plain data: rate per position (from 1), and hit rate per class of positions and bin (-1: none)."""

    rates: tuple[float, ...] = ()
    bins: tuple[tuple[float, ...], ...] = ()


class Acceptance:
    """Acceptance statistics of one source of guesses.

    Args:
        classes: positions from this one on share their bins. 1 where the confidence says all there is to know, as with
            the length of an n-gram match.
    """

    def __init__(self, classes: int = 3) -> None:
        self._classes = classes
        self._rate: dict[int, float] = {}
        self._count: dict[int, float] = {}
        self._tested = [[0.0] * BINS for _ in range(classes)]
        self._hits = [[0.0] * BINS for _ in range(classes)]
        self._seen = [[0.0] * BINS for _ in range(classes)]

    def _class(self, position: int) -> int:
        return min(position, self._classes) - 1

    def _key(self, position: int) -> int:
        """Where one class holds all positions, their rate is one, too."""
        return position if self._classes > 1 else 1

    def rate(self, position: int) -> float:
        """Chance that guess number `position` (from 1) is right, given that those before it are."""
        position = self._key(position)
        known = self._rate.get(position)
        if known is not None:
            return known
        prior = _PRIORS[position - 1] if position <= len(_PRIORS) else _LAST_PRIOR
        nearest = max((p for p in self._rate if p < position), default=None)
        return prior if nearest is None else min(prior, self._rate[nearest] + 0.05)

    def deepest(self) -> int:
        """The last position that was ever tested."""
        return max(self._rate, default=0)

    def tests(self) -> float:
        """How many first guesses were tested; what was learnt earlier counts as a few."""
        return self._count.get(1, 0.0)

    def rates(self) -> tuple[float, ...]:
        """Rates of the positions that were tested, from the first."""
        return tuple(self.rate(position) for position in range(1, self.deepest() + 1))

    def chance(self, position: int, confidence: float) -> float:
        """The same, with the drafter's confidence in this very guess taken into account."""
        return self._of_bin(self._class(position), _bin(confidence), confidence, self.rate(position))

    def _of_bin(self, row: int, at: int, confidence: float, rate: float) -> float:
        blend = min(0.97, 0.5 * confidence + 0.5 * rate) if self._classes > 1 else confidence
        return (self._hits[row][at] + _SHRINK * blend) / (self._tested[row][at] + _SHRINK)

    def option(self, position: int, alive: float, price: float) -> float:
        """Expected gain of being free to verify guess number `position` or not, once its confidence is known.

        Args:
            alive: chance that the guesses before it hold.
            price: tokens that verifying it costs.
        """
        row = self._class(position)
        seen, rate = self._seen[row], self.rate(position)
        total = sum(seen)
        if total < 1:
            return 0.0
        gain = 0.0
        for at, share in enumerate(seen):
            if share > 0:
                gain += share * max(0.0, alive * self._of_bin(row, at, _CENTRES[at], rate) - price)
        return gain / total

    def sight(self, position: int, confidence: float) -> None:
        """Note the confidence of a guess, tested or not."""
        seen = self._seen[self._class(position)]
        for at in range(BINS):
            seen[at] *= _SEEN_DECAY
        seen[_bin(confidence)] += 1

    def observe(self, position: int, confidence: float, *, hit: bool) -> None:
        """Note one tested guess."""
        row, at = self._class(position), _bin(confidence)
        self._tested[row][at] = self._tested[row][at] * _DECAY + 1
        self._hits[row][at] = self._hits[row][at] * _DECAY + hit
        position = self._key(position)
        old, count = self.rate(position), self._count.get(position, 2.0)
        self._rate[position] = old + max(_SLOWEST, 1 / (count + 1)) * (hit - old)
        self._count[position] = count + 1

    def wonder(self, position: int) -> None:
        """The guess before `position` was right, and none was made there: what was seen there once is a little older.

        Few early misses must not keep a position from ever being tried again, so its rate drifts towards that of the
        position before it, the slower the more is known.
        """
        if self._classes > 1 and position in self._rate:
            pace = 0.5 / (self._count[position] + 8)
            self._rate[position] += pace * max(0.0, 0.97 * self.rate(position - 1) - self._rate[position])

    def fade(self, share: float = 0.25) -> None:
        """Trust the past less, after the sampling or the model changed."""
        for table in (self._tested, self._hits):
            for row in table:
                row[:] = [value * share for value in row]
        for position in self._count:
            self._count[position] = max(2.0, self._count[position] * share)

    def record(self) -> AcceptanceRecord:
        """What was learnt, as plain data."""
        bins = tuple(
            tuple(round(hit / tested, 4) if tested >= 1 else -1.0 for hit, tested in zip(hits, all_tested, strict=True))
            for hits, all_tested in zip(self._hits, self._tested, strict=True)
        )
        return AcceptanceRecord(tuple(round(rate, 4) for rate in self.rates()), bins)

    def seed(self, record: AcceptanceRecord) -> None:
        """Start from a record of an earlier run; each rate counts as a few samples."""
        for position, rate in enumerate(record.rates[:64], 1):
            self._rate[self._key(position)] = min(max(rate, 0.0), 1.0)
            self._count[self._key(position)] = PSEUDO_SAMPLES
        for row, rates in enumerate(record.bins[: self._classes]):
            for at, rate in enumerate(rates[:BINS]):
                if 0 <= rate <= 1:
                    self._tested[row][at] = PSEUDO_SAMPLES
                    self._hits[row][at] = PSEUDO_SAMPLES * rate


def _bin(confidence: float) -> int:
    p = min(max(confidence, 1e-4), 1 - 1e-4)
    logit = math.log(p / (1 - p))
    return min(BINS - 1, max(0, int((logit - _LOWEST) / _WIDTH)))
