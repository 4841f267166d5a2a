"""Cost tables: outliers do not move them, real changes do, and what is unknown is worth a try."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtpchat.speculate.costs import Costs


def measured(*steps: tuple[int, float], slope: float = 0.3) -> Costs:
    costs = Costs(lambda: 0.0, slope)
    for width, seconds in steps:
        costs.observe(width, seconds)
    return costs


def plain(seconds: float = 1.0, count: int = 8) -> list[tuple[int, float]]:
    return [(1, seconds)] * count


def test_the_very_first_step_pays_for_setting_up_and_does_not_count() -> None:
    assert measured((1, 50.0)).plain_s is None
    assert measured((1, 50.0), (1, 1.0), (1, 1.1), (1, 0.9)).plain_s == pytest.approx(1.0)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([1, 3]))
def test_stalls_of_a_hundred_times_do_not_move_a_width(seed: int, width: int) -> None:
    chance = random.Random(seed)
    costs = measured(*plain(count=4))
    for at in range(400):
        stall = at % 50 == 20
        costs.observe(width, chance.lognormvariate(0, 0.04) * (100 if stall else 1) * (1 + 0.2 * (width - 1)))
    assert costs.verify_s(width) == pytest.approx(1 + 0.2 * (width - 1), rel=0.1)


def test_a_machine_that_is_slower_from_now_on_is_followed_within_a_dozen_steps() -> None:
    costs = measured(*plain(count=50), *plain(3.0, 12))
    assert costs.plain_s == pytest.approx(3.0, rel=0.15)


def test_a_slower_width_moves_the_others_along() -> None:
    costs = measured(*plain(count=10), *[(3, 1.2)] * 40, *[(3, 2.4)] * 40)
    assert costs.plain_s == pytest.approx(2.0, rel=0.15)
    assert costs.drifted == pytest.approx(2.0, rel=0.15)


@pytest.mark.parametrize("used", [(9, 17), (3, 5, 9, 17)])
def test_widths_that_become_slower_together_do_not_move_the_others_more_than_once(used: tuple[int, ...]) -> None:
    steps = [width for _ in range(60) for width in used]
    once = [(width, 1 + 0.2 * (width - 1)) for width in steps]
    slower = [(width, 2 * seconds) for width, seconds in once]
    costs = measured(*plain(count=10), *[(2, 1.2)] * 4, *once, *slower)
    assert costs.verify_s(2) == pytest.approx(2.4, rel=0.25)
    assert costs.drifted == pytest.approx(2.0, rel=0.25)


def test_widths_between_are_read_off_their_neighbours() -> None:
    costs = measured(*plain(), *[(5, 2.0)] * 8)
    assert costs.verify_s(3) == pytest.approx(1.5)
    assert not costs.knows(3)


@pytest.mark.parametrize("slope", [0.1, 0.6])
def test_before_anything_but_plain_is_known_rows_cost_the_slope(slope: float) -> None:
    assert measured(*plain(), slope=slope).verify_s(3) == pytest.approx(1 + 2 * slope)


def test_widths_beyond_the_known_are_taken_to_rise_half_as_fast() -> None:
    costs = measured(*plain(), *[(2, 1.6)] * 8)
    assert costs.verify_s(4) == pytest.approx(1.6 + 2 * 0.3)


def test_one_stalled_sample_does_not_rule_out_a_width_for_good() -> None:
    costs = measured(*plain(), *[(2, 1.3)] * 8, (3, 90.0))
    assert costs.verify_s(3) < 4
    for _ in range(200):
        costs.observe(2, 1.3)
    assert costs.verify_s(3) < 1.6


def test_a_plain_step_is_never_taken_to_cost_more_than_a_wider_one() -> None:
    costs = measured((1, 1.0), (1, 9.0), (1, 9.0), (1, 9.0), *[(2, 1.2)] * 20)
    assert costs.verify_s(1) <= 1.2


def test_first_guess_and_later_guesses_are_told_apart() -> None:
    costs = Costs(lambda: 0.0)
    assert costs.guess_s("mtp") is None
    for _ in range(5):
        costs.observe_guesses("mtp", 3, 0.7, first_s=0.5)
    assert costs.guess_s("mtp", 1) == pytest.approx(0.5)
    assert costs.guess_s("mtp", 3) == pytest.approx(0.1)
    assert costs.guess_s("draft") is None


def test_what_was_learnt_earlier_is_a_start_that_measuring_overrules() -> None:
    costs = Costs(lambda: 0.0)
    costs.seed({1: 1.0, 2: 1.5, 4: 2.5}, {"mtp": (0.1, 0.05)})
    assert costs.verify_s(3) == pytest.approx(2.0)
    assert costs.guess_s("mtp", 2) == pytest.approx(0.05)
    assert not costs.settled
    for _ in range(30):
        costs.observe(1, 2.0)
    assert costs.settled
    assert costs.plain_s == pytest.approx(2.0, rel=0.1)


def test_what_was_measured_in_this_run_is_not_overwritten() -> None:
    costs = measured(*plain())
    costs.seed({1: 7.0, 2: 9.0}, {})
    assert costs.plain_s == pytest.approx(1.0)
    assert costs.knows(2)


@given(st.dictionaries(st.integers(1, 20), st.floats(1e-4, 1e3), max_size=8), st.integers(1, 200))
def test_every_width_has_a_positive_cost(widths: dict[int, float], width: int) -> None:
    costs = Costs(lambda: 0.0)
    costs.seed(widths, {})
    assert costs.verify_s(width) > 0
