"""An answer is split without losing or inventing anything."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mtpchat.ui.blocks import BlockSplitter, Piece, code_parts, last_block

LINES = st.sampled_from(
    [
        "text",
        "",
        "```python",
        "```",
        "~~~",
        "# Title",
        "- item",
        "    code",
        "**bold**",
        "````",
        "| a | b |",
        "|---|---|",
        "---",
        "a | b",
    ]
)
DOCUMENTS = st.lists(LINES, max_size=20).map("\n".join)


def merged(pieces: list[Piece]) -> list[Piece]:
    """Prose may come in one piece or in several."""
    found: list[Piece] = []
    for piece in pieces:
        if found and found[-1].kind == piece.kind == "prose":
            found[-1] = Piece("prose", found[-1].text + piece.text)
        else:
            found.append(piece)
    return found


@given(DOCUMENTS, st.lists(st.integers(1, 9), min_size=1))
def test_closed_and_open_parts_are_the_text_however_it_is_cut(text: str, sizes: list[int]) -> None:
    splitter, place, turn = BlockSplitter(), 0, 0
    closed: list[Piece] = []
    while place < len(text):
        size = sizes[turn % len(sizes)]
        pieces = splitter.feed(text[place : place + size])
        assert merged(pieces) == pieces
        closed += pieces
        place, turn = place + size, turn + 1
    assert "".join(piece.text for piece in closed) + splitter.open == text
    whole = BlockSplitter()
    assert merged(whole.feed(text)) == merged(closed)
    assert (whole.open, whole.begun) == (splitter.open, splitter.begun)


@given(DOCUMENTS)
def test_the_last_block_begins_at_a_line_within_the_text(text: str) -> None:
    begin = last_block(text)
    assert 0 <= begin <= len(text)
    assert begin == 0 or text[begin - 1] == "\n"


def test_prose_closes_line_by_line() -> None:
    splitter = BlockSplitter()
    assert splitter.feed("one\ntwo\n") == [Piece("prose", "one\ntwo\n")]
    assert splitter.feed("\nthree") == [Piece("prose", "\n")]
    assert splitter.open == "three"
    assert splitter.begun == len("one\ntwo\n\n")


def test_a_blank_line_inside_code_closes_nothing() -> None:
    splitter = BlockSplitter()
    assert splitter.feed("text\n```py\nx = 1\n\ny = 2\n") == [Piece("prose", "text\n")]
    assert splitter.in_code
    assert splitter.begun == len("text\n")
    assert splitter.feed("```\n") == [Piece("code", "```py\nx = 1\n\ny = 2\n```\n")]
    assert not splitter.in_code


def test_a_table_is_known_by_its_second_line_and_closes_as_a_whole() -> None:
    splitter = BlockSplitter()
    assert splitter.feed("see:\n| a | b |\n") == [Piece("prose", "see:\n")]
    assert splitter.feed("|---|---|\n| 1 | 2 |\n") == []
    assert splitter.begun == len("see:\n")
    assert splitter.feed("\nend") == [Piece("table", "| a | b |\n|---|---|\n| 1 | 2 |\n"), Piece("prose", "\n")]


def test_a_line_with_a_bar_is_prose_when_no_table_follows() -> None:
    assert BlockSplitter().feed("a | b\nc\n") == [Piece("prose", "a | b\nc\n")]
    assert BlockSplitter().feed("a | b\n|---|\nc\n") == [Piece("prose", "a | b\n|---|\nc\n")]


def test_code_in_a_line_opens_nothing() -> None:
    splitter = BlockSplitter()
    splitter.feed("```x``` is code")
    assert not splitter.in_code


def test_the_language_of_open_code_is_known() -> None:
    assert code_parts("```rust no_run\nfn main() {}\n") == ("rust", "fn main() {}\n")
