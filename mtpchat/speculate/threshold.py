"""The rule known from articles: deeper while guesses are mostly right, shallower while they are not, down to off.

It knows nothing of costs, so it cannot tell that a machine is too slow for guessing; it is here to compare with, and
for those who like to set the one number themselves.
"""

from __future__ import annotations

from collections.abc import Sequence

from mtpchat.report import Decision, Reason
from mtpchat.speculate.decisions import DecisionLog
from mtpchat.speculate.policy import Bounds, Round, doubtful, sound, why_plain

_WINDOW = 8
"""Rounds with guesses that are judged together."""
_FIRST_REST, _LONGEST_REST = 16, 256
"""Plain rounds at depth 0 before one guess is tried again; doubled each time it fails."""


class ThresholdDepth:
    """One step deeper after a window of more than `threshold` acceptance, one shallower after one of less.

    Args:
        threshold: share of the tested guesses that must be right, 0..1.
    """

    def __init__(self, threshold: float = 0.6) -> None:
        self.log = DecisionLog()
        self._threshold = threshold
        self._depth = 1
        self._bounds = Bounds(0, 0)
        self._rounds = self._tested = self._matched = 0
        self._rest, self._rested = _FIRST_REST, 0
        self._share: float | None = None

    def plan(self, kind: str, bounds: Bounds) -> bool:
        """See Policy.plan."""
        self._bounds = bounds  # they may be narrow for one step only, as at the end of an answer: the depth stays
        floor = max(bounds.low, 1) if bounds.insist else bounds.low
        self._depth = max(self._depth, floor)
        if self._depth == 0:
            self._rested += 1
            if self._rested >= self._rest:
                self._depth, self._rested = 1, 0
        return bounds.high > 0 and self._depth > 0

    def wants(self, confidences: Sequence[float]) -> bool:
        """See Policy.wants."""
        most = min(self._bounds.high, max(self._depth, self._bounds.low))
        return len(confidences) < most and not doubtful(confidences, self._bounds.p_min)

    def keep(self, confidences: Sequence[float]) -> int:
        """See Policy.keep."""
        return sound(confidences, self._bounds)

    def observe(self, played: Round) -> None:
        """See Policy.observe."""
        reason = self._reason(played)
        numbers = (self._share or 0.0, self._threshold) if reason in {Reason.WINDOW, Reason.RESTING} else ()
        self.log.note(Decision(reason, played.made, played.verified, played.tokens, played.kind, *numbers))
        if not played.verified:
            return
        self._rounds += 1
        for trial in played.trials:
            self._tested += trial.tested
            self._matched += trial.matched
        if self._rounds >= _WINDOW and self._tested:
            self._judge()

    def _reason(self, played: Round) -> Reason:
        resting = self._bounds.high > 0 and self._depth == 0
        if not played.verified:
            return Reason.RESTING if resting else why_plain(played, self._bounds) or Reason.OFF
        return Reason.TRYING if self._share is None else Reason.WINDOW

    def _judge(self) -> None:
        self._share = self._matched / self._tested
        if self._share > self._threshold:
            self._depth = max(self._depth, min(self._depth + 1, self._bounds.high))
            self._rest = _FIRST_REST
        elif self._share < self._threshold:
            self._depth = min(self._depth, self._bounds.high) - 1
            if self._depth == 0:
                self._rest = min(2 * self._rest, _LONGEST_REST)
        self._rounds = self._tested = self._matched = 0
