"""What guessing may cost: a bound on the time lost against plain decoding, and a small budget for probes.

The ledger adds up, round by round, the seconds spent minus the seconds plain decoding would have taken for the same
tokens. It forgets gains beyond a bank of eight plain steps, so it is never below the true loss since the start.
Guesses are allowed while it stands below a share of the elapsed time plus two steps, or ten for a promising drafter;
then

    loss  <=  (REGRET + PROBE) * elapsed  +  10 plain steps  +  the loss of one round  +  the error of the plain cost

whatever the drafter does, and within any later window at most the bank more. Why: docs/speculation.md, "Parking,
probes, and the bound".

An example with plain steps of 20 ms. After 10 s, guesses may have lost 100 ms + 2 * 20 ms = 140 ms. A round of three
guesses that takes 35 ms and gives one token loses 15 ms; one that gives three tokens gains 25 ms.
"""

from __future__ import annotations

REGRET = 0.01
"""Share of the elapsed time that guessing may lose against plain decoding."""
PROBE = 0.005
"""Share of the elapsed time that probes may cost."""
IDLE_PROBE = 0.002
"""The same once probes have failed many times in a row."""
KEEN_PROBE = 0.015
"""The same while one probe after the other is right: something has changed."""
BANK = 8.0
"""Plain steps' worth of past gains that may be lost again."""
_HEADROOM = 2.0
"""Plain steps that may be lost beside the share: nothing is known about a drafter before it has cost something."""
_TRUST = 8.0
"""Further plain steps that may be lost while the drafter is known well and promises a clear gain. Without them a good
drafter that met with bad luck at first would wait for hundreds of tokens."""
OUTLIER = 1.5
"""A round longer than this multiple of what was expected is the machine's fault, not the drafter's."""


class Ledger:
    """Seconds lost against plain decoding, and seconds that probes may still spend."""

    def __init__(self) -> None:
        self._elapsed = self._lost = self._credit = 0.0
        self._most = float("inf")

    @property
    def lost_share(self) -> float:
        """Share of the elapsed time lost; negative while guessing has gained."""
        return self._lost / self._elapsed if self._elapsed else 0.0

    @property
    def lost_s(self) -> float:
        """Seconds lost; negative while guessing has gained, at most by the bank."""
        return self._lost

    def exhausted(self, plain_s: float, *, promising: bool = False) -> bool:
        """Whether guessing has lost all it may.

        Args:
            plain_s: what a plain step costs.
            promising: the drafter is known well, and promises a clear gain.
        """
        return self._lost > self.allowed_s(plain_s, promising=promising)

    def allowed_s(self, plain_s: float, *, promising: bool = False) -> float:
        """Seconds that guessing may lose by now; see `exhausted`."""
        return REGRET * self._elapsed + (_HEADROOM + _TRUST if promising else _HEADROOM) * plain_s

    def affords(self, price_s: float, *, or_full: bool = False) -> bool:
        """Whether a probe of this price may be made.

        Args:
            or_full: also one that is dearer than the budget can hold, once it is full; the rest is owed.
        """
        return self._credit >= (min(price_s, self._most) if or_full else price_s)

    def spend(self, price_s: float) -> None:
        """Pay for a probe."""
        self._credit -= price_s

    def add_plain(self, step_s: float, draft_s: float) -> None:
        """A round in which nothing was verified: it loses what guessing took, however long the step itself was.

        Args:
            draft_s: seconds of guesses that no probe has paid for.
        """
        self._elapsed += step_s + draft_s
        self._lost += draft_s

    def add_verified(self, spent_s: float, expected_s: float, plain_s: float, tokens: int) -> None:
        """A round in which guesses were verified.

        Args:
            expected_s: what such a round costs by the tables.
            plain_s: what a plain step costs.
            tokens: how many the round produced.
        """
        self._elapsed += spent_s
        lost = min(spent_s, OUTLIER * expected_s) - tokens * plain_s
        self._lost = max(-BANK * plain_s, self._lost + lost)

    def accrue(self, spent_s: float, share: float, most_s: float) -> None:
        """Let the budget for probes grow by a share of the time, up to `most_s`."""
        self._most = most_s
        self._credit = min(self._credit + share * spent_s, most_s)
