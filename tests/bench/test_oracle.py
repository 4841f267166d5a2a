"""The oracle is a bound: nothing does better with the same guesses at the same costs, and it needs guesses to gain."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtpchat.bench.oracle import CostTable, Guesses, bound, least_s, merged, plain_s

DEEPEST = 6
seconds = st.floats(1e-4, 10)


@st.composite
def tables(draw: st.DrawFn, widest: int = DEEPEST + 1) -> CostTable:
    """Any measured table that reaches `widest`, staircases and nonsense included."""
    widths = sorted({1, widest, *draw(st.lists(st.integers(1, widest), max_size=widest))})
    return CostTable(tuple((width, draw(seconds)) for width in widths))


@st.composite
def guesses(draw: st.DrawFn, tokens: int) -> Guesses:
    made = draw(st.lists(st.integers(0, DEEPEST), min_size=tokens, max_size=tokens))
    right = [draw(st.integers(0, most)) for most in made]
    return Guesses(tuple(right), tuple(made), draw(st.floats(0, 5)), draw(st.floats(0, 5)))


@st.composite
def texts(draw: st.DrawFn) -> tuple[int, list[Guesses]]:
    tokens = draw(st.integers(1, 25))
    return tokens, draw(st.lists(guesses(tokens), min_size=1, max_size=2))


def static_s(tokens: int, source: Guesses, costs: CostTable, depth: int) -> float:
    """Seconds when every round drafts `depth` guesses, as far as there are that many and the text has room for them."""
    at, total = 0, 0.0
    while at < tokens:
        count = min(depth, source.made[at], tokens - at - 1)
        total += source.cost(count) + costs.verify(count + 1)
        at += min(source.right[at], count) + 1
    return total


@given(texts(), tables())
def test_no_static_depth_and_not_plain_decoding_either_is_faster(
    text: tuple[int, list[Guesses]], costs: CostTable
) -> None:
    tokens, sources = text
    best = least_s(tokens, sources, costs)
    assert best <= plain_s(tokens, costs) * (1 + 1e-9)
    for source, depth in product(sources, range(1, DEEPEST + 1)):
        assert best <= static_s(tokens, source, costs, depth) * (1 + 1e-9)


@given(st.integers(1, 25), st.floats(0, 5), tables())
def test_where_nothing_is_ever_right_it_is_plain_decoding(tokens: int, guess_s: float, costs: CostTable) -> None:
    hopeless = Guesses((0,) * tokens, (DEEPEST,) * tokens, guess_s, guess_s)
    assert least_s(tokens, [hopeless], costs) == pytest.approx(plain_s(tokens, costs))
    assert bound(tokens, [hopeless], costs) == pytest.approx(1)


@given(texts(), tables())
def test_another_source_never_slows_it_down(text: tuple[int, list[Guesses]], costs: CostTable) -> None:
    tokens, sources = text
    assert least_s(tokens, sources, costs) <= least_s(tokens, sources[:1], costs) * (1 + 1e-9)


@given(st.integers(1, 4), st.data())
def test_it_is_the_best_of_all_ways_to_cut_a_short_text(tokens: int, data: st.DataObject) -> None:
    costs, source = data.draw(tables()), data.draw(guesses(tokens))

    def best_from(at: int) -> float:
        if at >= tokens:
            return 0.0
        counts = range(min(source.right[at], tokens - at - 1) + 1)
        return min(source.cost(count) + costs.verify(count + 1) + best_from(at + count + 1) for count in counts)

    assert least_s(tokens, [source], costs) == pytest.approx(best_from(0))


def test_a_perfect_drafter_gains_what_the_arithmetic_says() -> None:
    costs = CostTable(((1, 1.0), (2, 1.2), (3, 1.4)))
    perfect = Guesses(tuple(range(8, -1, -1)), (8,) * 9, 0.1, 0.05)
    assert least_s(9, [perfect], costs) == pytest.approx(3 * (0.15 + 1.4))
    assert bound(9, [perfect], costs) == pytest.approx(9 / 4.65)
    assert static_s(9, perfect, costs, 2) == pytest.approx(4.65)


def test_a_row_that_costs_a_whole_decode_is_worth_nothing() -> None:
    costs = CostTable(((1, 1.0), (2, 2.0), (3, 3.0)))
    copies = Guesses(tuple(range(8, -1, -1)), (8,) * 9)
    assert bound(9, [copies], costs) == pytest.approx(1)


def test_nothing_is_drafted_beyond_what_was_measured() -> None:
    copies = Guesses(tuple(range(8, -1, -1)), (8,) * 9)
    assert bound(9, [copies], CostTable(((1, 1.0), (2, 1.0)))) == pytest.approx(9 / 5)
    assert bound(9, [copies], CostTable(((1, 1.0),))) == 1


def test_costs_between_measured_widths_lie_on_a_line_and_never_fall() -> None:
    costs = CostTable(((1, 1.0), (2, 1.5), (3, 0.8), (5, 1.8)))
    assert [costs.verify(width) for width in range(1, 6)] == pytest.approx([1.0, 1.0, 1.0, 1.4, 1.8])


def test_tables_of_several_contenders_become_one_by_medians() -> None:
    made = merged([{1: 1.0, 2: 1.3}, {1: 1.2}, {1: 9.0, 3: 2.0}, {2: 1.5, 4: 0.0}])
    assert made is not None
    assert made.verify_s == ((1, 1.2), (2, pytest.approx(1.4)), (3, 2.0))
    assert merged([{2: 1.0}]) is None


@pytest.mark.parametrize("rows", [(), ((2, 1.0),), ((1, 1.0), (1, 2.0)), ((1, 0.0),)])
def test_a_table_that_makes_no_sense_is_refused(rows: tuple[tuple[int, float], ...]) -> None:
    with pytest.raises(ValueError, match=r"costs begins|takes some time"):
        CostTable(rows)
