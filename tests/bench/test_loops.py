"""A loop is seen whatever its period; an answer that goes on is not called one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mtpchat.bench.loops import distinct_share, looping
from mtpchat.bench.prompts import builtin

words = st.text(alphabet="abcdefgh", min_size=1, max_size=6)


@given(
    start=st.lists(st.integers(0, 10_000), max_size=30), cycle=st.lists(st.integers(0, 10_000), min_size=1, max_size=20)
)
def test_a_tail_that_goes_round_for_half_of_the_answer_is_a_loop(start: list[int], cycle: list[int]) -> None:
    rounds = max(3, -(-max(24, len(start)) // len(cycle)))
    assert looping([*start, *(cycle * rounds)])


@given(st.integers(1, 400))
def test_an_answer_that_never_repeats_is_no_loop(length: int) -> None:
    assert not looping(range(length))


@given(st.lists(st.integers(), max_size=23))
def test_short_answers_are_never_called_loops(units: list[int]) -> None:
    assert not looping(units)


@given(start=st.lists(words, min_size=0, max_size=60), renamed=st.permutations(range(60)))
def test_the_verdict_does_not_hang_on_the_names_of_the_units(start: list[str], renamed: list[int]) -> None:
    units = [ord(word[0]) % 60 for word in start]
    assert looping(units) == looping([renamed[unit] for unit in units])


def test_sentences_that_come_back_in_another_order_are_a_loop() -> None:
    one, two = list(range(10)), list(range(100, 110))
    assert looping([*one, *two, *one, *one, *two, *two, *one, *two, *one])


def test_a_list_with_a_common_beginning_is_no_loop() -> None:
    lines = [["The", "number", str(n), "is", f"{n * 37} ", f"because{n}", "of", f"reason{n}"] for n in range(20)]
    assert not looping([word for line in lines for word in line])


def test_the_texts_of_the_builtin_prompts_are_no_loops() -> None:
    assert not any(looping(prompt.text.split()) for prompt in builtin())


def test_nothing_has_no_repetition() -> None:
    assert distinct_share(()) == 1.0
