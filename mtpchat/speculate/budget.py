"""How many tokens to guess: pinned by the user, or by what one more guess costs and brings.

The adaptive rule maximises tokens per second. With R the rate now, S the chance that all guesses so far hold, a the
chance of the next one, and measured times, one more guess is worth making while

    S * a  >  R * (t_guess + t_verify[width + 1] - t_verify[width])

(renewal reward: the best policy maximises E[tokens] - R * E[time] of each round; Dinkelbach, 1967). Costs are a
staircase on many machines, so the rule looks several guesses ahead. Where not even the first guess pays, decoding is
plain, and now and then a guess is made but not verified (a shadow probe), paid from a small budget, to notice when that
changes.

A ledger bounds the regret: time lost against plain decoding may not exceed 1 % of the time spent plus two steps; beyond
that the drafter is parked whatever the estimates say. Pure: time comes in as numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from mtpchat.speculate.acceptance import Acceptance
from mtpchat.speculate.costs import Costs

REGRET = 0.01
"""Share of the elapsed time that guessing may lose against plain decoding."""
PROBE = 0.005
"""Share of the elapsed time that probes may cost."""
_BANK = 20.0
"""Plain steps' worth of past gains that may be lost again."""
_OUTLIER = 1.5
"""A round longer than this multiple of what was expected is the machine's fault, not the drafter's."""
_RATE_DECAY = 0.985
_HYSTERESIS = 0.95
_SHADOW_GAP = 4
_FIRST_WIDTH_GAP, _LAST_WIDTH_GAP = 16, 512
_REFRESH_EVERY, _REFRESH_STEPS = 256, 2
_FARTHEST = 8


@dataclass(frozen=True, slots=True)
class Bounds:
    """What is allowed in one round.

    Attributes:
        low: a draft shorter than this is not verified (llama.cpp's n_min).
        high: most guesses.
        insist: guess even where it does not pay (/mtp on).
        p_min: stop before a guess of less confidence.
    """

    low: int
    high: int
    insist: bool = False
    p_min: float = 0.0


@dataclass(frozen=True, slots=True)
class Round:
    """What happened in one round.

    Attributes:
        kind: who guessed.
        confidences: of all guesses made, verified or not.
        verified: how many were decoded by the target.
        matched / tested: see verify.Verdict.
        tokens: how many tokens the round produced.
        shadow_hit: for a guess that was not verified: did the target choose it? None when there was none.
        draft_s / verify_s: seconds of guessing, and of everything else.
    """

    kind: str
    confidences: tuple[float, ...]
    verified: int
    matched: int
    tested: int
    tokens: int
    shadow_hit: bool | None
    draft_s: float
    verify_s: float


class Policy(Protocol):
    """Decides about one round at a time: plan, wants*, keep, observe."""

    def plan(self, kind: str, bounds: Bounds) -> bool:
        """Begin a round; False when nothing is to be guessed."""
        ...

    def wants(self, confidences: Sequence[float]) -> bool:
        """After these guesses: one more?"""
        ...

    def keep(self, confidences: Sequence[float]) -> int:
        """How many of the guesses to verify."""
        ...

    def observe(self, played: Round) -> None:
        """Learn from the round, whoever decided it."""
        ...


class FixedDepth:
    """Guess up to the upper bound every time."""

    def __init__(self) -> None:
        self._bounds = Bounds(0, 0)

    def plan(self, kind: str, bounds: Bounds) -> bool:
        """See Policy.plan."""
        self._bounds = bounds
        return bounds.high > 0

    def wants(self, confidences: Sequence[float]) -> bool:
        """See Policy.wants."""
        return len(confidences) < self._bounds.high and not _doubtful(confidences, self._bounds.p_min)

    def keep(self, confidences: Sequence[float]) -> int:
        """See Policy.keep."""
        count = len(confidences) - _doubtful(confidences, self._bounds.p_min)
        return count if count >= self._bounds.low else 0

    def observe(self, played: Round) -> None:
        """See Policy.observe: nothing to learn."""


class AdaptiveDepth:
    """The marginal-value rule with shadow probes and a regret ledger.

    Args:
        costs: kept up to date by the controller.
    """

    def __init__(self, costs: Costs) -> None:
        self._costs = costs
        self._acceptance: dict[str, Acceptance] = {}
        self._kind = ""
        self._bounds = Bounds(0, 0)
        self._forced = self._shadow = self._parked = False
        self._tokens = self._seconds = 0.0
        self._elapsed = self._credit = self._ledger = 0.0
        self._since_shadow = self._since_width = self._since_plain = 0
        self._width_gap = _FIRST_WIDTH_GAP
        self._refresh = 0

    def acceptance(self, kind: str) -> Acceptance:
        """Statistics of one kind of drafter."""
        return self._acceptance.setdefault(kind, Acceptance())

    def fade(self) -> None:
        """Trust what was learnt about acceptance less, after the sampling changed."""
        for seen in self._acceptance.values():
            seen.fade()

    @property
    def parked(self) -> bool:
        """True while the ledger keeps the drafter from being used."""
        return self._parked

    def rate(self) -> float:
        """Tokens per second now, at least that of plain decoding."""
        plain = 1 / self._costs.verify_s(1)
        return max(plain, self._tokens / self._seconds) if self._seconds else plain

    def plan(self, kind: str, bounds: Bounds) -> bool:
        """See Policy.plan."""
        self._kind, self._bounds = kind, bounds
        self._forced = self._shadow = False
        plain = self._costs.plain_s
        if bounds.high < 1 or plain is None:
            return False  # the first steps are plain: without that measure nothing can be judged
        self._parked = self._ledger > REGRET * self._elapsed + 2 * plain and not bounds.insist
        if self._refresh:
            self._refresh -= 1
            return False
        if self._since_plain >= _REFRESH_EVERY and not bounds.insist:
            self._since_plain, self._refresh = 0, _REFRESH_STEPS - 1
            return False
        if self._costs.guess_s(kind) is None or not self._costs.knows(2):
            self._forced = not self._parked
        elif self._since_width >= self._width_gap and self._credit >= self._width_price():
            self._forced = True
            self._credit -= self._width_price()
            self._since_width, self._width_gap = 0, min(2 * self._width_gap, _LAST_WIDTH_GAP)
        return True

    def _width_price(self) -> float:
        """Seconds at stake when one guess is made and verified."""
        costs = self._costs
        return (costs.guess_s(self._kind) or 0.0) + costs.verify_s(2) - costs.verify_s(1)

    def wants(self, confidences: Sequence[float]) -> bool:
        """See Policy.wants."""
        made = len(confidences)
        if made >= self._bounds.high or _doubtful(confidences, self._bounds.p_min):
            return False
        if self._forced or self._shadow:
            return made < 1
        if not made and self._bounds.insist:
            return True
        if not self._parked and self._gain_ahead(made, self._survival(confidences)) > 0:
            return True
        return not made and self._may_probe()

    def _may_probe(self) -> bool:
        """Take a shadow probe if it is time and the budget allows it."""
        price = self._costs.guess_s(self._kind) or 0.0
        if self._since_shadow < _SHADOW_GAP or self._credit < price:
            return False
        self._shadow = True
        self._credit -= price
        self._since_shadow = 0
        return True

    def _survival(self, confidences: Sequence[float]) -> float:
        alive = 1.0
        for position, confidence in enumerate(confidences, 1):
            alive *= self.acceptance(self._kind).chance(position, confidence)
        return alive

    def _gain_ahead(self, made: int, alive: float) -> float:
        """Best expected gain, in tokens, of making 1, 2, ... more guesses; a staircase may pay only at its far end."""
        costs, rate = self._costs, self.rate()
        guess = costs.guess_s(self._kind) or 0.0
        seen = self.acceptance(self._kind)
        base = costs.verify_s(made + 1)
        tokens, best = 0.0, 0.0
        for depth in range(made + 1, min(self._bounds.high, made + _FARTHEST) + 1):
            alive *= seen.rate(depth)
            tokens += alive
            price = (depth - made) * guess + costs.verify_s(depth + 1) - base
            steady = _HYSTERESIS if depth + 1 == costs.last_width else 1.0
            best = max(best, tokens - rate * price * steady)
        return best

    def keep(self, confidences: Sequence[float]) -> int:
        """See Policy.keep."""
        count = len(confidences) - _doubtful(confidences, self._bounds.p_min)
        if self._shadow or not count:
            return 0
        if self._forced:
            return min(count, 1)
        values = self._values(confidences[:count])
        best = max(range(count + 1), key=lambda depth: values[depth])
        if self._bounds.insist:
            best = max(best, 1)
        low = self._bounds.low
        if 0 < best < low:
            return low if count >= low and values[low] >= 0 else 0
        return best

    def _values(self, confidences: Sequence[float]) -> list[float]:
        """Expected gain in tokens of verifying the first 0, 1, 2, ... guesses; making them is paid for already."""
        costs, rate = self._costs, self.rate()
        seen = self.acceptance(self._kind)
        values, alive, tokens = [0.0], 1.0, 0.0
        for depth, confidence in enumerate(confidences, 1):
            alive *= seen.chance(depth, confidence)
            tokens += alive
            values.append(tokens - rate * (costs.verify_s(depth + 1) - costs.verify_s(1)))
        return values

    def observe(self, played: Round) -> None:
        """See Policy.observe."""
        seen = self.acceptance(played.kind)
        for position, confidence in enumerate(played.confidences[: played.tested], 1):
            seen.observe(position, confidence, hit=position <= played.matched)
        if played.shadow_hit is not None:
            seen.observe(1, played.confidences[0], hit=played.shadow_hit)
        self._since_shadow += 1
        self._since_width = self._since_width + 1 if not played.verified else 0
        self._since_plain = self._since_plain + 1 if played.verified else 0
        if played.verified and played.matched:
            self._width_gap = _FIRST_WIDTH_GAP
        self._account(played)

    def _account(self, played: Round) -> None:
        """Rate, probe budget and ledger."""
        costs = self._costs
        spent = played.draft_s + played.verify_s
        self._tokens = _RATE_DECAY * self._tokens + played.tokens
        self._seconds = _RATE_DECAY * self._seconds + spent
        self._elapsed += spent
        plain = costs.plain_s
        if plain is None:
            return
        guess = costs.guess_s(played.kind) or 0.0
        self._credit = min(self._credit + PROBE * spent, 4 * guess + max(0.0, self._width_price()))
        if played.verified:
            expected = guess * len(played.confidences) + costs.verify_s(played.verified + 1)
            lost = min(spent, _OUTLIER * expected) - played.tokens * plain
        else:
            lost = played.draft_s  # a plain step loses nothing against plain decoding, however long it took
        self._ledger = max(-_BANK * plain, self._ledger + lost)


def _doubtful(confidences: Sequence[float], p_min: float) -> bool:
    """Whether the last guess falls below the user's threshold."""
    return bool(confidences) and confidences[-1] < p_min
