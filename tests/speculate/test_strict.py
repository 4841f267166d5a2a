"""Strict mode: where rounding could choose another token, the token that plain decoding chooses is said."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtpchat.errors import RollbackImpossible
from mtpchat.events import SpeculationControl
from tests.speculate.fake_model import VOCABULARY, FakeTarget, GreedySampler
from tests.speculate.test_controller import PROMPT, Scripted, control_lists, controller, run, scripts

WOBBLE = 0.05
ON = SpeculationControl(mode="on", draft_max=4, pinned=True)


def target(snapshots: int | None = None) -> FakeTarget:
    return FakeTarget(snapshots, whole_steps=True, wobble=WOBBLE)


def plainly(count: int) -> list[int]:
    """What this model says decoded one token at a time."""
    return run(controller(target(), Scripted([])), count, [SpeculationControl(mode="off")])


class Knowing(Scripted):
    """Guesses what plain decoding says, as far as it is told."""

    def __init__(self, text: Sequence[int], wrong_every: int = 0) -> None:
        super().__init__([])
        self.text, self.wrong_every = list(text), wrong_every

    def propose(self, context, wants):  # type: ignore[no-untyped-def]
        said = len(context) - len(PROMPT)
        guesses = self.text[said : said + 8]
        if self.wrong_every and said % self.wrong_every == 0:
            guesses = [(token + 1) % VOCABULARY for token in guesses]
        self.script = [guesses]
        return super().propose(context, wants)


@settings(max_examples=60, deadline=None)
@given(scripts, control_lists, st.sampled_from([None, 1, 3, 8]))
def test_with_strict_the_text_is_that_of_plain_decoding(
    script: list[list[int]], controls: list[SpeculationControl], snapshots: int | None
) -> None:
    drafter = Scripted(script)
    made = controller(target(snapshots), drafter)
    made.epsilon = 4 * WOBBLE
    assert run(made, 40, controls) == plainly(40)
    assert drafter.seen == made.context[:-1]


@pytest.mark.parametrize("snapshots", [None, 4, 8])
@pytest.mark.parametrize("wrong_every", [0, 3])
def test_right_guesses_are_taken_in_runs_all_the_same(snapshots: int | None, wrong_every: int) -> None:
    text = plainly(90)
    made = controller(target(snapshots), Knowing(text, wrong_every))
    made.epsilon = 4 * WOBBLE
    assert run(made, 80, [ON])[:80] == text[:80]
    steps = made.target.widths[1:]  # type: ignore[attr-defined]
    assert 1 in steps, "near ties were decided alone"
    assert len(steps) < 76, "and yet there were fewer decodes than tokens"


def test_without_strict_near_ties_may_part() -> None:
    text = plainly(90)
    made = controller(target(), Knowing(text))
    assert run(made, 80, [ON])[:80] != text[:80], "the model of rounding in this test is too gentle to prove anything"


def test_a_doubtful_row_ends_the_run_and_the_next_step_decodes_its_token_alone() -> None:
    text = plainly(90)
    made = controller(target(), Knowing(text))
    made.epsilon = 4 * WOBBLE
    sampler = GreedySampler()
    sampler.reset(made.context)
    cut = replayed = 0
    for _ in range(60):
        decodes = len(made.target.widths)  # type: ignore[attr-defined]
        alone = made._alone
        step = made.step(sampler, ON, "test", 100, lambda _token: False)
        widths = made.target.widths[decodes:]  # type: ignore[attr-defined]
        assert made.target.length == len(made.context) - 1
        assert step.matched == len(step.tokens) - 1 if step.drafted else step.matched == 0
        assert step.matched <= step.tested <= step.drafted
        if alone:
            assert widths == [1]
            cut += 1
        if len(widths) == 2:
            assert widths == [step.drafted + 1, 1]
            assert len(step.tokens) == 1
            replayed += 1
    assert cut > 3
    assert replayed > 3


def test_a_target_that_was_not_made_for_it_says_so() -> None:
    made = controller(FakeTarget(4, wobble=WOBBLE), Knowing(plainly(90)))
    made.epsilon = 4 * WOBBLE
    with pytest.raises(RollbackImpossible):
        run(made, 80, [ON])


def test_plain_steps_are_never_in_doubt() -> None:
    class Unasked(GreedySampler):
        def sample_surely(self, logits, position, epsilon):  # type: ignore[no-untyped-def]
            raise AssertionError("a row of a single token was doubted")

    made = controller(target(), Scripted([]))
    made.epsilon = 4 * WOBBLE
    sampler = Unasked()
    sampler.reset(made.context)
    for _ in range(20):
        made.step(sampler, ON, "test", 100, lambda _token: False)
