"""Loops count for nobody: the multiplier is that of the steps outside of them, whoever guessed how well inside."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtpchat.engine.comparison import Comparison
from mtpchat.engine.repeats import LEAST
from mtpchat.engine.tally import Tally
from mtpchat.speculate.controller import Step
from mtpchat.stats import TurnStats

ROUND = (7, 8, 9)
widths = st.lists(st.integers(1, 8), max_size=60)


def cut(tokens: list[int], width: int) -> list[list[int]]:
    return [tokens[at : at + width] for at in range(0, len(tokens), width)]


def compared(*parts: list[list[int]], plain_s: float | None = 1.0) -> Comparison:
    """Steps that each take a second, for tokens that plain decoding would take a second for."""
    made = Comparison()
    for step in (step for part in parts for step in part):
        made.add(step, 1.0, None if plain_s is None else plain_s * len(step))
    return made


@given(widths)
def test_without_a_loop_every_step_counts(sizes: list[int]) -> None:
    starts = [sum(sizes[:at]) for at in range(len(sizes))]
    made = compared([list(range(start, start + size)) for start, size in zip(starts, sizes, strict=True)])
    made.end()
    assert (made.plain_s or 0.0, made.looping, made.looped_tokens, made.looped_s) == (sum(sizes), False, 0, 0.0)


@settings(max_examples=40)
@given(
    before=st.integers(1, 400),
    cycle=st.integers(1, 40),
    rounds=st.integers(3, 20),
    after=st.integers(0, 300),
    width=st.integers(1, 7),
)
def test_what_counts_and_what_is_left_out_are_together_the_answer(
    before: int, cycle: int, rounds: int, after: int, width: int
) -> None:
    loop = list(range(1000, 1000 + cycle)) * rounds
    tokens = [*range(2000, 2000 + before), *loop, *range(3000, 3000 + after)]
    made = compared(cut(tokens, width))
    made.end()
    assert (made.plain_s or 0.0) + made.looped_tokens == pytest.approx(len(tokens))
    assert made.looped_s == pytest.approx(len(cut(tokens, width)) - _counted_steps(made, width), abs=1)
    repeated = cycle * (rounds - 1)
    if len(loop) >= LEAST:
        assert repeated - 2 * width <= made.looped_tokens <= repeated + width
    elif 3 * len(loop) < len(tokens):
        assert made.looped_tokens == 0


def _counted_steps(made: Comparison, width: int) -> float:
    return (made.plain_s or 0.0) / width


def test_the_rounds_before_the_notice_are_taken_back() -> None:
    plain = [[token] for token in range(100, 200)]
    looping = cut([*ROUND * 60], 6)
    made = Comparison()
    seen = []
    for step in (*plain, *looping):
        made.add(step, 1.0, float(len(step)))
        seen.append((made.looping, made.plain_s))
    assert seen[99] == (False, 100.0)
    assert max(plain_s or 0.0 for _, plain_s in seen) > 180
    assert seen[-1] == (True, 106.0)  # the step that holds the first round counts


def test_a_text_that_leaves_its_loop_counts_again() -> None:
    start, end = [[token] for token in range(100)], [[token] for token in range(200, 300)]
    made = compared(start, cut([5] * 200, 4), end)
    assert not made.looping
    assert made.plain_s == pytest.approx(204)
    made.end()
    assert made.looping, "200 of 400 tokens went round"


def test_a_cost_that_is_not_known_spoils_the_comparison_only_outside_of_loops() -> None:
    assert compared([[1], [2, 3]], plain_s=None).plain_s is None
    inside = compared([[token] for token in range(50)], [[5]])
    for step in cut([5] * 300, 3):
        inside.add(step, 1.0, None)
    assert inside.looping
    assert inside.plain_s == 51


def test_a_short_answer_is_judged_at_its_end() -> None:
    made = compared([[1], [2]], cut([5] * 40, 4))
    assert not made.looping
    made.end()
    assert made.looping
    assert made.looped_tokens == 36


def tally_of(steps: list[tuple[tuple[int, ...], int]], plain_s: float) -> TurnStats:
    """Counters of steps (tokens, drafted) that take a second each."""
    now = 0.0
    tally = Tally(lambda: now, TurnStats())
    tally.prefilled()
    for tokens, drafted in steps:
        now += 1.0
        tally.stepped(Step(tokens, drafted, len(tokens) - 1, drafted, 0.0, 1.0), plain_s, now)
    tally.ended()
    return tally.snapshot(kind="ngram", mode="auto", plain_s=plain_s, plain_age_s=0.0, used=0, reason="")


@given(st.integers(1, 8))
def test_a_loop_that_is_guessed_perfectly_leaves_the_multiplier_where_it_was(width: int) -> None:
    start: list[tuple[tuple[int, ...], int]] = [((token,), 0) for token in range(100)]
    loop = [((5,) * width, width - 1)] * 200
    stats = tally_of([*start, *loop], plain_s=1.0)
    assert stats.looping
    assert stats.speedup == pytest.approx(1.0, abs=0.1)
    assert tally_of(start, plain_s=1.0).speedup == pytest.approx(1.0)


def test_an_answer_that_is_nothing_but_a_loop_has_no_multiplier() -> None:
    stats = tally_of([((5,) * 4, 3)] * 100, plain_s=1.0)
    assert stats.looping
    assert stats.speedup is None
    assert (stats.output_tokens, stats.looped_tokens) == (400, 396)


def test_without_loops_the_multiplier_is_the_ratio_of_the_times() -> None:
    assert tally_of([((at, at + 1), 1) for at in range(0, 200, 2)], plain_s=0.75).speedup == pytest.approx(1.5)


def test_rates_stand_in_for_a_comparison_that_is_not_there_without_the_loops() -> None:
    stats = TurnStats(
        output_tokens=300, decode_s=15.0, plain_tokens_per_second=20.0, looped_tokens=200, looped_s=10.0, looping=True
    )
    assert stats.speedup == pytest.approx(1.0)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=20), st.integers(0, 4))
def test_counts_add_up_also_where_a_right_guess_ends_the_answer(rounds: list[tuple[int, int]], last: int) -> None:
    tally = Tally(lambda: 0.0, TurnStats())
    tally.prefilled()
    for matched, wrong in rounds:
        tested = matched + (wrong > 0)
        tally.stepped(Step((7,) * (matched + 1), matched + wrong, matched, tested, 0.0, 1.0), 1.0, 0.0)
    tally.stepped(Step((7,) * max(1, last), last, last, last, 0.0, 1.0), 1.0, 0.0)  # its last guess ends the answer
    stats = tally.snapshot(kind="mtp", mode="auto", plain_s=1.0, plain_age_s=0.0, used=0, reason="")
    assert stats.accepted == sum(stats.accepted_at) == stats.output_tokens - stats.steps
    assert all(kept <= reached for kept, reached in zip(stats.accepted_at, stats.reached_at, strict=True))
    assert sum(stats.reached_at) <= stats.drafted
