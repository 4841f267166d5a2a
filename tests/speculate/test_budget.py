"""Laws of the policies: limits hold whatever was learnt, "on" always guesses, and every round leaves its reason."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtpchat.report import Decision, Reason
from mtpchat.speculate.adaptive import AdaptiveDepth
from mtpchat.speculate.calibration import temperature_bucket
from mtpchat.speculate.costs import Costs
from mtpchat.speculate.decisions import KEPT_DECISIONS, DecisionLog, in_words
from mtpchat.speculate.policy import Bounds, FixedDepth, Policy, Round, Trial
from mtpchat.speculate.threshold import ThresholdDepth


class Bench:
    """Plays rounds with a policy and keeps its cost tables."""

    def __init__(self, policy: Callable[[Costs], Policy], rows: float = 0.1, draft: float = 0.05) -> None:
        self.costs = Costs(lambda: 0.0, 0.1)
        self.policy = policy(self.costs)
        self.rows, self.draft = rows, draft

    def round(self, bounds: Bounds, confidences: list[float], right: int, kind: str = "mtp") -> tuple[int, int]:
        """One round in which the first `right` guesses would be right; how many were made, and how many verified."""
        made: list[float] = []
        if self.policy.plan(kind, bounds):
            while len(made) < len(confidences) and self.policy.wants(made):
                made.append(confidences[len(made)])
        kept = self.policy.keep(made) if made else 0
        tokens = min(right, kept) + 1
        draft_s, verify_s = self.draft * len(made), 1 + self.rows * kept
        if made:
            self.costs.observe_guesses(kind, len(made), draft_s)
        self.costs.observe(kept + 1, verify_s)
        trial = Trial(kind, tuple(made), min(right + 1, len(made), tokens), min(right, tokens, len(made)))
        self.policy.observe(Round(kind, len(made), kept, tokens, draft_s, verify_s, (trial,) if made else ()))
        return len(made), kept

    def warm(self, bounds: Bounds, rounds: int = 60, right: int = 9) -> Bench:
        for _ in range(rounds):
            self.round(bounds, [0.9] * 9, right)
        return self


POLICIES: dict[str, Callable[[Costs], Policy]] = {
    "cost": AdaptiveDepth,
    "threshold": lambda _costs: ThresholdDepth(),
    "fixed": lambda _costs: FixedDepth(),
}
EVERY_POLICY = pytest.mark.parametrize("name", POLICIES)
bounds_of = st.builds(
    lambda low, more, insist, p_min: Bounds(low, low + more, insist, p_min),
    st.integers(0, 4),
    st.integers(0, 6),
    st.booleans(),
    st.sampled_from([0.0, 0.5]),
)
rounds_of = st.lists(
    st.tuples(bounds_of, st.lists(st.floats(0, 1), min_size=10, max_size=10), st.integers(0, 10)), max_size=60
)


@EVERY_POLICY
@settings(max_examples=60, deadline=None)
@given(rounds_of, st.floats(0.0, 2.0), st.floats(0.0, 1.0), st.sampled_from(["mtp", "ngram"]))
def test_never_beyond_the_bounds_and_never_verifies_what_was_not_guessed(
    name: str, rounds: list[tuple[Bounds, list[float], int]], rows: float, draft: float, kind: str
) -> None:
    bench = Bench(POLICIES[name], rows, draft)
    for bounds, confidences, right in rounds:
        made, kept = bench.round(bounds, confidences, right, kind)
        assert kept <= made <= bounds.high
        assert kept == 0 or kept >= bounds.low
        if bounds.p_min and made:
            assert all(one >= bounds.p_min for one in confidences[: made - 1]), "went on behind a doubtful guess"


@EVERY_POLICY
@settings(max_examples=30, deadline=None)
@given(rounds_of, st.floats(0.0, 2.0))
def test_on_always_guesses_and_verifies_at_least_one(
    name: str, rounds: list[tuple[Bounds, list[float], int]], rows: float
) -> None:
    bench = Bench(POLICIES[name], rows, 0.5).warm(Bounds(0, 4, insist=True), 6)
    for _, confidences, _ in rounds:
        made, kept = bench.round(Bounds(0, 4, insist=True), confidences, right=0)
        assert made >= 1
        assert kept >= 1


@pytest.mark.parametrize("high", [1, 3, 6])
def test_fixed_depth_is_always_the_upper_bound(high: int) -> None:
    bench = Bench(POLICIES["fixed"])
    assert all(bench.round(Bounds(0, high), [0.5] * 9, right) == (high, high) for right in (0, 9, 0, 0))


def test_threshold_climbs_while_guesses_are_right_falls_to_off_and_finds_back() -> None:
    bench = Bench(POLICIES["threshold"])
    bounds = Bounds(0, 5)
    for _ in range(60):
        bench.round(bounds, [0.5] * 9, 9)
    assert bench.round(bounds, [0.5] * 9, 9) == (5, 5)
    for _ in range(100):
        bench.round(bounds, [0.5] * 9, 0)
    assert sum(bench.round(bounds, [0.5] * 9, 0)[1] for _ in range(15)) == 0
    for _ in range(300):
        bench.round(bounds, [0.5] * 9, 9)
    assert bench.round(bounds, [0.5] * 9, 9) == (5, 5)


@pytest.mark.parametrize(("threshold", "deep"), [(0.3, True), (0.9, False)])
def test_threshold_is_the_acceptance_that_is_wanted(threshold: float, deep: bool) -> None:
    bench = Bench(lambda _costs: ThresholdDepth(threshold))
    kept = [bench.round(Bounds(0, 4), [0.5] * 9, 1 if at % 2 else 0)[1] for at in range(200)]
    assert (max(kept[100:]) > 1) == deep


def test_a_cheap_guess_is_made_even_where_only_a_sure_one_is_verified() -> None:
    bench = Bench(AdaptiveDepth, rows=0.75, draft=0.02)
    for at in range(600):  # half of the guesses are sure and right, half are unsure and wrong
        sure = at % 2 == 0
        bench.round(Bounds(0, 1), [0.97 if sure else 0.2], 1 if sure else 0)
    assert bench.round(Bounds(0, 1), [0.97], 1) == (1, 1)
    assert bench.round(Bounds(0, 1), [0.2], 0) == (1, 0)


def test_off_after_a_useless_drafter_and_probing_little() -> None:
    bench = Bench(AdaptiveDepth, rows=0.6, draft=0.05)
    for _ in range(400):
        bench.round(Bounds(0, 4), [0.9] * 9, 0)
    made = [bench.round(Bounds(0, 4), [0.9] * 9, 0) for _ in range(400)]
    assert sum(made_ for made_, _ in made) * 0.05 < 0.01 * 400
    assert sum(kept for _, kept in made) <= 2


def test_free_guesses_are_all_made_and_judged_afterwards() -> None:
    bench = Bench(AdaptiveDepth, rows=0.02, draft=0.0)
    bench.warm(Bounds(0, 9))
    for _ in range(30):
        bench.round(Bounds(0, 9), [0.9] * 9, 9, kind="ngram")
    assert bench.round(Bounds(0, 9), [0.9] * 9, 9, kind="ngram") == (9, 9)


def test_temperatures_do_not_teach_one_another() -> None:
    bench = Bench(AdaptiveDepth)
    policy = bench.policy
    assert isinstance(policy, AdaptiveDepth)
    bench.warm(Bounds(0, 4), 200)
    cold = policy.acceptance("mtp").rate(1)
    policy.calibration.at_temperature(1.0)
    assert policy.acceptance("mtp").rate(1) == pytest.approx(cold, abs=0.01)  # the best guess there is, to begin with
    for _ in range(100):
        bench.round(Bounds(0, 4), [0.9] * 9, 0)
    assert policy.acceptance("mtp").rate(1) < 0.3
    policy.calibration.at_temperature(0.0)
    assert policy.acceptance("mtp").rate(1) == cold


@pytest.mark.parametrize(("temperature", "bucket"), [(0, 0), (0.1, 1), (0.5, 1), (0.7, 2), (0.9, 2), (1.3, 3)])
def test_buckets_of_temperatures(temperature: float, bucket: int) -> None:
    assert temperature_bucket(temperature) == bucket


@EVERY_POLICY
def test_every_round_leaves_one_decision_in_words(name: str) -> None:
    bench = Bench(POLICIES[name])
    for at in range(3):
        bench.round(Bounds(0, 4), [0.9] * 9, 9)
        assert len(bench.policy.log.last()) == at + 1
    bench.warm(Bounds(0, 4), 100)
    decisions = bench.policy.log.last()
    assert len(decisions) == KEPT_DECISIONS
    assert all(in_words(one) for one in decisions)
    assert decisions[-1].kept == bench.round(Bounds(0, 4), [0.9] * 9, 9)[1]


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_has_words_without_loose_ends(reason: Reason) -> None:
    words = in_words(Decision(reason, 3, 2, 2, "mtp", 0.41, 0.3))
    assert words
    assert "{" not in words
    assert "\n" not in words


def test_reasons_name_their_numbers() -> None:
    assert in_words(Decision(Reason.PAYS, 3, 2, 2, "mtp", 0.414, 0.3)) == (
        "MTP, 2 of 3 verified: 0.41 tokens expected against 0.30 for the time; 1 right"
    )
    assert in_words(Decision(Reason.PARKED, 0, 0, 1, "mtp", 0.0134, 0.01)).startswith("parked: 1.3% of the time")


def test_a_drafter_without_a_guess_is_not_said_to_cost_too_much() -> None:
    assert in_words(Decision(Reason.SILENT, 0, 0, 1, "ngram")) == "plain: n-gram had nothing to guess"
    assert "not worth it" in in_words(Decision(Reason.COSTS_MORE, 0, 0, 1, "mtp", 0.3, 0.5))


def test_steps_that_follow_a_decision_without_another_are_told_with_it() -> None:
    log = DecisionLog()
    log.rested(3)
    assert not log.last()
    log.note(Decision(Reason.COSTS_MORE, 0, 0, 1, "mtp", 0.3, 0.5))
    log.rested(8)
    assert in_words(log.last()[-1]).endswith("0.50 for the time; then 8 more without weighing it")


def test_the_log_gives_the_last_ones_oldest_first() -> None:
    log = DecisionLog()
    for count in range(100):
        log.note(Decision(Reason.PAYS, count, 0, 1, "mtp"))
    assert [one.made for one in log.last(3)] == [97, 98, 99]
    assert log.last(0) == ()


def test_fewer_than_draft_min_are_not_verified_even_where_no_more_can_be_afforded() -> None:
    bench = Bench(AdaptiveDepth, rows=0.9, draft=0.01)
    policy, bounds = bench.policy, Bounds(3, 4)
    assert isinstance(policy, AdaptiveDepth)
    bench.costs.observe_guesses("mtp", 2, 0.02)
    for depth in (1, 2, 3, 4):
        for _ in range(60):
            bench.costs.observe(1, 1.0)
            bench.costs.observe(1, 1.0)
            bench.costs.observe(depth + 1, 1 + 0.9 * depth)
            policy.acceptance("mtp").observe(depth, 0.95, hit=True)
    assert bench.round(bounds, [0.95] * 9, 9)[1] >= 3
    lost = policy.ledger.allowed_s(1.0, promising=True) - policy.ledger.lost_s - 0.5
    policy.ledger.add_plain(0.0, lost)  # so that one row more is all that it affords
    assert bench.round(bounds, [0.95] * 9, 9) == (4, 0)
    assert bench.policy.log.last(1)[0].reason is Reason.UNSURE


@pytest.mark.parametrize("low", [0, 2, 3])
def test_copies_that_are_tried_against_the_tables_keep_to_draft_min(low: int) -> None:
    bench = Bench(AdaptiveDepth, rows=5.0, draft=0.0)
    policy, tried = bench.policy, set()
    assert isinstance(policy, AdaptiveDepth)
    bench.costs.observe_guesses("mtp", 1, 0.5)
    for _ in range(20):
        bench.costs.observe(1, 1.0)
        bench.costs.observe(2, 6.0)
        policy.acceptance("mtp").observe(1, 0.5, hit=False)
    for _ in range(600):
        kept = 0
        if policy.plan("mtp", Bounds(low, 8)):
            kept = policy.copies("ngram", (0.95,) * 8)
        bench.costs.observe(kept + 1, 1 + 5.0 * kept)
        trial = Trial("ngram", (0.95,) * 8, min(8, kept + 1), min(8, kept + 1))
        policy.observe(Round("ngram", 8 if kept else 0, kept, kept + 1, 0.0, 1 + 5.0 * kept, (trial,)))
        tried.add(kept)
    assert all(kept == 0 or kept >= low for kept in tried)
    assert (len(tried) > 1) == (low <= 2), "two of them are tried now and then where that is allowed"


@pytest.mark.parametrize("narrow", [Bounds(0, 0), Bounds(0, 1)])
def test_one_narrow_step_does_not_make_the_threshold_rule_begin_anew(narrow: Bounds) -> None:
    bench = Bench(POLICIES["threshold"])
    bench.warm(Bounds(0, 5))
    bench.round(narrow, [0.5] * 9, 9)
    assert bench.round(Bounds(0, 5), [0.5] * 9, 9) == (5, 5)
