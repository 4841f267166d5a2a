"""What was counted is told per position: of the guesses that were tested there, how many were right."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtpchat.speculate.meter import Meter
from mtpchat.speculate.policy import Trial

LENGTHS = st.lists(st.tuples(st.integers(0, 6), st.booleans()), max_size=40)


@given(LENGTHS)
def test_shares_per_position_are_those_of_the_trials_one_by_one(drafts: list[tuple[int, bool]]) -> None:
    meter, reached, right = Meter(), [0] * 8, [0] * 8
    for matched, failed in drafts:
        tested = matched + failed
        meter.add_trials([Trial("mtp", (0.5,) * 8, tested, matched)])
        for at in range(tested):
            reached[at] += 1
            right[at] += at < matched
    assert meter.tested("mtp") == sum(reached)
    assert meter.matched("mtp") == sum(right)
    expected = [hits / tests for hits, tests in zip(right, reached, strict=True) if tests]
    assert meter.right_at("mtp") == pytest.approx(expected)


def test_nothing_is_known_of_a_source_that_never_guessed() -> None:
    assert Meter().right_at("mtp") == ()
    assert Meter().tested("mtp") == 0
