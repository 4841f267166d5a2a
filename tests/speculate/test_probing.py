"""A drafter that does not pay costs next to nothing: it is seldom weighed, and what a probe must read has its price."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtpchat.backend.protocol import DecodedRows
from mtpchat.events import SpeculationControl
from mtpchat.speculate.adaptive import AdaptiveDepth
from mtpchat.speculate.base import NO_DRAFT, Draft, Wants
from mtpchat.speculate.controller import Controller
from mtpchat.speculate.costs import Costs
from mtpchat.speculate.mtp import SHORT_LOOK, MtpDrafter
from mtpchat.speculate.ngram import NgramDrafter
from mtpchat.speculate.none import NoDrafter
from mtpchat.speculate.policy import Bounds, Round, Trial
from mtpchat.speculate.probing import FREE_NAP, NAP, Nap
from mtpchat.speculate.ramp import CopyRamp
from tests.speculate.fake_model import FakeDraft, FakeTarget, GreedySampler, hidden_row

AUTO = SpeculationControl(mode="auto")
PROMPT = [1, 2, 3, 4, 5]


@dataclass
class Clock:
    """Time passes only where the fakes say so."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now


@dataclass
class SlowTarget(FakeTarget):
    """A plain step takes a second, each further row as much again."""

    clock: Clock = field(default_factory=Clock)

    def decode(self, tokens: Sequence[int], **options: object) -> DecodedRows:
        self.clock.now += len(tokens)
        return super().decode(tokens, **options)  # type: ignore[arg-type]


@dataclass
class Useless:
    """Always wrong, and not cheap; counts how often it was asked."""

    clock: Clock
    depth_limit: int | None = None
    least_rows: int | None = 0
    asked: int = 0
    looked: int = 0

    def propose(self, context: Sequence[int], wants: Wants) -> Draft:
        if not wants(()):
            return NO_DRAFT
        self.asked += 1
        self.clock.now += 0.3
        wants((0.5,))
        return Draft((0,), (0.5,))

    def observe(self, start: int, tokens: Sequence[int], rows: DecodedRows) -> None:
        pass

    def warm(self, context: Sequence[int], length: int, rows: int) -> int:
        self.looked += rows == 0
        return 0

    def skip(self) -> None:
        pass

    def rollback(self, length: int) -> int:
        return length

    def close(self) -> None:
        pass


def useless_controller(*, combine: bool = False) -> tuple[Controller, Useless, GreedySampler]:
    clock = Clock()
    target, drafter = SlowTarget(clock=clock, context=2000), Useless(clock)
    made = Controller(target, {"none": NoDrafter(), "ngram": NgramDrafter(), "test": drafter}, clock, combine=combine)
    made.context[:] = PROMPT
    made.learn(0, PROMPT[:-1], target.decode(PROMPT[:-1], rows="none"), warm="test")
    sampler = GreedySampler()
    sampler.reset(made.context)
    return made, drafter, sampler


def test_a_drafter_that_does_not_pay_is_seldom_even_weighed() -> None:
    made, drafter, sampler = useless_controller()
    for _ in range(40):
        made.step(sampler, AUTO, "test", 1000, lambda _token: False)
    drafter.asked = drafter.looked = 0
    steps = 400
    for _ in range(steps):
        made.step(sampler, AUTO, "test", 1000, lambda _token: False)
    assert drafter.looked <= 2 * steps / NAP
    assert 0 < drafter.asked <= 0.01 * steps / 0.3, "probes stay within their share of the time, and do not stop"


def test_what_is_reported_counts_the_steps_of_naps() -> None:
    made, _drafter, sampler = useless_controller()
    for at in range(1, 301):
        made.step(sampler, AUTO, "test", 1000, lambda _token: False)
        assert made.report().split.rounds == at
        age = made.report().plain_age_s
        assert at < 8 or (age is not None and age <= 8), "naps are plain steps, and each is a measurement"
    told = made.report().decisions
    assert any(one.rests == NAP for one in told)
    assert all(not one.rests for one in told if one.kept)


def test_only_the_rule_parks() -> None:
    made, _drafter, sampler = useless_controller()
    made.adaptive.ledger.add_verified(1000.0, 1000.0, 1.0, 1)
    for control, parked in (
        (AUTO, True),
        (SpeculationControl(mode="off"), False),
        (AUTO, True),
        (SpeculationControl(mode="auto", draft_max=2, pinned=True), False),
    ):
        for _ in range(12):
            made.step(sampler, control, "test", 1000, lambda _token: False)
        assert made.report().parked is parked, control


def test_a_switch_ends_a_nap_at_the_next_token() -> None:
    made, drafter, sampler = useless_controller()
    while made.adaptive.nap.left < 2:
        made.step(sampler, AUTO, "test", 1000, lambda _token: False)
    drafter.asked = 0
    made.step(sampler, SpeculationControl(mode="on"), "test", 1000, lambda _token: False)
    assert drafter.asked == 1


def test_something_to_copy_ends_a_nap_at_the_next_token() -> None:
    made, _drafter, sampler = useless_controller(combine=True)
    while made.adaptive.nap.left < 4:
        made.step(sampler, AUTO, "test", 1000, lambda _token: False)
    seen = made.adaptive.acceptance("ngram")
    for _ in range(40):
        seen.observe(1, 0.9, hit=True)
    made.context[-3:] = made.context[:3]
    made.context.insert(-3, 9)
    before = made.adaptive.nap.left
    assert not made._naps(made._asked[0] or AUTO, "test")
    assert before >= 4


@given(st.lists(st.floats(0.001, 10)))
def test_a_nap_accounts_for_every_step(steps: list[float]) -> None:
    nap = Nap()
    nap.left = FREE_NAP
    for step_s in steps:
        nap.passed(step_s)
    assert nap.over() == (len(steps), pytest.approx(sum(steps)))
    assert nap.over() == (0, 0.0)
    assert nap.left == 0


def parked(row_s: float) -> tuple[AdaptiveDepth, Costs]:
    """A drafter known to be useless whose guess costs 0.1 and whose waiting rows cost `row_s` each, of a step of 1."""
    costs = Costs(lambda: 0.0, 0.6)
    policy = AdaptiveDepth(costs)
    for _ in range(4):
        costs.observe(1, 1.0)
    for _ in range(8):
        costs.observe_guesses("mtp", 1, 0.1)
        costs.observe_catch_up("mtp", 100, 0.1 + 100 * row_s)
        costs.observe(2, 1.6)
    for _ in range(40):
        policy.acceptance("mtp").observe(1, 0.5, hit=False)
    return policy, costs


def steps_until_probe(policy: AdaptiveDepth, costs: Costs, waiting: int) -> int:
    """Plain steps until a guess is asked for, with the same backlog all along."""
    bounds = Bounds(0, 4, waiting=waiting, least=min(waiting, SHORT_LOOK))
    for step in range(20_000):
        if policy.plan("mtp", bounds) and policy.wants(()):
            return step
        costs.observe(1, 1.0)
        policy.observe(Round("mtp", 0, 0, 1, 0.0, 1.0))
    return 20_000


def test_a_probe_waits_for_what_it_must_read() -> None:
    waits = [steps_until_probe(*parked(row_s), 200) for row_s in (0.0, 0.01, 0.05)]
    assert waits == sorted(waits)
    assert waits[0] < waits[1] < waits[2] < 1_000, "never so dear that it never comes"


def test_only_where_rows_are_dear_a_probe_makes_do_with_few() -> None:
    for row_s, short in ((0.0, False), (0.05, True)):
        policy, costs = parked(row_s)
        steps_until_probe(policy, costs, 200)
        assert policy.short_look is short


def test_a_round_that_reads_a_backlog_is_no_outlier() -> None:
    policy, costs = parked(0.01)
    policy.plan("mtp", Bounds(0, 4, insist=False, waiting=300, least=SHORT_LOOK))
    before = policy.ledger.lost_s
    trial = Trial("mtp", (0.5,), 1, 0)
    costs.observe(2, 1.6)
    policy.observe(Round("mtp", 1, 1, 1, 3.1, 1.6, (trial,)))
    assert policy.ledger.lost_s - before > 3, "what it took is lost in full"


def test_a_head_that_skips_begins_anew_from_its_newest_rows() -> None:
    target, draft = FakeTarget(), FakeDraft(lambda tokens: 1)
    head = MtpDrafter(draft)
    context = [1 + number % 9 for number in range(60)]
    for at in range(0, 59):
        head.observe(at, [context[at]], target.decode([context[at]]))
    head.skip()
    assert head.warm(context, 59, 0) == SHORT_LOOK
    head.propose(context, lambda made: not made)
    positions = [position for position, _, _ in draft.settled()]
    assert positions == list(range(59 - SHORT_LOOK, 60))
    for position, _token, state in draft.settled():
        assert list(state) == list(hidden_row(context[:position]))


@pytest.mark.parametrize("kind", ["ngram", "mtp"])
def test_a_busy_hour_does_not_end_copying_for_good(kind: str) -> None:
    # While something else took the cores, rows together took ten times as long; then that was over.
    costs = Costs(lambda: 0.0, 0.6)
    policy = AdaptiveDepth(costs)
    for _ in range(40):
        costs.observe(2, 1.3)
        costs.observe_guesses("mtp", 1, 0.5)
        policy.acceptance("mtp").observe(1, 0.5, hit=False)

    def one_round(row_s: float) -> int:
        """Verify what the policy keeps of a sure copy; says how much that was."""
        bounds, sure = Bounds(0, 8), (0.9,) * 8
        kept = 0
        if policy.plan(kind, bounds):
            copier = kind == "ngram" and policy.wants(())
            kept = policy.keep(sure) if copier else policy.copies("ngram", sure)
        verify_s = 1 + row_s * kept
        costs.observe(kept + 1, verify_s)
        trial = Trial("ngram", sure, min(8, kept + 1), min(8, kept + 1))
        policy.observe(Round("ngram", 8 if kept else 0, kept, kept + 1, 0.0, verify_s, (trial,)))
        return kept

    for _ in range(60):
        one_round(0.3)
    assert sum(one_round(0.3) for _ in range(4)) > 8
    busy = [one_round(10.0) for _ in range(60)]
    assert sum(busy[20:]) <= 16, "it gives up where rows are dear"
    for _ in range(400):
        one_round(0.3)
    assert sum(one_round(0.3) for _ in range(20)) > 20, "and takes it up again when they are not"


@given(st.lists(st.tuples(st.floats(0.01, 0.99), st.booleans()), max_size=200))
def test_trust_in_copies_is_bounded_and_begins_anew_with_each_answer(tests: list[tuple[float, bool]]) -> None:
    ramp = CopyRamp()
    for chance, hit in tests:
        ramp.judge(chance, hit=hit)
        assert 0.3 <= ramp.trust <= 1.1
    ramp.begin_text()
    assert ramp.trust == 1.0


def test_trust_follows_what_the_text_makes_of_the_evidence() -> None:
    honest, breaking, keeping = CopyRamp(), CopyRamp(), CopyRamp()
    for number in range(20):
        honest.judge(0.5, hit=number % 2 == 0)
        breaking.judge(0.8, hit=number % 5 == 0)
        keeping.judge(0.8, hit=True)
    assert honest.trust == pytest.approx(1.0)
    assert breaking.trust < 0.5
    assert keeping.trust > 1.02


def test_copies_that_only_seem_sure_are_soon_left_alone_in_this_text() -> None:
    costs = Costs(lambda: 0.0, 0.6)
    policy = AdaptiveDepth(costs)
    sure = (0.9,) * 4

    def rounds(count: int, *, right: bool) -> int:
        """How many of so many rounds verify something."""
        used = 0
        for _ in range(count):
            kept = policy.keep(sure) if policy.plan("ngram", Bounds(0, 4)) and policy.wants(()) else 0
            tokens = kept + 1 if right else 1
            costs.observe(kept + 1, 1 + 0.45 * kept)
            trial = Trial("ngram", sure, min(4, tokens), min(4, tokens) if right else 0)
            policy.observe(Round("ngram", 4, kept, tokens, 0.0, 1 + 0.45 * kept, (trial,)))
            used += kept > 0
        return used

    assert rounds(60, right=True) > 50
    policy.begin_text()
    assert rounds(30, right=False) <= 6
    policy.begin_text()
    assert rounds(30, right=True) > 20, "another text is another matter"


def test_on_never_rests() -> None:
    made, drafter, sampler = useless_controller()
    silent, drafter.propose = drafter.propose, lambda _context, _wants: NO_DRAFT  # type: ignore[method-assign]
    on = SpeculationControl(mode="on")
    for _ in range(60):
        made.adaptive.acceptance("test").observe(1, 0.5, hit=False)
        made.step(sampler, on, "test", 1000, lambda _token: False)
        assert not made.adaptive.nap.left
    drafter.propose = silent  # type: ignore[method-assign]
    made.step(sampler, on, "test", 1000, lambda _token: False)
    assert drafter.asked == 1, "what it has to say is asked for at once"
