"""Loops are noticed while they come, and their end at once; what only looks alike is none."""

from __future__ import annotations

import json
import re
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtpchat.engine.repeats import LEAST, LEAST_OF_A_WHOLE, LONGEST_PERIOD, Repeats, repeats_in

LIST = "\n".join(f"{n}. Open the file number {n} and copy line {n * 37 % 91} of it into the report." for n in range(60))
TABLE = "\n".join(f"| Item {n} | {n * 7919 % 1000} | EUR {n * 31 % 97}.00 | in stock | yes |" for n in range(60))
RECORDS = json.dumps(
    [{"id": n, "name": f"user{n * n % 101}", "active": True, "role": "user"} for n in range(50)], indent=2
)
CODE = "\n".join(
    f"    def test_{word}(self) -> None:\n        self.assertEqual(parse('{word}'), Token.{word.upper()})\n"
    for word in ("plus", "minus", "times", "slash", "power", "left", "right", "comma", "dot", "colon", "name")
)
RULERS = f"{'-' * 80}\n| one | two |\n{'=' * 80}\n+{'-' * 38}+{'-' * 39}+\n{'#' * 80}\n# Chapter\n{'*' * 80}\n"
GRID = "\n".join(" ".join("1" if column == row else "0" for column in range(16)) for row in range(16))


def words(text: str) -> list[int]:
    """Numbers for the words, signs and spaces of a text, much as a tokenizer cuts it."""
    return [zlib.crc32(one.encode()) for one in re.findall(r" ?\w+|\n *|[^\w\s]| ", text)]


def fed(tokens: list[int]) -> Repeats:
    seen = Repeats()
    for token in tokens:
        seen.push(token)
    return seen


def noticed(tokens: list[int]) -> list[int]:
    """How many tokens had been taken each time that a loop was on."""
    seen = Repeats()
    found = []
    for count, token in enumerate(tokens, 1):
        seen.push(token)
        if seen.looping:
            found.append(count)
    return found


def widest_stretch(tokens: list[int], longest: int) -> int:
    """By definition: the longest end that repeats with some period over at least three rounds."""
    best = 0
    for period in range(1, longest + 1):
        run = 0
        while period + run < len(tokens) and tokens[-1 - run] == tokens[-1 - run - period]:
            run += 1
        if run >= 2 * period:
            best = max(best, run + period)
    return best


@given(st.lists(st.integers(0, 2), max_size=40), st.integers(1, 8))
def test_the_stretch_is_what_its_definition_says_after_each_token(tokens: list[int], longest: int) -> None:
    seen = Repeats(longest)
    for count, token in enumerate(tokens, 1):
        seen.push(token)
        assert seen.stretch.length == widest_stretch(tokens[:count], longest)


@settings(max_examples=50)
@given(
    before=st.lists(st.integers(0, 10_000), max_size=300),
    cycle=st.lists(st.integers(0, 10_000), min_size=1, max_size=LONGEST_PERIOD),
    more=st.integers(0, 300),
)
def test_any_loop_is_noticed_in_its_third_round_at_the_latest_and_until_it_ends(
    before: list[int], cycle: list[int], more: int
) -> None:
    due = max(LEAST, 3 * len(cycle))
    loop = [cycle[at % len(cycle)] for at in range(due + more)]
    found = noticed([*before, *loop])
    assert found[-(more + 1) :] == list(range(len(before) + due, len(before) + due + more + 1))


@settings(max_examples=50)
@given(cycle=st.lists(st.integers(0, 99), min_size=1, max_size=LONGEST_PERIOD), after=st.integers(1, 50))
def test_the_first_token_that_breaks_a_loop_ends_it(cycle: list[int], after: int) -> None:
    loop = cycle * (LEAST * 3 // len(cycle) + 3)
    seen = fed(loop)
    assert seen.looping
    for token in range(1000, 1000 + after):
        seen.push(token)
        assert not seen.looping


@settings(max_examples=30)
@given(st.lists(st.integers(0, 50_000), max_size=400, unique=True), st.integers(0, 50))
def test_text_that_says_everything_once_is_never_a_loop(tokens: list[int], shift: int) -> None:
    assert noticed([token + shift for token in tokens]) == []


@given(st.permutations(range(60)), st.lists(st.integers(0, 59), max_size=80))
def test_it_does_not_hang_on_the_names_of_the_tokens(names: list[int], tokens: list[int]) -> None:
    renamed = repeats_in([names[token] for token in tokens])
    assert (renamed.stretch, renamed.longest) == (repeats_in(tokens).stretch, repeats_in(tokens).longest)


@settings(max_examples=30)
@given(
    line=st.lists(st.integers(0, 500), min_size=1, max_size=60),
    place=st.integers(0, 59),
    lines=st.integers(4, 40),
)
def test_equal_lines_with_a_number_that_counts_are_no_loop(line: list[int], place: int, lines: int) -> None:
    at = place % (len(line) + 1)
    text = [token for number in range(lines) for token in (*line[:at], 1000 + number, *line[at:])]
    assert noticed(text) == []


@pytest.mark.parametrize(
    "text", [LIST, TABLE, RECORDS, CODE, RULERS, GRID], ids=["list", "table", "json", "code", "rulers", "grid"]
)
def test_lists_tables_code_and_rulers_are_no_loops(text: str) -> None:
    assert len(words(text)) > 150
    assert noticed(words(text)) == []


def test_rulers_are_no_loops_even_when_every_sign_is_a_token() -> None:
    assert noticed([ord(sign) for sign in RULERS + GRID]) == []


@pytest.mark.parametrize(
    "loop",
    [" special" * 120, " and so on and on, and" * 40, "The river is long.\n" * 40, "\n\n" * 120, f"{LIST[:200]}\n" * 6],
    ids=["word", "phrase", "line", "blank", "paragraph"],
)
def test_words_phrases_lines_and_paragraphs_that_come_again_are_loops(loop: str) -> None:
    start = words("A river is a natural stream of water. ")
    assert noticed([*start, *words(loop)])


def test_what_repeats_begins_with_the_second_round() -> None:
    seen = fed([1, 2, 3, *[7, 8, 9, 10] * 30])
    assert (seen.stretch.begin, seen.stretch.end, seen.stretch.length) == (3 + 4, 3 + 120, 120)


def test_memory_does_not_grow_with_the_text() -> None:
    seen = Repeats()
    sizes = {(seen.push(token % 7), seen._said.nbytes + seen._runs.nbytes)[1] for token in range(10_000)}
    assert len(sizes) == 1
    assert seen.stretch.length == 10_000


@given(st.integers(0, 60), st.integers(LEAST_OF_A_WHOLE, 60))
def test_a_short_answer_is_a_loop_when_a_third_of_it_is_one(before: int, loop: int) -> None:
    seen = repeats_in([*range(100, 100 + before), *[5] * loop])
    assert seen.prevailed == (3 * loop >= before + loop)


def test_a_loop_that_the_model_ended_by_itself_still_made_the_answer_one() -> None:
    assert repeats_in([1, 2, 3, *[5] * 40, 9]).prevailed
