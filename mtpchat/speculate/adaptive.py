"""How many tokens to guess: for as long as one more guess is worth its measured price.

The rule maximises tokens per second. With R the rate now, S the chance that all guesses so far hold, a the chance of
the next one, and measured times, one more guess is worth making while

    S * a  >  R * (t_guess + t_verify[width + 1] - t_verify[width])

(renewal reward: the best policy maximises E[tokens] - R * E[time] of each round; Dinkelbach, 1967). Costs are a
staircase on many machines, so the rule looks several guesses ahead. Making a guess does not oblige to verify it: where
guesses are cheap and rows are dear, it may pay to guess, look at the confidence, and verify only the sure ones.

An example. A plain step takes 20 ms, a second row 2 ms more, a guess 1 ms; R is 50 tokens/s. A first guess costs
50 * (0.001 + 0.002) = 0.15 tokens, so it is made where it is right in more than 15 % of all cases. On two cores, where
a second row takes 12 ms more, it would have to be right in 65 %. Once it is made and its confidence stands for 0.4, its
row has to be worth 50 * 0.002 = 0.1 (it is verified) or 50 * 0.012 = 0.6 (it is not).

Where not even the first guess pays, decoding is plain, and now and then a probe looks whether that has changed
(probing.py). A ledger bounds what all this may lose (ledger.py). Pure: time comes in as numbers.

In a round the controller calls plan, copies (if there is something to copy), wants before each guess, keep, observe.
"""

from __future__ import annotations

from collections.abc import Sequence

from mtpchat.report import Decision, Reason
from mtpchat.speculate.acceptance import Acceptance
from mtpchat.speculate.calibration import Calibration
from mtpchat.speculate.costs import Costs
from mtpchat.speculate.decisions import DecisionLog
from mtpchat.speculate.ledger import OUTLIER, REGRET, Ledger
from mtpchat.speculate.policy import Bounds, Round, doubtful
from mtpchat.speculate.probing import FREE_NAP, NAP, Nap, Probing, Refreshing
from mtpchat.speculate.ramp import CopyRamp
from mtpchat.speculate.ruling import Ruling
from mtpchat.speculate.worth import AGREED, Worth

_RATE_DECAY = 0.985
"""Weight of all earlier rounds against one more: the rate is that of the last 70 rounds or so."""
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
        nap: steps that may be plain, unless there is something to copy, before `plan` is called again.
    """

    def __init__(self, costs: Costs, free: frozenset[str] = frozenset({"ngram"})) -> None:
        self.log = DecisionLog()
        self.ledger = Ledger()
        self.calibration = Calibration(free | {AGREED})
        self.nap = Nap()
        self._costs = costs
        self._free = free
        self._ramp = CopyRamp()
        self._weigh = Worth(costs, self.calibration)
        self._probing = Probing()
        self._refreshing = Refreshing()
        self._tokens = self._seconds = 0.0
        self._now = Ruling("", Bounds(0, 0))
        self._deciding = False

    def acceptance(self, kind: str) -> Acceptance:
        """Statistics of one kind of drafter."""
        return self.calibration.of(kind)

    @property
    def parked(self) -> bool:
        """True while the ledger keeps the drafter from being used."""
        return self._now.parked

    @property
    def short_look(self) -> bool:
        """The guess now asked for is a probe too dear with all that waits to be read: the least must do."""
        return self._now.short_look

    def rate(self) -> float:
        """Tokens per second now, at least that of plain decoding."""
        plain = 1 / self._costs.verify_s(1)
        return max(plain, self._tokens / self._seconds) if self._seconds else plain

    def begin_text(self) -> None:
        """A new answer begins."""
        self._ramp.begin_text()

    def plan(self, kind: str, bounds: Bounds) -> bool:
        """See Policy.plan."""
        self._wake()
        self._now = now = Ruling(kind, bounds)
        self._deciding = True
        plain = self._costs.plain_s
        if bounds.high < 1:
            return self._plainly(Reason.OFF)
        if plain is None or not self._costs.settled:
            return self._plainly(Reason.COLD)  # without the cost of a plain step nothing can be judged
        if not bounds.insist:
            if self.ledger.exhausted(plain):
                now.parked = self.ledger.exhausted(plain, promising=True) or not self._promises()
            if self._refreshing.wanted(self._costs.drifted):
                return self._plainly(Reason.REFRESH)
        if kind not in self._free and not now.parked:
            self._plan_width_probe()
        return True

    def _plainly(self, reason: Reason) -> bool:
        now = self._now
        now.set_by, now.worth, now.price = reason, 0.0, 0.0
        return False

    def _wake(self) -> None:
        """Account for the steps of a nap, all at once."""
        (count, spent), plain = self.nap.over(), self._costs.plain_s
        if not count or plain is None:
            return
        self._probing.passed(count)
        self._refreshing.passed(guessed=False)
        self.log.rested(count)
        spent = min(spent, 2 * plain * count)
        kept = _RATE_DECAY**count
        weight = (1 - kept) / (1 - _RATE_DECAY)  # 1 + d + d^2 + ..., as if each step had been counted by itself
        self._tokens = kept * self._tokens + weight
        self._seconds = kept * self._seconds + weight * spent / count
        self.ledger.add_plain(spent, 0.0)
        self._accrue(spent, plain)

    def _promises(self) -> bool:
        """Whether the drafter is known well, and promises a clear gain."""
        known = self.acceptance(self._now.kind).tests() >= _KNOWN and self._costs.knows(2)
        return known and self._gain_ahead(0, 1.0) >= _CLEAR_GAIN

    def _plan_width_probe(self) -> None:
        """One guess that is verified in any case, to learn what that costs."""
        costs, now = self._costs, self._now
        if costs.guess_s(now.kind) is None or not costs.knows(2):
            now.width_probe = True
        elif self._probing.width_is_due and self._pay(self._width_price()):
            now.width_probe = True
            self._probing.widened()

    def _width_price(self) -> float:
        """Seconds at stake when one guess is made and verified."""
        costs = self._costs
        return (costs.guess_s(self._now.kind) or 0.0) + max(0.0, costs.verify_s(2) - costs.verify_s(1))

    def wants(self, confidences: Sequence[float]) -> bool:
        """See Policy.wants."""
        wanted = self._wants(confidences)
        self._now.asked = self._now.asked or wanted
        return wanted

    def _wants(self, confidences: Sequence[float]) -> bool:
        now, made = self._now, len(confidences)
        bounds = now.bounds
        if made >= bounds.high or doubtful(confidences, bounds.p_min):
            return False
        if now.width_probe:
            return made < max(1, bounds.low)
        if now.kind in self._free:
            return made > 0 or not now.parked or self._may_probe()
        if now.shadow:
            return made < 1
        if bounds.insist and made < max(1, bounds.low):
            return True
        if not now.parked and self._gain_ahead(made, self._weigh.survival(now.kind, confidences)) > 0:
            return True
        return not made and self._may_probe()

    def _accrue(self, spent_s: float, plain_s: float) -> None:
        """Let the budget for probes grow: it may hold some probes, or one that must read much."""
        kind, least = self._now.kind, self._now.bounds.least
        most_s = 4 * (self._costs.guess_s(kind) or 0.0) + self._width_price() + self._costs.catch_up_s(kind, least)
        share = self._probing.share(exhausted=self.ledger.exhausted(plain_s, promising=True))
        self.ledger.accrue(spent_s, share, most_s)

    def _may_probe(self) -> bool:
        """Take a shadow probe if it is time and the budget allows it."""
        now = self._now
        if not self._probing.shadow_is_due:
            return False
        now.shadow = self._pay(self._costs.guess_s(now.kind) or 0.0)
        if now.shadow:
            self._probing.shadowed()
        return now.shadow

    def _pay(self, price: float) -> bool:
        """Pay for a probe and what it must read; False, and nothing is paid, where it cannot be afforded."""
        now = self._now
        whole, least = (
            price + self._costs.catch_up_s(now.kind, rows) for rows in (now.bounds.waiting, now.bounds.least)
        )
        if not self.ledger.affords(least):
            return False
        now.short_look = not self.ledger.affords(whole)
        now.paid_s = least if now.short_look else whole
        self.ledger.spend(now.paid_s)
        return True

    def _gain_ahead(self, made: int, alive: float) -> float:
        """See Worth.ahead."""
        now = self._now
        ahead = self._weigh.ahead(now.kind, made, alive, now.bounds.high, self.rate())
        if not made:
            now.worth, now.price = ahead.worth, ahead.price
        return ahead.gain

    def keep(self, confidences: Sequence[float]) -> int:
        """See Policy.keep."""
        return self.keep_joined(confidences, ())

    def keep_joined(self, confidences: Sequence[float], tail: Sequence[float]) -> int:
        """How many to verify of the drafter's guesses and of a copy that begins with them and goes on.

        Args:
            tail: confidences of the copy's guesses behind the drafter's.
        """
        now = self._now
        free, low = now.kind in self._free, now.bounds.low
        count = len(confidences) - doubtful(confidences, now.bounds.p_min)
        if now.parked:
            return 0
        if not count or (now.width_probe and count < low):
            now.set_by = Reason.UNSURE
            return 0
        if now.width_probe:
            now.set_by = Reason.PROBE
            return max(1, low)
        if free:
            count = min(count, self._ramp.most)
        values = self._weigh.values(now.kind, confidences[:count], self.rate(), self._ramp.trust if free else 1.0)
        if tail and count == len(confidences):
            alive = self._weigh.survival(now.kind, confidences)
            values = self._weigh.lengthened(values, alive, tail[: self._ramp.most], self.rate())
        best = _best(values)
        if now.bounds.insist:
            best = max(best, 1)
        elif not best and free:
            best = self._retry(values)
        kept = self._at_least_low(best, values)
        if best and not kept:
            now.set_by = Reason.UNSURE
        return kept

    def _retry(self, values: Sequence[float]) -> int:
        """How many free guesses that are as good as sure to verify although the tables say that it does not pay.

        A width that is not used is not measured either, and may have been measured last while the machine was busy.
        """
        costs, depth = self._costs, min(_RETRIED, len(values) - 1)
        if depth < max(1, self._now.bounds.low):
            return 0
        plain = costs.verify_s(1)
        more = costs.verify_s(depth + 1) - plain
        hoped = values[depth] + self.rate() * more
        price = min(more, depth * plain)  # rows together cost no more than one by one
        if hoped < _SURE * depth or not self._probing.width_is_due or not self.ledger.affords(price, or_full=True):
            return 0
        self.ledger.spend(price)
        self._probing.widened()
        self._now.set_by = Reason.PROBE
        return depth

    def _at_least_low(self, best: int, values: Sequence[float]) -> int:
        """`best`, or as many as the user's lower bound and the ledger allow."""
        now = self._now
        low, insist = now.bounds.low, now.bounds.insist
        if 0 < best < low:
            best = low if len(values) > low and (values[low] >= 0 or insist) else 0
        best = best if insist else self._affordable(best)
        best = best if best >= low else 0
        shown = best or (_best(values[1:]) + 1 if len(values) > 1 else 0)
        now.price = self.rate() * (self._costs.verify_s(shown + 1) - self._costs.verify_s(1))
        now.worth = values[shown] + now.price
        return best

    def _affordable(self, depth: int) -> int:
        """Near the end of what may be lost, drafts are so short that one bad round does not go far beyond it."""
        plain = self._costs.verify_s(1)
        most = plain + max(0.0, self.ledger.allowed_s(plain, promising=True) - self.ledger.lost_s)
        while depth > 1 and self._costs.verify_s(depth + 1) - plain > most:
            depth -= 1
        return depth

    def copies(self, kind: str, confidences: Sequence[float]) -> int:
        """How many free guesses of another source to verify instead of asking the drafter; 0: ask it.

        Called after `plan`. A copy wins when it is worth more than what the drafter can be expected to bring.
        """
        now = self._now
        if now.width_probe or not confidences:
            return 0
        values = self._weigh.values(kind, confidences[: self._ramp.most], self.rate(), self._ramp.trust)
        best = _best(values)
        if now.parked:
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
            now.set_by = Reason.COPY
        return kept

    def observe(self, played: Round) -> None:
        """See Policy.observe."""
        for trial in played.trials:
            self._learn(trial.kind, trial.confidences, trial.tested, trial.matched, trial.first)
            if played.verified and trial.kind in self._free and len(trial.confidences) >= played.verified:
                self._ramp.observe(played.verified, min(trial.matched, played.verified))
        guessed = played.verified > 0
        self._probing.passed(1, verified=guessed, gained=guessed and played.tokens > 1)
        self._refreshing.passed(guessed=guessed)
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
        if kind == self._now.kind and tested and first == 1:
            self._probing.tested(hit=matched > 0)

    def _account(self, played: Round) -> None:
        """Rate, probe budget and ledger."""
        costs, now = self._costs, self._now
        spent = played.draft_s + played.verify_s
        plain = costs.plain_s
        if plain is None:
            return
        guess = costs.guess_s(played.kind) or 0.0
        width = played.verified + 1
        step = costs.verify_s(width)
        # A table of few samples is no measure of what is an outlier; but rows cost no more than decoded one by one.
        expected = (step if costs.certain(width) else width * plain / OUTLIER) + guess * played.made
        expected += costs.catch_up_s(played.kind, now.bounds.waiting) if played.made else 0.0
        self._tokens = _RATE_DECAY * self._tokens + played.tokens
        self._seconds = _RATE_DECAY * self._seconds + min(spent, 2 * expected)
        if not self._deciding or now.bounds.insist:
            return  # what was pinned or insisted on is not this rule's loss
        if played.verified:
            self.ledger.add_verified(spent, expected, plain, played.tokens)
        else:
            # A probe was paid for from its own budget, as far as that was foreseen.
            self.ledger.add_plain(played.verify_s, max(0.0, played.draft_s - now.paid_s * now.shadow))
        self._accrue(min(spent, 2 * expected), plain)

    def _nap_after(self, played: Round, decided: Reason) -> int:
        """How long not to weigh again what was clearly not worth it."""
        now = self._now
        idle = decided in {Reason.COSTS_MORE, Reason.PARKED, Reason.SILENT} and not now.bounds.insist
        if played.made or now.shadow or self._probing.keen or not idle:
            return 0
        if now.kind in self._free:
            return FREE_NAP
        price = self.rate() * self._width_price()
        return 0 if self.acceptance(now.kind).rate(1) > _CLOSE * price else NAP

    def _explain(self, played: Round) -> Reason:
        """Note why the round went as it did."""
        now = self._now
        reason = now.reason(played)
        worth, price = now.worth, now.price
        if reason is Reason.PARKED:
            worth, price = self.ledger.lost_share, REGRET
        self.log.note(Decision(reason, played.made, played.verified, played.tokens, played.kind, worth, price))
        return reason


def _best(values: Sequence[float]) -> int:
    """Where the largest value is, the first of several."""
    return max(range(len(values)), key=values.__getitem__)
