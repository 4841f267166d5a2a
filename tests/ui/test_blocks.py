"""An answer is split without losing or inventing anything."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mtpchat.ui.blocks import BlockSplitter, code_parts, light_content

LINES = st.sampled_from(
    ["text", "", "```python", "```", "~~~", "# Title", "- item", "    code", "**bold**", "````", "| a | b |"]
)
DOCUMENTS = st.lists(LINES, max_size=20).map("\n".join)


@given(DOCUMENTS, st.lists(st.integers(1, 9), min_size=1))
def test_closed_and_open_parts_are_the_text_however_it_is_cut(text: str, sizes: list[int]) -> None:
    splitter, closed, place, turn = BlockSplitter(), "", 0, 0
    while place < len(text):
        size = sizes[turn % len(sizes)]
        closed += splitter.feed(text[place : place + size])
        place, turn = place + size, turn + 1
    assert closed + splitter.open == text
    whole = BlockSplitter()
    assert whole.feed(text) == closed


def test_a_blank_line_inside_code_closes_nothing() -> None:
    splitter = BlockSplitter()
    assert splitter.feed("```py\nx = 1\n\ny = 2\n") == ""
    assert splitter.in_code
    assert splitter.feed("```\n") == "```py\nx = 1\n\ny = 2\n```\n"
    assert not splitter.in_code


def test_a_paragraph_closes_at_its_blank_line() -> None:
    splitter = BlockSplitter()
    assert splitter.feed("one\ntwo\n") == ""
    assert splitter.feed("\nthree") == "one\ntwo\n\n"
    assert splitter.open == "three"


def test_the_language_of_open_code_is_known() -> None:
    assert code_parts("```rust no_run\nfn main() {}\n") == ("rust", "fn main() {}")


@given(st.text(max_size=80))
def test_light_marks_never_fail_and_never_read_markup(text: str) -> None:
    light_content(text + " [red]x[/] [/")


def test_light_marks_are_applied_and_taken_away() -> None:
    content = light_content("a **b** `c` *d* 2*3*4")
    assert content.plain == "a b c d 2*3*4"
    assert [span.style for span in content.spans] == ["bold", "$mt-code", "italic"]
