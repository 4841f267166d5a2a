"""Copies and a drafter together: the text stays the model's, limits hold, and the better of the two is reached."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.combination_simulation import make_text, speed
from benchmarks.machines import PROFILES, STAIRCASES
from mtpchat.events import SpeculationControl
from mtpchat.report import Reason
from mtpchat.speculate.base import Draft
from mtpchat.speculate.controller import Controller
from mtpchat.speculate.decisions import in_words
from mtpchat.speculate.mtp import MtpDrafter
from mtpchat.speculate.ngram import NgramDrafter
from mtpchat.speculate.none import NoDrafter
from mtpchat.speculate.proposal import Proposal, Source
from tests.speculate.fake_model import FakeDraft, FakeTarget, GreedySampler, logits_after, says
from tests.speculate.test_controller import PROMPT, Clock, control_lists, oracle, run

MACHINES = {**PROFILES, **STAIRCASES}


def combined(
    target: FakeTarget, draft: FakeDraft, policy: str = "cost", clock: Callable[[], float] | None = None
) -> Controller:
    drafters = {"none": NoDrafter(), "ngram": NgramDrafter(2), "test": MtpDrafter(draft)}
    made = Controller(target, drafters, clock or Clock(), policy=policy)
    made.context[:] = PROMPT
    made.learn(0, PROMPT[:-1], target.decode(PROMPT[:-1], rows="none"), warm="test")
    return made


@settings(max_examples=60, deadline=None)
@given(
    control_lists,
    st.sampled_from([0, 2, 5]),
    st.sampled_from([None, 2, 8]),
    st.sampled_from(["cost", "threshold", "fixed"]),
)
def test_no_combination_changes_the_text(
    controls: list[SpeculationControl], share: int, snapshots: int | None, policy: str
) -> None:
    made = combined(FakeTarget(snapshots), oracle(share), policy)
    assert run(made, 60, controls) == says(PROMPT, 60)
    made.drafters["test"].warm(made.context, len(made.context) - 1, 1000)


class Repeating(FakeTarget):
    """Says the same passage over and over, so that copies hold, and is timed by what it decodes."""

    now = 0.0

    def decode(self, *args, **kwargs):  # type: ignore[no-untyped-def]
        rows = super().decode(*args, **kwargs)
        rows.logits = lambda row: logits_after(self.decoded[: rows.start + row + 1][-1:])  # type: ignore[method-assign]
        self.now += 0.02 + 0.002 * (rows.count - 1)
        return rows

    def clock(self) -> float:
        self.now += 1e-6
        return self.now


def repeating(draft: FakeDraft, control: SpeculationControl, *, combine: bool = True) -> Controller:
    target = Repeating(context=600)
    made = combined(target, draft, clock=target.clock)
    made.combine = combine
    run(made, 200, [control])
    return made


def wrong() -> FakeDraft:
    return FakeDraft(lambda past: 0)


def right() -> FakeDraft:
    def guess(past: Sequence[int]) -> int:
        sampler = GreedySampler()
        sampler.reset(past)
        return sampler.sample(logits_after(past[-1:]), len(past))

    return FakeDraft(guess)


def test_copies_are_taken_where_the_drafter_is_useless() -> None:
    made = repeating(wrong(), SpeculationControl(draft_max=4, free_max=16))
    assert max(made.target.widths[1:]) > 5  # type: ignore[attr-defined]
    report = made.report()
    assert any(one.reason is Reason.COPY for one in report.decisions)
    assert any(in_words(one).startswith("copying") for one in report.decisions)
    ngram = next(source for source in report.sources if source.kind == "ngram")
    assert ngram.matched > 0.8 * ngram.tested > 0


def test_without_the_setting_the_drafter_is_alone() -> None:
    made = repeating(wrong(), SpeculationControl(draft_max=4, free_max=16), combine=False)
    assert all(source.kind == "test" for source in made.report().sources)


@pytest.mark.parametrize(("most", "free", "widest"), [(2, 0, 3), (4, 0, 5), (4, 9, 10)])
def test_copies_keep_to_the_users_limit(most: int, free: int, widest: int) -> None:
    made = repeating(right(), SpeculationControl(draft_max=most, free_max=free))
    assert max(made.target.widths[1:]) <= widest  # type: ignore[attr-defined]


def test_a_pinned_depth_is_the_drafters_own() -> None:
    made = repeating(right(), SpeculationControl(mode="on", draft_max=3, pinned=True, free_max=16))
    assert set(made.target.widths[1:-1]) == {4}  # type: ignore[attr-defined]


def test_every_token_says_who_had_guessed_it() -> None:
    target = Repeating(context=600)
    made = combined(target, wrong(), clock=target.clock)
    sampler = GreedySampler()
    sampler.reset(made.context)
    seen: set[str] = set()
    while len(made.context) < 250:
        step = made.step(sampler, SpeculationControl(draft_max=4, free_max=16), "test", 400, lambda _token: False)
        assert len(step.origins) == len(step.tokens)
        assert sum(map(bool, step.origins)) == step.matched
        seen.update(step.origins)
    assert "ngram" in seen


@given(
    st.lists(st.integers(0, 2), min_size=1, max_size=6),
    st.lists(st.integers(0, 2), max_size=6),
    st.integers(1, 4),
)
def test_a_trial_compares_only_what_can_be_compared(guesses: list[int], said: list[int], first: int) -> None:
    trial = Source("test", Draft(tuple(guesses), (0.5,) * len(guesses)), first).trial(said)
    there = said[first - 1 :]
    assert trial.matched <= trial.tested <= min(len(guesses), len(there))
    assert guesses[: trial.matched] == there[: trial.matched]
    if trial.tested > trial.matched:
        assert guesses[trial.matched] != there[trial.matched]
    else:
        assert trial.tested == min(len(guesses), len(there))


def test_origins_of_a_draft_that_a_copy_goes_on_with() -> None:
    proposal = Proposal("mtp", (1, 2, 3, 4), 4, 2)
    assert proposal.origins(3, 4) == ("mtp", "mtp", "ngram", "")
    assert proposal.origins(1, 2) == ("mtp", "")
    assert proposal.origins(4, 4) == ("mtp", "mtp", "ngram", "ngram")


@pytest.mark.parametrize("name", MACHINES)
def test_together_they_reach_the_better_of_the_two(name: str) -> None:
    machine, seeds = MACHINES[name], (0, 1, 2)
    for copies, chance in ((0.0, 0.6), (0.3, 0.85), (0.8, 0.2)):
        texts = [make_text(seed, 2000, copies) for seed in seeds]
        found = {
            who: sum(speed(machine, text, seed, chance, who) for seed, text in zip(seeds, texts, strict=True)) / 3
            for who in ("drafter", "ngram", "both")
        }
        assert found["both"] >= 0.98 * max(1.0, found["drafter"], found["ngram"]), (copies, chance, found)


def test_a_report_adds_up() -> None:
    made = repeating(right(), SpeculationControl(draft_max=4))
    report = made.report()
    split = report.split
    assert sum(report.accepted_lengths) <= split.rounds
    assert min(split.draft_s, split.decode_s, split.sample_s, split.rollback_s, split.catch_up_s) > 0
    assert report.plain_s == made.costs.plain_s
    assert dict(report.verify_s)[1] == report.plain_s
    assert report.decisions[-1].tokens >= 1
    assert report.policy == "cost"
    assert 0 < len(report.decisions) <= 20
