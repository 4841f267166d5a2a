"""Figures, order and the tail of the chi-square distribution."""

from __future__ import annotations

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtpchat.bench.figures import chi_square_tail, geometric_mean, middle, spread
from mtpchat.bench.order import order

positive = st.floats(1e-3, 1e3)


@given(st.lists(positive, min_size=1))
def test_geometric_mean_of_the_inverses_is_the_inverse(values: list[float]) -> None:
    mean, inverse = geometric_mean(values), geometric_mean([1 / value for value in values])
    assert mean is not None
    assert inverse is not None
    assert mean * inverse == pytest.approx(1)


@given(st.lists(positive, min_size=3, max_size=31), st.floats(10, 1e6))
def test_one_outlier_does_not_move_the_median_out_of_the_rest(values: list[float], factor: float) -> None:
    centre = middle([*values, max(values) * factor])
    assert centre is not None
    assert min(values) <= centre <= max(values)


def test_nothing_has_no_figures() -> None:
    assert middle([]) is None
    assert geometric_mean([]) is None
    assert spread([1.0]) is None


def test_spread_is_the_median_deviation() -> None:
    assert spread([1, 1, 2, 2, 4, 6, 9]) == 1


@pytest.mark.parametrize(
    ("freedom", "critical"), [(1, 3.841459), (2, 5.991465), (5, 11.070498), (10, 18.307038), (40, 55.758479)]
)
def test_chi_square_tail_meets_the_tables_at_five_percent(freedom: int, critical: float) -> None:
    assert chi_square_tail(critical, freedom) == pytest.approx(0.05, rel=1e-5)


@given(st.floats(0, 200))
def test_chi_square_tail_of_two_degrees_is_an_exponential(statistic: float) -> None:
    assert chi_square_tail(statistic, 2) == pytest.approx(math.exp(-statistic / 2), rel=1e-9)


@given(st.integers(1, 60), st.floats(0, 150), st.floats(0, 50))
def test_chi_square_tail_falls_with_the_statistic(freedom: int, statistic: float, more: float) -> None:
    assert 0 <= chi_square_tail(statistic + more, freedom) <= chi_square_tail(statistic, freedom) + 1e-12 <= 1 + 1e-12


@given(st.integers(1, 9), st.integers(0, 20), st.integers(0, 8))
def test_over_a_pair_of_rounds_everyone_stands_equally_far_from_the_front(count: int, prompt: int, pair: int) -> None:
    places: Counter[int] = Counter()
    for round_ in (2 * pair, 2 * pair + 1):
        taken = order(range(count), prompt, round_)
        assert sorted(taken) == list(range(count))
        places.update({item: place for place, item in enumerate(taken)})
    assert {places[item] for item in range(count)} == {count - 1}


@given(st.integers(1, 9))
def test_over_prompts_everyone_opens_equally_often(count: int) -> None:
    assert Counter(order(range(count), prompt, 0)[0] for prompt in range(3 * count)) == dict.fromkeys(range(count), 3)


def test_two_go_a_b_then_b_a() -> None:
    assert [order("ab", 0, round_) for round_ in (0, 1)] == [("a", "b"), ("b", "a")]
