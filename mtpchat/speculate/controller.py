"""One step of generation: propose, decode, verify, roll back, learn.

Invariant between steps: the target's memory holds exactly `context[:-1]`; the last token has been chosen but not
decoded. With nothing to guess a step is plain decoding: one token, one row, no other context touched.

An example. The context is "The cat sat on"; "on" is not in memory yet. The drafter guesses "the", "mat", ".".

    decode     [on, the, mat, .]      four rows, each of which says what comes next
    verify     the, chair             the first row agrees with the guess, the second does not: its token is the last
    roll back  to "The cat sat on the"
    context    "The cat sat on the chair"; "chair" is not in memory yet

Who decides how many tokens are guessed is a Policy: adaptive.py unless the user has chosen otherwise. Two sources of
guesses go before what the drafter says: tokens that a grammar dictates (forced.py), and copies of earlier text by
n-gram, which cost nothing to make and compete with the drafter in `_propose`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import NamedTuple

from mtpchat.backend.mask import Mask
from mtpchat.backend.protocol import DecodedRows, Sampler, TargetModel
from mtpchat.errors import DrafterError, EngineError
from mtpchat.events import SpeculationControl
from mtpchat.report import SpeculationReport
from mtpchat.speculate.adaptive import AdaptiveDepth
from mtpchat.speculate.base import NO_DRAFT, Draft, Drafter
from mtpchat.speculate.costs import Costs
from mtpchat.speculate.forced import KIND as FORCED
from mtpchat.speculate.forced import forced_by
from mtpchat.speculate.limits import deepest
from mtpchat.speculate.meter import Meter
from mtpchat.speculate.ngram import KIND as COPIER
from mtpchat.speculate.policy import Bounds, FixedDepth, Policy, Round
from mtpchat.speculate.proposal import NOTHING, Proposal, Source
from mtpchat.speculate.reporting import reported
from mtpchat.speculate.threshold import ThresholdDepth
from mtpchat.speculate.verify import decide_first_alone, verify
from mtpchat.speculate.worth import AGREED

CATCH_UP_ROWS = 256
"""Most rows a drafter is fed in one step while it catches up; the step itself is plain."""
_STEADY_ROWS = 16
"""A first guess that has more rows to catch up with says nothing about what a guess costs."""
_OWN = ("",)


class Step(NamedTuple):
    """What one step did. `tokens` are in order; the last one is not yet in the target's memory.

    `origins` names for each token the source that guessed it, "" for the model's own choice. `forced`: the guesses are
    those of a grammar, and no drafter's.
    """

    tokens: tuple[int, ...]
    drafted: int
    matched: int
    tested: int
    draft_s: float
    total_s: float
    origins: tuple[str, ...] = ()
    forced: bool = False


@dataclass(slots=True)
class Controller:
    """Drives a target with one of several drafters.

    Attributes:
        target: its memory is owned by this controller during a turn.
        drafters: by kind; always has "none".
        clock: seconds, monotonic.
        p_min: the user's confidence threshold.
        policy: who decides the depth where it is not pinned: "cost", "threshold" or "fixed".
        accept_threshold: of the policy "threshold".
        combine: let copies by n-gram compete with the drafter (policy "cost" only).
        slope: see Costs.
        context: all tokens so far; see the invariant above.
        fallback_reason: why drafting has stopped although it was asked for, or "".
        mask: what the sampler is held to in this turn, or None; its forced tokens are guessed before anything else.
        epsilon: strict mode: how far ahead a token must be to be decided among several, in logits; see verify.
    """

    target: TargetModel
    drafters: dict[str, Drafter]
    clock: Callable[[], float]
    p_min: float = 0.0
    policy: str = "cost"
    accept_threshold: float = 0.6
    combine: bool = True
    slope: float = 0.3
    context: list[int] = field(default_factory=list)
    fallback_reason: str = ""
    epsilon: float = 0.0
    mask: Mask | None = None
    costs: Costs = field(init=False)
    adaptive: AdaptiveDepth = field(init=False)
    fixed: FixedDepth = field(default_factory=FixedDepth)
    threshold: ThresholdDepth = field(init=False)
    meter: Meter = field(default_factory=Meter)
    _last: Policy = field(init=False)
    _plain: list[tuple[float, float, float, float]] = field(default_factory=list)
    _waiting: int = 0
    _alone: bool = False
    _broken: set[str] = field(default_factory=set)
    _asked: tuple[SpeculationControl | None, str] = (None, "")

    def __post_init__(self) -> None:
        self.costs = Costs(self.clock, self.slope)
        self.adaptive = AdaptiveDepth(self.costs)
        self.threshold = ThresholdDepth(self.accept_threshold)
        self._last = self.adaptive

    def depth_limit(self, kind: str) -> int:
        """Most guesses that one step can verify with this kind of drafter."""
        return self._limits(kind)[0]

    def depth_reason(self, kind: str) -> str:
        """Why the depth is limited to that, for people."""
        return self._limits(kind)[1]

    def _limits(self, kind: str) -> tuple[int, str]:
        return deepest(self.target.capabilities, self.drafters[kind].depth_limit)

    def step(
        self, sampler: Sampler, control: SpeculationControl, kind: str, tokens_left: int, halts: Callable[[int], bool]
    ) -> Step:
        """Produce at least one token.

        Args:
            sampler: has accepted `context`.
            control: what the user wants now.
            kind: which drafter to use.
            tokens_left: how many more tokens the turn may have; at least 1.
            halts: see verify.

        Raises:
            EngineError: from the target; the invariant then still holds, or the target's memory is empty.
        """
        began = self.clock()
        if control.mode == "off" or kind == "none":
            self._asked = (None, "")
            return self._plain_step(began, sampler, halts)
        policy = self._policy(control)
        forced = forced_by(self.mask, self._deepest(control, COPIER, tokens_left)) if self.mask else None
        if forced is not None:
            self.settle()
            return self._round(began, policy, forced, sampler, halts)
        if policy is self.adaptive and self._naps(control, kind):
            step = self._plain_step(began, sampler, halts)
            self.adaptive.nap.passed(step.total_s)
            return step
        return self._round(began, policy, self._guess(policy, control, kind, tokens_left), sampler, halts)

    def _round(
        self, began: float, policy: Policy, made: Proposal, sampler: Sampler, halts: Callable[[int], bool]
    ) -> Step:
        """Decode the guesses, keep those that are right, and let everybody learn from it."""
        guessed = self.clock()
        draft, forced = made.draft, made.kind == FORCED
        start = len(self.context) - 1
        rows = self.target.decode([self.context[-1], *draft], rows="all" if draft else "last")
        decoded = self.clock()
        verdict = verify(draft, rows, sampler, halts, self.epsilon)
        self._alone = verdict.doubtful and bool(verdict.tokens)
        if not verdict.tokens:
            verdict, rows = decide_first_alone(self.target, self.context[-1], rows, sampler, halts)
        sampled = self.clock()
        self.context.extend(verdict.tokens)
        self.target.rollback(start + len(verdict.tokens))
        cut = self.clock()
        self.learn(start, self.context[start : start + len(verdict.tokens)], rows)
        ended = self.clock()
        self.meter.add_times((began, guessed, decoded, sampled, cut, ended))
        if draft and not forced:  # a right guess that ends the answer stands in the place of the model's own token
            self.meter.add_verified(min(verdict.matched, len(verdict.tokens) - 1))
        self._learn(policy, made, verdict.tokens, (began, guessed, ended))
        origins = made.origins(verdict.matched, len(verdict.tokens))
        counts = len(draft), verdict.matched, verdict.tested
        return Step(verdict.tokens, *counts, guessed - began, ended - began, origins, forced)

    def _plain_step(self, began: float, sampler: Sampler, halts: Callable[[int], bool]) -> Step:
        """Decode one token and choose the next; nothing is asked, weighed or learnt but what a plain step costs."""
        context, clock = self.context, self.clock
        last = context[-1:]
        rows = self.target.decode(last)
        decoded = clock()
        self._alone = False
        token = sampler.sample(rows.logits(0), len(context))
        sampler.accept(token)
        halts(token)
        context.append(token)
        sampled = clock()
        self.learn(len(context) - 2, last, rows)
        ended = clock()
        self._plain.append((began, decoded, sampled, ended))
        return Step((token,), 0, 0, 0, 0.0, ended - began, _OWN)

    def settle(self) -> None:
        """Learn what the plain steps since the last call cost: they are only noted while they run, see _plain_step."""
        plain, self._plain = self._plain, []
        for began, decoded, sampled, ended in plain:
            self.meter.add_times((began, began, decoded, sampled, sampled, ended))
            self.costs.observe(1, ended - began)

    def _naps(self, control: SpeculationControl, kind: str) -> bool:
        """Whether this step may be plain without weighing anything: it was not worth it a moment ago, and nothing that
        could be copied stands in the text."""
        asked, self._asked = self._asked, (control, kind)
        if self.adaptive.nap.left < 1 or asked[0] is not control or asked[1] != kind:
            return False
        if kind != COPIER and not self._may_copy(kind):
            return True
        found: list[int] = []

        def only_look(made: Sequence[float]) -> bool:
            found.append(len(made))
            return False

        self._ask(COPIER, only_look)
        return not found

    def _guess(self, policy: Policy, control: SpeculationControl, kind: str, tokens_left: int) -> Proposal:
        """Ask for guesses; what comes back has been weighed, and held against the grammar."""
        self.settle()
        self._waiting = 0
        proposal = self._propose(policy, control, kind, tokens_left)
        if proposal.guess_s:
            first_s = proposal.guess_s[0]
            if self._waiting > _STEADY_ROWS and self.costs.guess_s(kind) is not None:
                self.costs.observe_catch_up(kind, self._waiting, first_s)
            else:
                self.costs.observe_guesses(kind, len(proposal.guess_s), sum(proposal.guess_s), first_s)
        return proposal.within(self.mask) if self.mask else proposal

    def _learn(self, policy: Policy, made: Proposal, said: Sequence[int], times: tuple[float, float, float]) -> None:
        """Every round teaches, whoever decided it: a pinned depth, too, tells what guesses are worth.

        Only what a grammar dictates is no guess: of it the costs alone are learnt.
        """
        began, guessed, ended = times
        self.costs.observe(made.kept + 1, ended - guessed)
        trials = tuple(source.trial(said) for source in made.sources)
        if made.kind == FORCED:
            trials = tuple(replace(one, tested=len(said) - 1, matched=len(said) - 1) for one in trials)
        self.meter.add_trials(trials)
        self._last = policy
        if made.kind == FORCED:
            return
        spent = guessed - began, ended - guessed
        played = Round(made.kind, made.made, made.kept, len(said), *spent, trials, made.reading, made.barred)
        self.adaptive.observe(played)
        if policy is not self.adaptive:
            policy.observe(played)

    def _policy(self, control: SpeculationControl) -> Policy:
        if control.pinned or self.policy == "fixed":
            return self.fixed
        return self.threshold if self.policy == "threshold" else self.adaptive

    def _deepest(self, control: SpeculationControl, kind: str, tokens_left: int) -> int:
        """Most guesses of this kind in this step: what was asked for, what can be verified, what there is room for."""
        if kind in self._broken or self._alone:
            return 0
        most = control.draft_max
        if kind == COPIER and not control.pinned:
            most = max(most, control.free_max)
        # One place stays free, as in llama.cpp's server: after a draft that is right to its end a plain step fits.
        room = self.target.capabilities.context - len(self.context) - 1
        return max(0, min(most, self.depth_limit(kind), tokens_left - 1, room))

    def _bounds(self, policy: Policy, control: SpeculationControl, kind: str, tokens_left: int) -> Bounds:
        high = self._deepest(control, kind, tokens_left)
        waiting = least = 0
        if policy is self.adaptive and high and kind != COPIER:
            waiting, fewest = self._waits(kind), self.drafters[kind].least_rows
            least = waiting if fewest is None else min(waiting, fewest)
        # What an n-gram calls confidence is a class of evidence, not a probability that a user could judge.
        p_min = 0.0 if kind == COPIER else self.p_min
        return Bounds(min(control.draft_min, high), high, control.mode == "on", p_min, waiting, least)

    def _propose(self, policy: Policy, control: SpeculationControl, kind: str, tokens_left: int) -> Proposal:
        if not policy.plan(kind, self._bounds(policy, control, kind, tokens_left)):
            return NOTHING
        copy = NO_DRAFT
        if policy is self.adaptive and self._may_copy(kind):
            most = self._deepest(control, COPIER, tokens_left)
            copy = self._ask(COPIER, lambda made: len(made) < most)
            kept = self.adaptive.copies(COPIER, copy.confidences) if copy.tokens else 0
            if kept:
                return Proposal(COPIER, copy.tokens, kept, len(copy.tokens), (Source(COPIER, copy),))
        if not policy.wants(()):
            return self._join(policy, Source(kind, NO_DRAFT), copy, ())
        if policy is self.adaptive and policy.short_look:
            self.drafters[kind].skip()
        moments: list[float] = []

        def wants(confidences: Sequence[float]) -> bool:
            moments.append(self.clock())
            return not confidences or policy.wants(confidences)  # the first question is answered already

        draft = self._ask(kind, wants)
        joined = self._join(policy, Source(kind, draft), copy, tuple(b - a for a, b in pairwise(moments)))
        return replace(joined, reading=True) if self._waiting > CATCH_UP_ROWS else joined

    def _waits(self, kind: str) -> int:
        """Rows that a drafter has yet to read."""
        try:
            return self.drafters[kind].warm(self.context, len(self.context) - 1, 0)
        except (EngineError, DrafterError) as error:
            self.set_aside(kind, error)
            return 0

    def _may_copy(self, kind: str) -> bool:
        usable = COPIER in self.drafters and COPIER not in self._broken
        return self.combine and usable and kind not in {COPIER, "none"}

    def _join(self, policy: Policy, asked: Source, copy: Draft, guess_s: tuple[float, ...]) -> Proposal:
        """Put the drafter's guesses and a copy together: a copy that begins with the same tokens may go on."""
        kind, draft = asked.kind, asked.draft
        made = len(draft.tokens)
        sources = [asked] if made else []
        tail = NO_DRAFT
        if copy.tokens:
            sources.append(Source(COPIER, copy))
            if made and copy.tokens[:made] == draft.tokens:
                tail = Draft(copy.tokens[made:], copy.confidences[made:])
                sources.append(Source(AGREED, tail, made + 1))
        if not made:
            return Proposal(kind, (), 0, 0, tuple(sources))
        if tail.tokens:
            kept = self.adaptive.keep_joined(draft.confidences, tail.confidences)
        else:
            kept = policy.keep(draft.confidences)
        return Proposal(kind, draft.tokens + tail.tokens, kept, made, tuple(sources), guess_s)

    def _ask(self, kind: str, wants: Callable[[Sequence[float]], bool]) -> Draft:
        """Ask the drafter; a drafter that fails is set aside, the chat goes on."""
        drafter = self.drafters[kind]
        try:
            known = len(self.context) - 1
            self._waiting = drafter.warm(self.context, known, 0)
            if self._waiting > CATCH_UP_ROWS:
                drafter.warm(self.context, known, CATCH_UP_ROWS)
                return NO_DRAFT
            return drafter.propose(self.context, wants)
        except (EngineError, DrafterError) as error:
            self.set_aside(kind, error)
            return NO_DRAFT

    def report(self) -> SpeculationReport:
        """What is known and what was done, as numbers; costs some microseconds."""
        self.settle()
        policy = "fixed" if self._last is self.fixed else self.policy
        parked = self.adaptive.parked and self._last is self.adaptive and self._asked[0] is not None
        return reported(self.costs, self.adaptive, self.meter, self._last.log, policy=policy, parked=parked)

    def retry_broken(self) -> None:
        """Give drafters that failed another chance, from nothing; called between turns."""
        for kind in self._broken & self.drafters.keys():  # some are left out while their part of the context is gone
            self.drafters[kind].close()
        self._broken.clear()
        self.fallback_reason = ""

    def set_aside(self, kind: str, error: Exception) -> None:
        """Stop using a drafter that failed, and say why."""
        self._broken.add(kind)
        self.fallback_reason = f"the {kind} drafter failed: {error.args[0] if error.args else error}"

    def learn(self, start: int, tokens: Sequence[int], rows: DecodedRows, warm: str = "none") -> None:
        """Show tokens that are in memory for good to the drafters.

        Args:
            start: position of the first.
            rows: the decode that put them there.
            warm: kind of the drafter that is fed right away; the others only take note.
        """
        for kind, drafter in self.drafters.items():
            if kind in self._broken:
                continue
            try:
                drafter.observe(start, tokens, rows)
                if kind == warm:
                    drafter.warm(self.context, start + len(tokens), len(tokens))
            except (EngineError, DrafterError) as error:
                self.set_aside(kind, error)
