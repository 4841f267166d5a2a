"""One step of generation: propose, decode, verify, roll back, learn.

Invariant between steps: the target's memory holds exactly `context[:-1]`; the last token has been chosen but not
decoded. With nothing to guess a step is plain decoding: one token, one row, no other context touched.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from mtpchat.backend.protocol import DecodedRows, Sampler, TargetModel
from mtpchat.errors import DrafterError, EngineError, Interrupted
from mtpchat.events import SpeculationControl
from mtpchat.speculate.base import NO_DRAFT, Draft, Drafter
from mtpchat.speculate.budget import AdaptiveDepth, Bounds, FixedDepth, Policy, Round
from mtpchat.speculate.costs import Costs
from mtpchat.speculate.verify import verify

CATCH_UP_ROWS = 256
"""Most rows a drafter is fed in one step while it catches up; the step itself is plain."""


@dataclass(frozen=True, slots=True)
class Step:
    """What one step did. `tokens` are in order; the last one is not yet in the target's memory."""

    tokens: tuple[int, ...]
    drafted: int
    matched: int
    tested: int
    draft_s: float
    total_s: float


@dataclass(slots=True)
class Controller:
    """Drives a target with one of several drafters.

    Attributes:
        target: its memory is owned by this controller during a turn.
        drafters: by kind; always has "none".
        clock: seconds, monotonic.
        context: all tokens so far; see the invariant above.
        p_min: the user's confidence threshold.
        fallback_reason: why drafting has stopped although it was asked for, or "".
    """

    target: TargetModel
    drafters: dict[str, Drafter]
    clock: Callable[[], float]
    p_min: float = 0.0
    context: list[int] = field(default_factory=list)
    fallback_reason: str = ""
    costs: Costs = field(init=False)
    adaptive: AdaptiveDepth = field(init=False)
    fixed: FixedDepth = field(default_factory=FixedDepth)
    _broken: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.costs = Costs(self.clock)
        self.adaptive = AdaptiveDepth(self.costs)

    def depth_limit(self, kind: str) -> int:
        """Most guesses that one step can verify with this kind of drafter."""
        return self._limits(kind)[0]

    def depth_reason(self, kind: str) -> str:
        """Why the depth is limited to that, for people."""
        return self._limits(kind)[1]

    def _limits(self, kind: str) -> tuple[int, str]:
        can, heads = self.target.capabilities, self.drafters[kind].depth_limit
        if can.why_no_draft:
            return 0, can.why_no_draft
        rows = min(can.max_rows, can.batch) - 1
        limits = []
        if can.rollback is not None:
            limits.append((can.rollback, f"this model keeps {can.rollback} snapshots to roll back to"))
        if heads:
            limits.append((heads, f"there are {heads} heads, one per guess"))
        limits.append((rows, f"this context was made for drafts of up to {rows}"))
        return (0, "") if heads == 0 else min(limits, key=lambda limit: limit[0])

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
        policy = self._policy(control)
        bounds = self._bounds(control, kind, tokens_left)
        guesses = self._propose(policy, kind, bounds)
        keep = policy.keep(guesses.confidences) if guesses.tokens else 0
        draft = guesses.tokens[:keep]
        guessed = self.clock()
        start = len(self.context) - 1
        rows = self.target.decode([self.context[-1], *draft], rows="all" if draft else "last")
        verdict = verify(draft, rows, sampler, halts)
        self.context.extend(verdict.tokens)
        self.target.rollback(start + len(verdict.tokens))
        self._tell(start, verdict.tokens, rows)
        ended = self.clock()
        self.costs.observe(len(draft) + 1, ended - guessed, kind, len(guesses.tokens), guessed - began)
        shadow = guesses.tokens[0] == verdict.tokens[0] if guesses.tokens and not draft else None
        # Every round teaches, whoever decided it: a pinned depth, too, tells what guesses are worth.
        self.adaptive.observe(
            Round(
                kind=kind,
                confidences=guesses.confidences,
                verified=len(draft),
                matched=verdict.matched,
                tested=verdict.tested,
                tokens=len(verdict.tokens),
                shadow_hit=shadow,
                draft_s=guessed - began if guesses.tokens else 0.0,
                verify_s=ended - guessed,
            )
        )
        return Step(verdict.tokens, len(draft), verdict.matched, verdict.tested, guessed - began, ended - began)

    def _policy(self, control: SpeculationControl) -> Policy:
        return self.fixed if control.pinned else self.adaptive

    def _bounds(self, control: SpeculationControl, kind: str, tokens_left: int) -> Bounds:
        room = self.target.capabilities.context - len(self.context) - 1
        high = 0
        if control.mode != "off" and kind not in self._broken:
            high = max(0, min(control.draft_max, self.depth_limit(kind), tokens_left - 1, room))
        return Bounds(min(control.draft_min, high), high, control.mode == "on", self.p_min)

    def _propose(self, policy: Policy, kind: str, bounds: Bounds) -> Draft:
        """Ask the drafter; a drafter that fails is set aside, the chat goes on."""
        if not policy.plan(kind, bounds):
            return NO_DRAFT
        drafter = self.drafters[kind]
        try:
            known = len(self.context) - 1
            if drafter.warm(self.context, known, 0) > CATCH_UP_ROWS:
                drafter.warm(self.context, known, CATCH_UP_ROWS)
                return NO_DRAFT
            return drafter.propose(self.context, policy.wants)
        except Interrupted:
            raise
        except (EngineError, DrafterError) as error:
            self.set_aside(kind, error)
            return NO_DRAFT

    def retry_broken(self) -> None:
        """Give drafters that failed another chance, from nothing; called between turns."""
        for kind in self._broken:
            self.drafters[kind].close()
        self._broken.clear()
        self.fallback_reason = ""

    def set_aside(self, kind: str, error: Exception) -> None:
        """Stop using a drafter that failed, and say why."""
        self._broken.add(kind)
        self.fallback_reason = f"the {kind} drafter failed: {error.args[0] if error.args else error}"

    def _tell(self, start: int, tokens: Sequence[int], rows: DecodedRows) -> None:
        """Every drafter learns what is now in memory: the token decoded first, and the guesses that were kept."""
        self.learn(start, self.context[start : start + len(tokens)], rows)

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
