"""Laws of a step: whatever the drafter does, the text is the model's, and memory holds all but the last token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtpchat.backend.protocol import DecodedRows
from mtpchat.errors import DecodeFailed
from mtpchat.events import SpeculationControl
from mtpchat.speculate.base import Draft, Drafter, Wants
from mtpchat.speculate.controller import CATCH_UP_ROWS, Controller
from mtpchat.speculate.costs import Costs
from mtpchat.speculate.draft_model import ModelDrafter
from mtpchat.speculate.mtp import MtpDrafter
from mtpchat.speculate.ngram import NgramDrafter
from mtpchat.speculate.none import NoDrafter
from tests.speculate.fake_model import (
    VOCABULARY,
    FakeDraft,
    FakeTarget,
    GreedySampler,
    hidden_row,
    logits_after,
    says,
)

PROMPT = [1, 2, 3, 1, 2, 3, 1, 2]


class Clock:
    """Moves on by itself, unevenly."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 0.001 + (self.now * 7919) % 0.003
        return self.now


@dataclass
class Scripted:
    """Proposes what it is told to."""

    script: list[list[int]]
    depth_limit: int | None = None
    least_rows: int | None = 0
    seen: list[int] = field(default_factory=list)

    def propose(self, context: Sequence[int], wants: Wants) -> Draft:
        tokens = self.script.pop() if self.script else []
        kept: list[int] = []
        while len(kept) < len(tokens) and wants([0.5] * len(kept)):
            kept.append(tokens[len(kept)])
        return Draft(tuple(kept), (0.5,) * len(kept))

    def observe(self, start: int, tokens: Sequence[int], rows: DecodedRows) -> None:
        assert start == len(self.seen), "tokens were shown twice or left out"
        self.seen.extend(tokens)

    def warm(self, context: Sequence[int], length: int, rows: int) -> int:
        return 0

    def skip(self) -> None:
        pass

    def rollback(self, length: int) -> int:
        del self.seen[length:]
        return length

    def close(self) -> None:
        self.seen.clear()


def controller(target: FakeTarget, drafter: Drafter, kind: str = "test") -> Controller:
    """With the prompt read, as a turn leaves it before the first step."""
    made = Controller(target, {"none": NoDrafter(), kind: drafter}, Clock())
    made.context[:] = PROMPT
    rows = target.decode(PROMPT[:-1], rows="none")
    made.learn(0, PROMPT[:-1], rows, warm=kind)
    return made


def run(made: Controller, count: int, controls: Sequence[SpeculationControl], kind: str = "test") -> list[int]:
    """Say `count` tokens, one control after the other."""
    sampler = GreedySampler()
    sampler.reset(made.context)
    left = count
    turn = 0
    while left > 0:
        step = made.step(sampler, controls[turn % len(controls)], kind, left, lambda _token: False)
        assert made.target.length == len(made.context) - 1
        assert made.target.memory == made.context[:-1]  # type: ignore[attr-defined]
        assert 1 <= len(step.tokens) <= step.drafted + 1
        assert step.matched <= step.tested <= step.drafted
        left -= len(step.tokens)
        turn += 1
    return made.context[len(PROMPT) :]


depths = st.integers(0, 8)
control_lists = st.lists(
    st.builds(
        SpeculationControl,
        mode=st.sampled_from(["on", "off", "auto"]),
        draft_min=st.integers(0, 3),
        draft_max=depths,
        pinned=st.booleans(),
    ),
    min_size=1,
    max_size=6,
)
scripts = st.lists(st.lists(st.integers(0, VOCABULARY - 1), max_size=8), max_size=40)


@settings(max_examples=60, deadline=None)
@given(scripts, control_lists, st.sampled_from([None, 0, 1, 3, 8]))
def test_no_drafter_changes_the_text(
    script: list[list[int]], controls: list[SpeculationControl], snapshots: int | None
) -> None:
    drafter = Scripted(script)
    made = controller(FakeTarget(snapshots), drafter)
    assert run(made, 40, controls) == says(PROMPT, 40)
    assert drafter.seen == made.context[:-1]


def oracle(share: int) -> FakeDraft:
    """Guesses right unless the length of the past is a multiple of `share`."""

    def guess(past: Sequence[int]) -> int:
        sampler = GreedySampler()
        sampler.reset(past)
        token = sampler.sample(logits_after(past), len(past))
        return (token + 1) % VOCABULARY if share and len(past) % share == 0 else token

    return FakeDraft(guess)


@settings(max_examples=40, deadline=None)
@given(control_lists, st.sampled_from([0, 2, 3, 5]), st.sampled_from([None, 2, 8]))
def test_mtp_rows_are_always_paired_with_the_hidden_state_before_them(
    controls: list[SpeculationControl], share: int, snapshots: int | None
) -> None:
    draft = oracle(share)
    made = controller(FakeTarget(snapshots), MtpDrafter(draft))
    assert run(made, 40, controls) == says(PROMPT, 40)
    made.drafters["test"].warm(made.context, len(made.context) - 1, 1000)
    context = made.context[:-1]
    first = draft.settled()[0][0]  # a probe that could not afford to read all began anew from the newest rows
    assert first == 0 or "auto" in {control.mode for control in controls}
    assert [(position, token) for position, token, _ in draft.settled()] == list(enumerate(context))[first:]
    for position, _token, state in draft.settled():
        expected = hidden_row(context[:position]) if position else [0.0, 0.0]
        assert list(state) == list(expected), f"row {position}"


@settings(max_examples=30, deadline=None)
@given(control_lists, st.sampled_from([0, 2, 3]))
def test_every_chained_head_is_shown_every_row(controls: list[SpeculationControl], share: int) -> None:
    draft = FakeDraft(oracle(share).right, heads=3)
    made = controller(FakeTarget(), MtpDrafter(draft))
    assert made.depth_limit("test") == 3
    assert run(made, 40, controls) == says(PROMPT, 40)
    made.drafters["test"].warm(made.context, len(made.context) - 1, 1000)
    first = draft.settled()[0][0]
    assert first == 0 or "auto" in {control.mode for control in controls}
    for head in range(3):
        assert [token for _, token, _ in draft.settled(head)] == made.context[first:-1]


@settings(max_examples=30, deadline=None)
@given(control_lists, st.sampled_from([0, 2, 3]))
def test_draft_model_memory_follows_the_context(controls: list[SpeculationControl], share: int) -> None:
    draft = FakeDraft(oracle(share).right, hidden_width=0)
    made = controller(FakeTarget(width=0), ModelDrafter(draft))
    assert run(made, 40, controls) == says(PROMPT, 40)
    fed = [token for _, token, _ in draft.settled()]
    agreed = min(len(fed), len(made.context) - 1)
    made.drafters["test"].warm(made.context, len(made.context) - 1, 0)
    assert [token for _, token, _ in draft.settled()] == made.context[: len(draft.settled())]
    assert agreed >= 0


def test_a_model_is_its_own_perfect_draft() -> None:
    made = controller(FakeTarget(), MtpDrafter(oracle(0)))
    run(made, 41, [SpeculationControl(mode="on", draft_max=4, pinned=True)])
    # A looped head does not see the penalty's past, but this one guesses from all tokens: every guess is right.
    assert made.target.widths[1:] == [5] * 8 + [1]  # type: ignore[attr-defined]


def test_off_never_touches_the_drafter_and_decodes_one_token_at_a_time() -> None:
    draft = oracle(0)
    made = controller(FakeTarget(), MtpDrafter(draft))
    before = draft.feeds
    run(made, 30, [SpeculationControl(mode="off")])
    assert draft.feeds == before
    assert made.target.widths[1:] == [1] * 30  # type: ignore[attr-defined]


def test_switching_on_again_catches_up() -> None:
    draft = oracle(0)
    made = controller(FakeTarget(), MtpDrafter(draft))
    run(made, 10, [SpeculationControl(mode="off")])
    on = SpeculationControl(mode="on", draft_max=3, pinned=True)
    sampler = GreedySampler()
    sampler.reset(made.context)
    step = made.step(sampler, on, "test", 100, lambda _token: False)
    assert len(step.tokens) == 4


def test_a_long_backlog_is_fed_in_pieces_between_plain_steps() -> None:
    draft = FakeDraft(oracle(0).right, hidden_width=0, batch=1024)
    target = FakeTarget(context=2000, width=0)
    made = Controller(target, {"none": NoDrafter(), "test": ModelDrafter(draft)}, Clock())
    made.context[:] = [3] * (2 * CATCH_UP_ROWS + 50)
    for at in range(0, len(made.context) - 1, 64):
        target.decode(made.context[at : min(at + 64, len(made.context) - 1)], rows="none")
    sampler = GreedySampler()
    on = SpeculationControl(mode="on", draft_max=2, pinned=True)
    widths = [made.step(sampler, on, "test", 100, lambda _token: False).drafted for _ in range(3)]
    assert widths == [0, 0, 2]


def test_a_failing_drafter_is_set_aside_with_its_reason_and_the_text_goes_on() -> None:
    class Broken(Scripted):
        def propose(self, context: Sequence[int], wants: Wants) -> Draft:
            raise DecodeFailed("the card fell off the bus", code=-3)

    made = controller(FakeTarget(), Broken([]))
    assert run(made, 20, [SpeculationControl(mode="on", draft_max=2, pinned=True)]) == says(PROMPT, 20)
    assert "fell off the bus" in made.fallback_reason
    made.retry_broken()
    assert made.fallback_reason == ""


def test_a_draft_never_reaches_past_the_context_or_the_limit() -> None:
    made = controller(FakeTarget(context=len(PROMPT) + 6), Scripted([[1] * 8] * 20))
    run(made, 5, [SpeculationControl(mode="on", draft_max=8, pinned=True)])
    assert max(made.target.widths[1:]) <= 5  # type: ignore[attr-defined]


@pytest.mark.parametrize("snapshots", [0, 1, 2])
def test_drafts_are_clamped_to_what_can_be_rolled_back(snapshots: int) -> None:
    made = controller(FakeTarget(snapshots), Scripted([[1] * 8] * 20))
    run(made, 10, [SpeculationControl(mode="on", draft_max=8, pinned=True)])
    assert max(made.target.widths[1:]) == snapshots + 1  # type: ignore[attr-defined]


def test_ngram_continues_the_longest_earlier_match() -> None:
    drafter = NgramDrafter(shortest=2)
    context = [1, 2, 3, 4, 9, 9, 3, 2, 3, 7, 1, 2, 3]
    draft = drafter.propose(context, lambda made: len(made) < 3)
    assert draft.tokens == (4, 9, 9)  # after 1 2 3, not after the later 3 2 3


def test_ngram_runs_on_in_a_loop() -> None:
    draft = NgramDrafter(shortest=2).propose([5, 6, 5, 6, 5, 6], lambda made: len(made) < 6)
    assert draft.tokens == (5, 6, 5, 6, 5, 6)


@pytest.mark.parametrize("context", [[], [1], [1, 2], [1, 1]])
def test_ngram_survives_a_context_shorter_than_its_match(context: list[int]) -> None:
    assert NgramDrafter(shortest=3).propose(context, lambda made: len(made) < 3).tokens == ()


token_lists = st.lists(st.integers(0, 3), max_size=40)


@settings(max_examples=100, deadline=None)
@given(token_lists, token_lists, st.integers(0, 40))
def test_ngram_forgets_what_was_cut_away(first: list[int], then: list[int], cut: int) -> None:
    def three(made: Sequence[float]) -> bool:
        return len(made) < 3

    drafter = NgramDrafter(shortest=2)
    drafter.propose(first, three)
    kept = first[:cut]
    drafter.rollback(len(kept))
    context = kept + then
    draft = drafter.propose(context, three)
    assert draft == NgramDrafter(shortest=2).propose(context, three)
    if draft.tokens:
        pattern = [*context[-2:], draft.tokens[0]]
        assert any(context[i : i + 3] == pattern for i in range(len(context) - 2))


def test_wrong_guesses_do_not_stay_in_the_draft_models_memory() -> None:
    draft = FakeDraft(lambda past: 0, hidden_width=0)
    drafter = ModelDrafter(draft)
    drafter.propose([5, 6, 7], lambda made: len(made) < 4)
    assert [token for _, token, _ in draft.settled()] == [5, 6, 7, 0, 0, 0]
    drafter.propose([5, 6, 7, 0, 8], lambda made: len(made) < 1)
    assert [token for _, token, _ in draft.settled()] == [5, 6, 7, 0, 8]


def test_a_failed_drafter_that_was_left_out_meanwhile_is_no_trouble_in_the_next_turn() -> None:
    made = controller(FakeTarget(), Scripted([]))
    made.set_aside("test", DecodeFailed("the card fell off the bus", code=-3))
    made.drafters = {"none": NoDrafter()}  # as the engine does while the context lacks what heads read
    made.retry_broken()
    assert made.fallback_reason == ""


def test_the_first_guess_of_chained_heads_is_charged_with_what_they_had_to_read() -> None:
    draft = FakeDraft(oracle(0).right, heads=3)
    made = controller(FakeTarget(), MtpDrafter(draft))
    made.clock = lambda: float(draft.feeds)  # each run of a head takes a second
    made.costs = Costs(made.clock)
    run(made, 12, [SpeculationControl(mode="on", draft_max=2, pinned=True)])
    first, later = made.costs.guesses()["test"]
    assert (first, later) == (4, 1), "three heads read what was said, then each guess is one run"
