"""Acceptance statistics: what was tested counts, confidences are translated, and nothing is written off for good."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtpchat.speculate.acceptance import Acceptance, AcceptanceRecord


def fed(hits: list[bool], position: int = 1, confidence: float = 0.9, classes: int = 3) -> Acceptance:
    seen = Acceptance(classes)
    for hit in hits:
        seen.observe(position, confidence, hit=hit)
    return seen


def test_rate_follows_what_happens() -> None:
    assert fed([True] * 200).rate(1) > 0.95
    assert fed([False] * 200).rate(1) < 0.05
    assert fed([True] * 200 + [False] * 60).rate(1) < 0.1


def test_lying_confidence_is_found_out() -> None:
    assert fed([False] * 100, confidence=0.99).chance(1, 0.99) < 0.1
    assert fed([True] * 100, confidence=0.05).chance(1, 0.05) > 0.8


def test_confidences_are_translated_apart_from_one_another() -> None:
    seen = Acceptance()
    for _ in range(100):
        seen.observe(1, 0.95, hit=True)
        seen.observe(1, 0.3, hit=False)
    assert seen.chance(1, 0.95) > 0.9
    assert seen.chance(1, 0.3) < 0.15


def test_an_untested_position_is_guessed_from_the_one_before_it() -> None:
    assert fed([False] * 50).rate(2) < 0.2


def test_a_position_that_failed_early_is_tried_again_in_time() -> None:
    seen = fed([True] * 60)
    for _ in range(6):
        seen.observe(2, 0.9, hit=False)
    low = seen.rate(2)
    for _ in range(200):
        seen.wonder(2)
    assert low < 0.5 < seen.rate(2)


def test_being_free_to_verify_is_worth_more_than_having_to() -> None:
    seen = Acceptance()
    for at in range(200):
        sure = at % 2 == 0
        seen.sight(1, 0.95 if sure else 0.1)
        seen.observe(1, 0.95 if sure else 0.1, hit=sure)
    price = 0.75
    assert seen.rate(1) - price < 0
    assert seen.option(1, 1.0, price) == pytest.approx(0.5 * (1 - price), abs=0.06)


def test_option_of_a_drafter_never_seen_is_nothing() -> None:
    assert Acceptance().option(1, 1.0, 0.1) == 0


def test_classes_share_what_positions_teach() -> None:
    seen = Acceptance(1)
    for position in range(1, 9):
        for _ in range(20):
            seen.observe(position, 0.8, hit=False)
    assert seen.chance(16, 0.8) < 0.1


def test_fading_makes_room_for_what_comes() -> None:
    kept, faded = fed([True] * 100), fed([True] * 100)
    faded.fade()
    for seen in (kept, faded):
        for _ in range(10):
            seen.observe(1, 0.9, hit=False)
    assert faded.chance(1, 0.9) < kept.chance(1, 0.9)


@given(st.lists(st.tuples(st.integers(1, 6), st.floats(0, 1), st.booleans()), max_size=200), st.integers(1, 3))
def test_chances_stay_chances_and_survive_being_written_down(
    tests: list[tuple[int, float, bool]], classes: int
) -> None:
    seen = Acceptance(classes)
    for position, confidence, hit in tests:
        seen.sight(position, confidence)
        seen.observe(position, confidence, hit=hit)
    again = Acceptance(classes)
    again.seed(seen.record())
    for one in (seen, again):
        for position in range(1, 9):
            assert 0 <= one.rate(position) <= 1
            assert 0 <= one.chance(position, 0.7) <= 1
            assert one.option(position, 0.5, 0.2) >= 0
    assert again.rates() == pytest.approx(seen.rates(), abs=1e-3)


def test_nonsense_on_disk_does_not_become_a_chance() -> None:
    seen = Acceptance()
    seen.seed(AcceptanceRecord((7.0, -3.0), ((9.0,) * 20,) * 9))
    assert 0 <= seen.rate(1) <= 1
    assert 0 <= seen.chance(1, 0.5) <= 1


def test_calibration_of_a_noisy_drafter_comes_close_to_the_truth() -> None:
    chance, seen = random.Random(1), Acceptance()
    for _ in range(3000):
        truth = chance.random()
        seen.observe(1, min(0.999, truth**0.5), hit=chance.random() < truth)  # says more than is true
    assert seen.chance(1, 0.8**0.5) == pytest.approx(0.8, abs=0.15)
    assert seen.chance(1, 0.3**0.5) == pytest.approx(0.3, abs=0.15)
