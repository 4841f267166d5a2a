"""Parts of lines are exactly as wide as they have to be, whatever is in them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from textual.content import Content

from mtpchat.one_line import common_start, short
from mtpchat.ui.cells import fitted, key_words, padded

words = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Mn", "Me", "Cf")), max_size=30)


@given(words, st.integers(0, 40))
def test_a_fitted_part_has_exactly_its_cells(text: str, cells: int) -> None:
    assert fitted(Content(text), cells).cell_length == cells


@given(words, st.integers(0, 40))
def test_padding_takes_nothing_away(text: str, cells: int) -> None:
    part = padded(Content(text), cells)
    assert part.plain.startswith(text)
    assert part.cell_length == max(cells, Content(text).cell_length)


@given(st.lists(st.tuples(st.sampled_from(["esc", "⏎", "^P"]), st.sampled_from(["leave", "load it"])), max_size=6))
def test_keys_that_do_not_fit_are_left_out_whole_and_the_first_stay(keys: list[tuple[str, str]]) -> None:
    everything = key_words(keys).plain
    for width in range(len(everything) + 1):
        line = key_words(keys, width)
        assert line.cell_length <= width
        assert everything.startswith(line.plain)
        assert line.plain == "" or any(line.plain.endswith(word) for _, word in keys)


@given(st.text(max_size=300), st.integers(2, 80))
def test_a_short_text_is_one_line_that_is_not_longer_than_wanted(text: str, most: int) -> None:
    line = short(text, most)
    assert len(line) <= most
    assert len(line.splitlines()) <= 1


@given(st.lists(st.text("ab", max_size=4), min_size=1, max_size=5))
def test_the_common_start_is_the_longest_that_all_have(texts: list[str]) -> None:
    start = common_start(texts)
    assert all(text.startswith(start) for text in texts)
    longer = {text[: len(start) + 1] for text in texts}
    assert len(longer) > 1 or longer == {start}
