"""What guesses are worth, in tokens: the chance that they hold against the time that they take.

Pure arithmetic over what was measured (costs.py) and what was seen (acceptance.py); who decides by it is adaptive.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from mtpchat.speculate.acceptance import Acceptance
from mtpchat.speculate.calibration import Calibration
from mtpchat.speculate.costs import Costs

AGREED = "agreed"
"""Source of guesses that go on where a copy and the drafter said the same."""
_HYSTERESIS = 0.95
"""Rebate for the width of the last step: another one may make llama.cpp build its graph anew."""
_SUREST = 0.99
"""No guess is believed to be surer than this."""
_FARTHEST = 8
"""How many guesses ahead the best depth is looked for: the second step of every staircase seen lies within."""
_RAMP = 2
"""How far beyond the deepest position that was ever tested a draft may go."""


class Ahead(NamedTuple):
    """What making one more guess promises.

    Attributes:
        gain: tokens, less those that the time would have brought otherwise.
        worth / price: of the first guess alone where there is nothing to gain; 0 otherwise.
    """

    gain: float
    worth: float = 0.0
    price: float = 0.0


class Worth:
    """Weighs guesses. Rates are tokens per second now: what a second is worth."""

    def __init__(self, costs: Costs, calibration: Calibration) -> None:
        self._costs = costs
        self._calibration = calibration

    def survival(self, kind: str, confidences: Sequence[float]) -> float:
        """Chance that all these guesses hold."""
        alive, seen = 1.0, self._calibration.of(kind)
        for position, confidence in enumerate(confidences, 1):
            alive *= seen.chance(position, confidence)
        return alive

    def ahead(self, kind: str, made: int, alive: float, high: int, rate: float) -> Ahead:
        """Of making 1, 2, ... more guesses the best; a staircase may pay only at its far end.

        Args:
            made: guesses made so far.
            alive: chance that they hold.
            high: most guesses there may be.
        """
        costs, seen = self._costs, self._calibration.of(kind)
        first = costs.guess_s(kind, made + 1) or 0.0
        later = costs.guess_s(kind, made + 2) or 0.0
        base = costs.verify_s(made + 1)
        tokens, best, held = 0.0, 0.0, alive
        for depth in range(made + 1, min(high, made + _FARTHEST, seen.deepest() + _RAMP) + 1):
            held *= seen.rate(depth)
            tokens += held
            price = first + (depth - made - 1) * later + costs.verify_s(depth + 1) - base
            steady = _HYSTERESIS if depth + 1 == costs.last_width else 1.0
            best = max(best, tokens - rate * price * steady)
        if best > 0:
            return Ahead(best)
        row = rate * (costs.verify_s(made + 2) - base)
        gain = seen.option(made + 1, alive, row) - rate * first
        return Ahead(gain, alive * seen.rate(1), row + rate * first)

    def values(self, kind: str, confidences: Sequence[float], rate: float, trust: float = 1.0) -> list[float]:
        """Gain of verifying the first 0, 1, 2, ... guesses; making them is paid for already.

        Args:
            trust: factor on the chance of each.
        """
        costs, seen = self._costs, self._calibration.of(kind)
        values, alive, tokens, plain = [0.0], 1.0, 0.0, costs.verify_s(1)
        for depth, confidence in enumerate(confidences, 1):
            alive *= min(_SUREST, trust * seen.chance(depth, confidence))
            tokens += alive
            values.append(tokens - rate * (costs.verify_s(depth + 1) - plain))
        return values

    def lengthened(self, values: Sequence[float], alive: float, tail: Sequence[float], rate: float) -> list[float]:
        """The values of a draft that a copy carries on.

        Args:
            alive: chance that the draft holds.
            tail: confidences of the copy's guesses behind it.
        """
        costs, seen = self._costs, self._agreed
        longer = list(values)
        for confidence in tail:
            alive *= seen.chance(1, confidence)
            row = costs.verify_s(len(longer) + 1) - costs.verify_s(len(longer))
            longer.append(longer[-1] + alive - rate * row)
        return longer

    @property
    def _agreed(self) -> Acceptance:
        return self._calibration.of(AGREED)
