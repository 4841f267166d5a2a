"""Tokens that a grammar dictates: they change no text, are always right, and say nothing about a drafter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from mtpchat.backend.protocol import Floats
from mtpchat.events import SpeculationControl
from mtpchat.speculate.controller import Controller
from tests.speculate.fake_model import VOCABULARY, FakeTarget, GreedySampler, logits_after
from tests.speculate.test_combination import combined
from tests.speculate.test_controller import PROMPT, control_lists, oracle

AUTO = SpeculationControl(mode="auto", free_max=16)


@dataclass
class Ruled:
    """A Mask: some places are dictated, elsewhere tokens of one remainder are forbidden. As strict as the real one."""

    every: int = 5
    length: int = 3
    said: list[int] = field(default_factory=list)
    asked: int = 0

    complete = False

    def _at(self, place: int) -> int | None:
        return (place * 7) % VOCABULARY if place % self.every < self.length else None

    def _allows(self, place: int, token: int) -> bool:
        dictated = self._at(place)
        return token == dictated if dictated is not None else token % 3 != place % 3

    def forced(self) -> int | None:
        return self._at(len(self.said))

    def run(self, most: int) -> tuple[int, ...]:
        found: list[int] = []
        while len(found) < most and (token := self._at(len(self.said) + len(found))) is not None:
            found.append(token)
        return tuple(found)

    def likeliest(self, row: Floats, count: int) -> NDArray[np.int64]:
        return np.array([token for token in range(VOCABULARY) if self._allows(len(self.said), token)])

    def holds(self, tokens: Sequence[int]) -> int:
        self.asked += 1
        place = len(self.said)
        wrong = (at for at, token in enumerate(tokens) if not self._allows(place + at, token))
        return next(wrong, len(tokens))

    def accept(self, token: int) -> None:
        assert self._allows(len(self.said), token)
        self.said.append(token)

    def close(self) -> None:
        self.said.clear()


class RuledSampler(GreedySampler):
    """Greedy, with a penalty, among what the mask allows."""

    def __init__(self, mask: Ruled) -> None:
        self.mask = mask

    def sample(self, logits: Floats, position: int) -> int:
        forced = self.mask.forced()
        if forced is not None:
            return forced
        allowed = self.mask.likeliest(logits, 1)
        return int(allowed[np.argmax([logits[token] - 3.0 * (token == self.last) for token in allowed])])

    def accept(self, token: int) -> None:
        super().accept(token)
        self.mask.accept(token)


def plainly(count: int, mask: Ruled) -> list[int]:
    """What the model says under the mask, one token at a time, without any of our code."""
    sampler, tokens = RuledSampler(mask), list(PROMPT)
    sampler.last = PROMPT[-1]
    for _ in range(count):
        token = sampler.sample(logits_after(tokens), len(tokens))
        sampler.accept(token)
        tokens.append(token)
    return tokens[len(PROMPT) :]


def run_ruled(
    made: Controller, mask: Ruled, count: int, controls: Sequence[SpeculationControl]
) -> tuple[list[int], int, int]:
    """The tokens, how many of them were forced guesses, and how many rows were decoded in vain."""
    made.mask, sampler = mask, RuledSampler(mask)
    sampler.last = PROMPT[-1]
    turn = forced = wasted = 0
    while (left := count - (len(made.context) - len(PROMPT))) > 0:
        step = made.step(sampler, controls[turn % len(controls)], "test", left, lambda _token: False)
        assert made.target.memory == made.context[:-1]  # type: ignore[attr-defined]
        if step.forced:
            assert step.matched == step.tested == step.drafted > 0, "what is dictated is always right"
            assert step.origins == ("grammar",) * step.matched + ("",)
            forced += step.matched
        wasted += step.drafted - step.matched
        turn += 1
    return made.context[len(PROMPT) :], forced, wasted


@settings(max_examples=60, deadline=None)
@given(
    control_lists,
    st.sampled_from([0, 2, 5]),
    st.sampled_from([None, 2, 8]),
    st.sampled_from(["cost", "threshold", "fixed"]),
    st.tuples(st.integers(2, 9), st.integers(0, 8)),
)
def test_a_mask_and_its_forced_tokens_change_no_text(
    controls: list[SpeculationControl], share: int, snapshots: int | None, policy: str, rule: tuple[int, int]
) -> None:
    every, length = rule[0], min(rule)
    made = combined(FakeTarget(snapshots), oracle(share), policy)
    said, _, _ = run_ruled(made, Ruled(every, length), 60, controls)
    assert said == plainly(60, Ruled(every, length))
    made.drafters["test"].warm(made.context, len(made.context) - 1, 1000)


@pytest.mark.parametrize("policy", ["cost", "threshold", "fixed"])
def test_dictated_tokens_say_nothing_about_the_drafter(policy: str) -> None:
    made = combined(FakeTarget(), oracle(1), policy)
    _, forced, _ = run_ruled(made, Ruled(6, 4), 120, [AUTO])
    sources = {source.kind: source for source in made.report().sources}
    assert forced >= 60
    assert sources["grammar"].tested == sources["grammar"].matched == forced
    assert "test" not in sources or not sources["test"].matched, "this drafter is never right"


def test_dictated_tokens_need_no_drafter_and_no_measured_cost() -> None:
    made = combined(FakeTarget(), oracle(0))
    mask = Ruled(20, 20)
    _, forced, wasted = run_ruled(made, mask, 34, [AUTO])
    assert (forced, wasted) == (32, 0)
    assert made.target.widths[1:] == [17, 17]  # type: ignore[attr-defined]


def test_off_is_off_under_a_mask_too() -> None:
    made = combined(FakeTarget(), oracle(0))
    _, forced, _ = run_ruled(made, Ruled(4, 4), 20, [SpeculationControl(mode="off")])
    assert forced == 0
    assert made.target.widths[1:] == [1] * 20  # type: ignore[attr-defined]


def test_guesses_that_the_mask_forbids_are_not_decoded() -> None:
    pinned = SpeculationControl(mode="on", draft_max=4, pinned=True)
    free, ruled = Ruled(2, 0), Ruled(2, 0)
    made = combined(FakeTarget(), oracle(0))
    said, _, wasted = run_ruled(made, ruled, 60, [pinned])
    blind = combined(FakeTarget(), oracle(0))
    free.holds = len  # type: ignore[assignment, method-assign]
    same, _, blindly = run_ruled(blind, free, 60, [pinned])
    assert said == same
    assert wasted < blindly
    assert ruled.asked


def test_dictated_tokens_do_not_move_what_a_guess_must_be_worth() -> None:
    made = combined(FakeTarget(), oracle(1))
    for _ in range(40):
        made.costs.observe(1, 0.02)
    _, forced, _ = run_ruled(made, Ruled(20, 20), 100, [AUTO])
    assert forced > 90, "they come by the dozen, and would make every second look precious"
    assert made.adaptive.rate() == pytest.approx(1 / made.costs.verify_s(1))
