"""When to try a guess although it does not seem to pay, and when not even to think about it.

Two kinds of trial keep an eye on a drafter that is not used. A shadow probe makes a guess without verifying it, and
learns from the token that comes anyway. A width probe verifies one guess, to learn what that costs now. Between them,
after a round in which guessing was clearly not worth it, a nap of some plain steps saves the weighing itself. Where
guessing goes well it is the plain step that is not used, and measured again now and then.
"""

from __future__ import annotations

from mtpchat.speculate.ledger import IDLE_PROBE, KEEN_PROBE, PROBE

NAP, FREE_NAP = 8, 64
"""Plain steps after a round in which asking the drafter was not worth it, until it is weighed again; where guesses are
free only the lack of any ends in a nap. Weighing takes about as long as a hundredth of a small model's step."""
_SHADOW_GAP = 4
"""Rounds between two shadow probes, however much the budget has grown: neighbouring tokens are alike."""
_IDLE_AFTER, _KEEN_AFTER = 50, 2
"""Misses in a row after which probes become rarer, and hits in a row after which they become more."""
_FIRST_WIDTH_GAP, _LAST_WIDTH_GAP = 16, 512
"""Rounds between two width probes; doubled each time until a guess is right."""
_FIRST_REFRESH, _REFRESH_EVERY = 16, 256
"""Rounds with guesses between two measurements of the plain step; doubled each time."""
_REFRESH_STEPS = 2
"""Plain steps of each: the first has another width than the step before, and hardly counts (costs.py)."""
_DRIFT = 0.08
"""Where the cost of a plain step was moved so far by other widths, it is measured at once."""


class Probing:
    """Counts rounds since the last trials, and how first guesses fared lately.

    Attributes:
        hits: first guesses that were right, since the last wrong one.
        misses: the other way round.
    """

    def __init__(self) -> None:
        self.hits = self.misses = 0
        self._since_shadow = self._since_width = 0
        self._width_gap = _FIRST_WIDTH_GAP

    def passed(self, rounds: int, *, verified: bool = False, gained: bool = False) -> None:
        """Rounds have gone by.

        Args:
            verified: guesses were verified in them.
            gained: and the first of them was right: widths are worth knowing again.
        """
        self._since_shadow += rounds
        self._since_width = 0 if verified else self._since_width + rounds
        if gained:
            self._width_gap = _FIRST_WIDTH_GAP

    def tested(self, *, hit: bool) -> None:
        """A first guess was right, or not."""
        self.misses = 0 if hit else self.misses + 1
        self.hits = self.hits + 1 if hit else 0

    @property
    def keen(self) -> bool:
        """Whether first guesses were right several times in a row."""
        return self.hits >= _KEEN_AFTER

    @property
    def shadow_is_due(self) -> bool:
        """Whether a shadow probe comes not too soon after the last one."""
        return self._since_shadow >= _SHADOW_GAP

    @property
    def width_is_due(self) -> bool:
        """Whether the cost of verifying one guess was not measured for long."""
        return self._since_width >= self._width_gap

    def shadowed(self) -> None:
        """A shadow probe is made."""
        self._since_shadow = 0

    def widened(self) -> None:
        """A width probe is made; the next one waits twice as long."""
        self._since_width, self._width_gap = 0, min(2 * self._width_gap, _LAST_WIDTH_GAP)

    def share(self, *, exhausted: bool) -> float:
        """Share of the time for probes: more while they keep hitting, less once they have failed for long.

        Args:
            exhausted: guessing has lost all that it may.
        """
        if self.misses >= _IDLE_AFTER:
            return IDLE_PROBE
        return KEEN_PROBE if self.keen and not exhausted else PROBE


class Refreshing:
    """Counts rounds with guesses since a plain step was measured."""

    def __init__(self) -> None:
        self._rounds = self._left = 0
        self._gap = _FIRST_REFRESH

    def passed(self, *, guessed: bool) -> None:
        """A round has gone by."""
        self._rounds = self._rounds + 1 if guessed else 0

    def wanted(self, drifted: float) -> bool:
        """Whether this step should be plain, to be measured.

        Args:
            drifted: see Costs.drifted.
        """
        if self._left:
            self._left -= 1
            return True
        moved = self._rounds >= _FIRST_REFRESH and not 1 / (1 + _DRIFT) < drifted < 1 + _DRIFT
        if self._rounds < self._gap and not moved:
            return False
        self._rounds, self._left = 0, _REFRESH_STEPS - 1
        self._gap = min(2 * self._gap, _REFRESH_EVERY)
        return True


class Nap:
    """Plain steps during which nothing is weighed; what they took is accounted for when they are over.

    Attributes:
        left: steps that may still be plain.
    """

    def __init__(self) -> None:
        self.left = self._steps = 0
        self._seconds = 0.0

    def passed(self, step_s: float) -> None:
        """A plain step has gone by."""
        self.left -= 1
        self._steps += 1
        self._seconds += step_s

    def over(self) -> tuple[int, float]:
        """Steps and seconds since the nap began; none are left of it."""
        steps, seconds = self._steps, self._seconds
        self.left, self._steps, self._seconds = 0, 0, 0.0
        return steps, seconds
