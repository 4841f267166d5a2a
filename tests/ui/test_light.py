"""The light form of text: line by line, safe, and where the full rendering will stand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtpchat.ui.light import LightLines, Line, LineMaker, RawLines, light_content

PROSE = st.lists(
    st.sampled_from(
        [
            "text of **some** length",
            "",
            "# Title",
            "## Head ##",
            "- item",
            "  - inner",
            "1. one",
            "2) two",
            "> said",
            "---",
            "===",
            "    deep",
            "    ```py",
            "    ```",
            "\tx",
        ]
    ),
    max_size=14,
)


def plain(maker: LineMaker, text: str) -> list[str]:
    return [line.text.plain for line in maker.settle(text)]


@given(PROSE, st.booleans())
def test_lines_do_not_depend_on_how_the_text_is_cut(lines: list[str], raw: bool) -> None:
    text = "".join(f"{line}\n" for line in lines)
    whole, pieces = (RawLines(), RawLines()) if raw else (LightLines(), LightLines())
    one_by_one: list[Line] = []
    for line in lines:
        pieces.preview(line)
        one_by_one += pieces.settle(f"{line}\n")
    assert whole.settle(text) == one_by_one


@given(PROSE, st.text(min_size=1, max_size=30))
def test_a_look_ahead_keeps_nothing_and_is_what_comes(lines: list[str], end: str) -> None:
    end = end.replace("\n", " ")
    maker = LightLines()
    maker.settle("".join(f"{line}\n" for line in lines))
    shown = maker.preview(end)
    assert maker.preview(end) == shown
    assert maker.settle(f"{end}\n") == shown


@given(st.text(max_size=80))
def test_light_marks_never_fail_and_never_read_markup(text: str) -> None:
    light_content(text + " [red]x[/] [/")
    LightLines().settle(text + " [red]x[/] [/")


def test_light_marks_are_applied_and_taken_away() -> None:
    content = light_content(r"a **b** `c` *d* 2*3*4 \*e\*")
    assert content.plain == "a b c d 2*3*4 *e*"
    assert [span.style for span in content.spans] == ["bold", "$mt-code", "italic"]


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("one\n\n\ntwo\n", ["one", "", "two"]),
        ("# Head\ntext\n", ["Head", "", "text"]),
        ("so:\n- a\n\n- b\n", ["so:", "", "• a", "• b"]),
        ("- a\n  - b\n    - c\n- d\n", ["• a", "  ◦ b", "    ▪ c", "• d"]),
        ("3. a\n3. b\n   - c\n", [" 3. a", " 4. b", "    • c"]),
        ("- a\n\n  more\n\nend\n", ["• a", "", "  more", "", "end"]),
        ("1. a\nstill a\n", [" 1. a", "    still a"]),
        ("year\n1984. x\n", ["year", "1984. x"]),
        ("> a\nlazy\n\nend\n", ["▌ a", "▌ lazy", "", "end"]),
        ("Head\n---\ntext\n", ["Head", "", "text"]),
        ("a\n\n---\nb\n", ["a", "", "", "───", "", "b"]),
        ("- a\n\n    ```py\n    if x:\n        y\n    ```\n- b\n", ["• a", "", "  py", "  if x:", "      y", "• b"]),
    ],
)
def test_prose_stands_where_its_rendering_will(source: str, shown: list[str]) -> None:
    assert plain(LightLines(), source) == shown


def test_raw_text_keeps_its_lines() -> None:
    assert plain(RawLines(), "\n  a\n\n\tb\n\n") == ["", "  a", "", "        b"]
    assert plain(RawLines(from_text=True), "\n\n  a\n") == ["  a"]
