"""How many tokens to guess: for as long as one more guess is worth its measured price.

The rule maximises tokens per second. With R the rate now, S the chance that all guesses so far hold, a the chance of
the next one, and measured times, one more guess is worth making while

    S * a  >  R * (t_guess + t_verify[width + 1] - t_verify[width])

(renewal reward: the best policy maximises E[tokens] - R * E[time] of each round; Dinkelbach, 1967). Costs are a
staircase on many machines, so the rule looks several guesses ahead. Making a guess does not oblige to verify it: where
guesses are cheap and rows are dear, it may pay to guess, look at the confidence, and verify only the sure ones.

Where not even the first guess pays, decoding is plain, and now and then a probe looks whether that has changed
(probing.py). A ledger bounds what all this may lose (ledger.py). Pure: time comes in as numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

from mtpchat.report import Decision, Reason
from mtpchat.speculate.acceptance import Acceptance
from mtpchat.speculate.budget import Bounds, Round, doubtful
from mtpchat.speculate.calibration import Calibration
from mtpchat.speculate.costs import Costs
from mtpchat.speculate.decisions import DecisionLog
from mtpchat.speculate.ledger import OUTLIER, REGRET, Ledger
from mtpchat.speculate.probing import FREE_NAP, NAP, Nap, Probing
from mtpchat.speculate.ramp import CopyRamp
from mtpchat.speculate.worth import AGREED, Worth

_RATE_DECAY = 0.985
_FIRST_REFRESH, _REFRESH_EVERY, _REFRESH_STEPS = 16, 256, 2
_DRIFT = 0.08
_KNOWN, _CLEAR_GAIN = 12, 0.05
"""Tested guesses, and tokens gained per round, from which on a drafter counts as promising."""
_RETRIED, _SURE = 2, 0.75
"""Free guesses that are verified now and then against the tables, and how sure each of them must be."""
_CLOSE = 0.6
"""A guess that is worth this share of its price, or more, may pay at the next step."""


class AdaptiveDepth:
    """The marginal-value rule with shadow probes and a regret ledger.

    Args:
        costs: kept up to date by the controller.
        free: kinds whose guesses cost nothing to make and whose confidence says all about them (n-gram).

    Attributes:
        short_look: the guess now asked for is a probe too dear with all that waits to be read: the least must do.
        nap: steps that may be plain, unless there is something to copy, before `plan` is called again.
    """

    def __init__(self, costs: Costs, free: frozenset[str] = frozenset({"ngram"})) -> None:
        self.log = DecisionLog()
        self.ledger = Ledger()
        self._ramp = CopyRamp()
        self.calibration = Calibration(free | {AGREED})
        self._weigh = Worth(costs, self.calibration)
        self._costs = costs
        self._free = free
        self._kind = ""
        self._bounds = Bounds(0, 0)
        self._forced = self._shadow = self._parked = self.short_look = False
        self._paid = 0.0
        self._tokens = self._seconds = 0.0
        self._probing = Probing()
        self._since_plain = 0
        self._refresh, self._refresh_gap = 0, _FIRST_REFRESH
        self._reason, self._worth, self._price = Reason.OFF, 0.0, 0.0
        self._deciding = False
        self.nap = Nap()

    def acceptance(self, kind: str) -> Acceptance:
        """Statistics of one kind of drafter."""
        return self.calibration.of(kind)

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
        self._wake()
        self._kind, self._bounds, self._deciding = kind, bounds, True
        self._forced = self._shadow = self._parked = self.short_look = False
        self._paid = 0.0
        plain = self._costs.plain_s
        if bounds.high < 1:
            return self._decide(Reason.OFF)
        if plain is None or not self._costs.settled:
            return self._decide(Reason.COLD)  # the first steps are plain: without that measure nothing can be judged
        if not bounds.insist and self.ledger.exhausted(plain):
            self._parked = self.ledger.exhausted(plain, promising=True) or not self._promises()
        if not bounds.insist and self._wants_refresh():
            return self._decide(Reason.REFRESH)
        if kind not in self._free and not self._parked:
            self._plan_probe()
        return True

    def _wake(self) -> None:
        """Account for the steps of a nap, all at once."""
        (count, spent), plain = self.nap.over(), self._costs.plain_s
        if not count or plain is None:
            return
        self._probing.passed(count)
        self.log.rested(count)
        self._since_plain = 0
        spent = min(spent, 2 * plain * count)
        kept = _RATE_DECAY**count
        weight = (1 - kept) / (1 - _RATE_DECAY)
        self._tokens = kept * self._tokens + weight
        self._seconds = kept * self._seconds + weight * spent / count
        self.ledger.add_plain(spent, 0.0)
        self._accrue(spent, plain)

    def _promises(self) -> bool:
        """Whether the drafter is known well, and promises a clear gain."""
        known = self.acceptance(self._kind).tests() >= _KNOWN and self._costs.knows(2)
        return known and self._gain_ahead(0, 1.0) >= _CLEAR_GAIN

    def _decide(self, reason: Reason) -> bool:
        self._reason, self._worth, self._price = reason, 0.0, 0.0
        return False

    def _wants_refresh(self) -> bool:
        """Whether to measure the plain step, on which rate and ledger rest."""
        if self._refresh:
            self._refresh -= 1
            return True
        drift = self._costs.drifted
        moved = self._since_plain >= _FIRST_REFRESH and not 1 / (1 + _DRIFT) < drift < 1 + _DRIFT
        if self._since_plain < self._refresh_gap and not moved:
            return False
        self._since_plain, self._refresh = 0, _REFRESH_STEPS - 1
        self._refresh_gap = min(2 * self._refresh_gap, _REFRESH_EVERY)
        return True

    def _plan_probe(self) -> None:
        """One guess that is verified in any case, to learn what that costs."""
        costs = self._costs
        if costs.guess_s(self._kind) is None or not costs.knows(2):
            self._forced = True
        elif self._probing.width_is_due and self._pay(self._width_price()):
            self._forced = True
            self._probing.widened()

    def _width_price(self) -> float:
        """Seconds at stake when one guess is made and verified."""
        costs = self._costs
        return (costs.guess_s(self._kind) or 0.0) + max(0.0, costs.verify_s(2) - costs.verify_s(1))

    def wants(self, confidences: Sequence[float]) -> bool:
        """See Policy.wants."""
        made = len(confidences)
        if made >= self._bounds.high or doubtful(confidences, self._bounds.p_min):
            return False
        if self._forced or (self._shadow and self._kind not in self._free):
            return made < (max(1, self._bounds.low) if self._forced else 1)
        if self._kind in self._free:
            return made > 0 or not self._parked or self._may_probe()
        if self._bounds.insist and made < max(1, self._bounds.low):
            return True
        if not self._parked and self._gain_ahead(made, self._weigh.survival(self._kind, confidences)) > 0:
            return True
        return not made and self._may_probe()

    def _accrue(self, spent_s: float, plain_s: float) -> None:
        """Let the budget for probes grow: it may hold some probes, or one that must read much."""
        guess_s = self._costs.guess_s(self._kind) or 0.0
        most_s = 4 * guess_s + self._width_price() + self._costs.catch_up_s(self._kind, self._bounds.least)
        share = self._probing.share(exhausted=self.ledger.exhausted(plain_s, promising=True))
        self.ledger.accrue(spent_s, share, most_s)

    def _may_probe(self) -> bool:
        """Take a shadow probe if it is time and the budget allows it."""
        if not self._probing.shadow_is_due:
            return False
        self._shadow = self._pay(self._costs.guess_s(self._kind) or 0.0)
        if self._shadow:
            self._probing.shadowed()
        return self._shadow

    def _pay(self, price: float) -> bool:
        """Pay for a probe and what it must read; False, and nothing is paid, where it cannot be afforded."""
        whole, least = (
            price + self._costs.catch_up_s(self._kind, rows) for rows in (self._bounds.waiting, self._bounds.least)
        )
        if not self.ledger.affords(least):
            return False
        self.short_look = not self.ledger.affords(whole)
        self._paid = least if self.short_look else whole
        self.ledger.spend(self._paid)
        return True

    def _gain_ahead(self, made: int, alive: float) -> float:
        """See Worth.ahead."""
        ahead = self._weigh.ahead(self._kind, made, alive, self._bounds.high, self.rate())
        if not made:
            self._worth, self._price = ahead.worth, ahead.price
        return ahead.gain

    def begin_text(self) -> None:
        """A new answer begins."""
        self._ramp.begin_text()

    def keep(self, confidences: Sequence[float]) -> int:
        """See Policy.keep."""
        return self.keep_joined(confidences, ())

    def keep_joined(self, confidences: Sequence[float], tail: Sequence[float]) -> int:
        """How many to verify of the drafter's guesses and of a copy that begins with them and goes on.

        Args:
            tail: confidences of the copy's guesses behind the drafter's.
        """
        count = len(confidences) - doubtful(confidences, self._bounds.p_min)
        if self._kind in self._free:
            count = min(count, self._ramp.most)
        if self._parked or not count:
            return 0
        if self._forced:
            self._reason = Reason.PROBE
            least = max(1, self._bounds.low)
            return least if count >= least else 0
        trust = self._ramp.trust if self._kind in self._free else 1.0
        values = self._weigh.values(self._kind, confidences[:count], self.rate(), trust)
        if tail and count == len(confidences):
            alive = self._weigh.survival(self._kind, confidences)
            values = self._weigh.lengthened(values, alive, tail[: self._ramp.most], self.rate())
        best = max(range(len(values)), key=values.__getitem__)
        if self._bounds.insist:
            best = max(best, 1)
        elif not best and self._kind in self._free:
            best = self._retry(values)
        return self._at_least_low(best, values)

    def _retry(self, values: Sequence[float]) -> int:
        """How many free guesses that are as good as sure to verify although the tables say that it does not pay.

        A width that is not used is not measured either, and may have been measured last while the machine was busy.
        """
        costs, depth = self._costs, min(_RETRIED, len(values) - 1)
        if not depth:
            return 0
        plain = costs.verify_s(1)
        more = costs.verify_s(depth + 1) - plain
        hoped = values[depth] + self.rate() * more
        price = min(more, depth * plain)  # rows together cost no more than one by one
        if hoped < _SURE * depth or not self._probing.width_is_due or not self.ledger.affords(price, or_full=True):
            return 0
        self.ledger.spend(price)
        self._probing.widened()
        self._reason = Reason.PROBE
        return depth

    def _at_least_low(self, best: int, values: Sequence[float]) -> int:
        low = self._bounds.low
        if 0 < best < low:
            best = low if len(values) > low and (values[low] >= 0 or self._bounds.insist) else 0
        best = self._affordable(best)
        shown = best or (max(range(1, len(values)), key=values.__getitem__) if len(values) > 1 else 0)
        self._price = self.rate() * (self._costs.verify_s(shown + 1) - self._costs.verify_s(1))
        self._worth = values[shown] + self._price
        return best

    def _affordable(self, depth: int) -> int:
        """Near the end of what may be lost, drafts are so short that one bad round does not go far beyond it."""
        plain = self._costs.verify_s(1)
        most = plain + max(0.0, self.ledger.allowed_s(plain, promising=True) - self.ledger.lost_s)
        while depth > 1 and not self._bounds.insist and self._costs.verify_s(depth + 1) - plain > most:
            depth -= 1
        return depth

    def copies(self, kind: str, confidences: Sequence[float]) -> int:
        """How many free guesses of another source to verify instead of asking the drafter; 0: ask it.

        Called after `plan`. A copy wins when it is worth more than what the drafter can be expected to bring.
        """
        if self._forced or not confidences:
            return 0
        values = self._weigh.values(kind, confidences[: self._ramp.most], self.rate(), self._ramp.trust)
        best = max(range(len(values)), key=values.__getitem__)
        if self._parked:
            # What the drafter has lost is not the copies' fault, as long as they are known to gain.
            known = self.acceptance(kind).tests() >= _KNOWN and values[best] >= _CLEAR_GAIN
            if not known or self.ledger.exhausted(self._costs.verify_s(1), promising=True):
                return 0
        elif not values[best] and (retried := self._retry(values)):
            return retried
        elif values[best] <= max(0.0, self._gain_ahead(0, 1.0)):
            return 0
        kept = self._at_least_low(best, values)
        if kept:
            self._reason = Reason.COPY
        return kept

    def observe(self, played: Round) -> None:
        """See Policy.observe."""
        for trial in played.trials:
            self._learn(trial.kind, trial.confidences, trial.tested, trial.matched, trial.first)
            if played.verified and trial.kind in self._free and len(trial.confidences) >= played.verified:
                self._ramp.observe(played.verified, min(trial.matched, played.verified))
        verified = played.verified > 0
        self._probing.passed(1, verified=verified, gained=verified and played.tokens > 1)
        self._since_plain = self._since_plain + 1 if verified else 0
        self._account(played)
        if self._deciding:
            self._deciding = False
            self.nap.left = self._nap_after(played, self._explain(played))

    def _learn(self, kind: str, confidences: Sequence[float], tested: int, matched: int, first: int) -> None:
        seen = self.acceptance(kind)
        if kind not in self._free:
            for at, confidence in enumerate(confidences):
                seen.sight(first + at, confidence)
        for at, confidence in enumerate(confidences[:tested]):
            if kind in self._free:
                self._ramp.judge(seen.chance(first + at, confidence), hit=at < matched)
            seen.observe(first + at, confidence, hit=at < matched)
        if confidences and matched == len(confidences):
            seen.wonder(first + matched)
        if kind == self._kind and tested and first == 1:
            self._probing.tested(hit=matched > 0)

    def _account(self, played: Round) -> None:
        """Rate, probe budget and ledger."""
        costs = self._costs
        spent = played.draft_s + played.verify_s
        plain = costs.plain_s
        if plain is None:
            return
        guess = costs.guess_s(played.kind) or 0.0
        width = played.verified + 1
        step = costs.verify_s(width)
        # A table of few samples is no measure of what is an outlier; but rows cost no more than decoded one by one.
        expected = (step if costs.certain(width) else width * plain / OUTLIER) + guess * played.made
        expected += costs.catch_up_s(played.kind, self._bounds.waiting) if played.made else 0.0
        self._tokens = _RATE_DECAY * self._tokens + played.tokens
        self._seconds = _RATE_DECAY * self._seconds + min(spent, 2 * expected)
        if not self._deciding or self._bounds.insist:
            return  # what was pinned or insisted on is not this rule's loss
        if played.verified:
            self.ledger.add_verified(spent, expected, plain, played.tokens)
        else:
            # A probe was paid for from its own budget, as far as that was foreseen.
            self.ledger.add_plain(played.verify_s, max(0.0, played.draft_s - self._paid * self._shadow))
        self._accrue(min(spent, 2 * expected), plain)

    def _nap_after(self, played: Round, decided: Decision) -> int:
        """How long not to weigh again what was clearly not worth it."""
        if played.made or self._probing.keen or decided.reason not in {Reason.COSTS_MORE, Reason.PARKED}:
            return 0
        if self._kind in self._free:
            return FREE_NAP
        price = self.rate() * self._width_price()
        return 0 if self.acceptance(self._kind).rate(1) > _CLOSE * price else NAP

    def _explain(self, played: Round) -> Decision:
        reason = self._reason
        if reason not in {Reason.COPY, Reason.PROBE, Reason.REFRESH, Reason.COLD, Reason.OFF}:
            reason = self._verdict(played)
        worth, price = self._worth, self._price
        if reason is Reason.PARKED:
            worth, price = self.ledger.lost_share, REGRET
        decided = Decision(reason, played.made, played.verified, played.tokens, played.kind, worth, price)
        self.log.note(decided)
        self._reason, self._worth, self._price = Reason.PAYS, 0.0, 0.0
        return decided

    def _verdict(self, played: Round) -> Reason:
        if played.verified:
            return Reason.PAYS if not self._bounds.insist or self._worth > 0 else Reason.INSISTED
        if self._shadow:
            return Reason.SHADOW
        if self._parked:
            return Reason.PARKED
        return Reason.DOUBT if played.made else Reason.COSTS_MORE
