"""What the screen of chats shows, without a screen."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtpchat.chats import ChatLine, Glimpse, Passage
from mtpchat.ui.chats_desk import file_name
from mtpchat.ui.chats_view import Row, age, details, marked_text, row, short_model

NOON = time.mktime((2026, 11, 20, 12, 0, 0, 0, 0, -1))
LINE = ChatLine(1, "cafe11111111", "Why do rivers meander?", 0.0, NOON, 24, model="Qwen3.8-27B-Instruct")


@pytest.mark.parametrize(
    ("passed_s", "words"),
    [
        (-5.0, "just now"),
        (59.0, "just now"),
        (61.0, "1 min ago"),
        (3599.0, "59 min ago"),
        (3 * 3600.0, "3 h ago"),
        (13 * 3600.0, "yesterday"),
        (24 * 3600.0, "yesterday"),
        (48 * 3600.0, "2 days ago"),
        (20 * 86_400.0, "2 weeks ago"),
        (200 * 86_400.0, "May 2026"),
    ],
)
def test_an_age_is_told_as_people_tell_it(passed_s: float, words: str) -> None:
    assert age(NOON - passed_s, NOON) == words


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("Qwen3.8-27B-Instruct", "Qwen3.8 27B"),
        ("gemma 4 E4B it", "gemma 4 E4B"),
        ("SmolLM2-135M-Instruct.Q4_1", "SmolLM2 135M Q4_1"),
        ("Qwen3-8B-UD-Q4_K_XL", "Qwen3 8B UD-Q4_K_XL"),
        ("", ""),
        ("\x1b[2J", "␛[2J"),
    ],
)
def test_a_model_is_called_by_what_tells_it_from_others(name: str, short: str) -> None:
    assert short_model(name) == short


@given(
    st.text(max_size=80),
    st.integers(8, 200),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
def test_a_row_is_as_wide_as_it_has_to_be_and_harmless(
    title: str, width: int, marked: bool, pinned: bool, is_open: bool
) -> None:
    line = ChatLine(1, "x", title, 0.0, NOON, 24, pinned, model="Qwen3.8 27B")
    painted = row(Row(line), width, marked=marked, is_open=is_open, now=NOON)
    assert painted.cell_length == width
    assert "\n" not in painted.plain
    assert "\x1b" not in painted.plain


def test_columns_give_way_on_narrow_screens() -> None:
    wide = row(Row(LINE), 90, marked=False, is_open=False, now=NOON).plain
    assert all(word in wide for word in ("Why do rivers meander?", "Qwen3.8 27B", "24", "just now"))
    narrow = row(Row(LINE), 50, marked=False, is_open=False, now=NOON).plain
    assert "Qwen" not in narrow
    assert "Why do rivers meander?" in narrow


def test_marks_stay_in_place_where_signs_stand_for_control_characters() -> None:
    text = marked_text("a\x9b\x1b otter [/]", ((4, 9),))
    assert text.plain == "a\\x9b␛ otter [/]"
    (found,) = [span for span in text.spans if "underline" in str(span.style)]
    assert text.plain[found.start : found.end] == "otter"


@pytest.mark.parametrize("compact", [True, False])
def test_details_say_what_was_said_last_and_how_much_more_there_is(compact: bool) -> None:
    glimpse = Glimpse(LINE, (Passage("user", "Why?"), Passage("assistant", "**Because**.\n\n- so")), 3)
    text = details(Row(LINE), glimpse, NOON, compact=compact).plain
    assert "24 messages" in text
    assert "Why?" in text
    assert "Because" in text
    assert "and 3 more messages" in text
    assert text.count("\n") == (3 if compact else 11)


@pytest.mark.parametrize("compact", [True, False])
def test_details_name_the_file_in_which_words_were_found(compact: bool) -> None:
    glimpse = Glimpse(LINE, (Passage("user", "rent;500", ((0, 4),), "budget\x1b.csv"),))
    lines = details(Row(LINE), glimpse, NOON, compact=compact).plain.split("\n")
    assert any(line.startswith("You · budget␛.csv") for line in lines)
    assert any("rent;500" in line for line in lines)


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Why do rivers meander?", "why-do-rivers-meander.md"),
        ("../../etc/passwd", "etc-passwd.md"),
        ("???", "cafe11111111.md"),
        ("word " * 40, "word-word-word-word-word-word-word-word.md"),
        ("漢" * 60, "漢" * 40 + ".md"),
    ],
)
def test_a_file_name_is_made_of_words_alone(title: str, name: str) -> None:
    assert file_name(ChatLine(1, "cafe11111111", title, 0.0, 0.0, 2)) == name


@pytest.mark.parametrize("compact", [True, False])
def test_an_answer_is_looked_at_without_the_signs_of_markdown(compact: bool) -> None:
    said = "## Bends\n\nWater **cuts** the `bank`.\n\n- one\n\n```python\nx = 1\n```\n"
    text = details(Row(LINE), Glimpse(LINE, (Passage("assistant", said),)), NOON, compact=compact).plain
    assert not any(sign in text for sign in ("#", "*", "`"))
    assert "• one" in text
    assert "x = 1" in text


def test_signs_of_markdown_go_beside_what_was_found_too_and_the_marks_stay_in_place() -> None:
    said = "Then: ## Water **cuts** the outer bank"
    at = said.index("outer")
    passage = Passage("assistant", said, ((at, at + 5),))
    text = details(Row(LINE), Glimpse(LINE, (passage,)), NOON, compact=True)
    assert "Water cuts the outer bank" in text.plain
    (found,) = [span for span in text.spans if "underline" in str(span.style)]
    assert text.plain[found.start : found.end] == "outer"
