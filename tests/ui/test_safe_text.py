"""Text from outside is harmless and stays itself."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mtpchat.ui.safe_text import safe_line, safe_text

ANY = st.text(alphabet=st.characters(exclude_categories=[]), max_size=200)


@given(ANY)
def test_no_control_character_survives(text: str) -> None:
    kept = safe_text(text)
    assert not [c for c in kept if c not in "\n\t" and (ord(c) < 0x20 or 0x7F <= ord(c) < 0xA0)]
    assert not [c for c in kept if 0x202A <= ord(c) <= 0x202E or 0x2066 <= ord(c) <= 0x2069]
    kept.encode("utf-8")


@given(ANY)
def test_making_text_safe_twice_changes_nothing_more(text: str) -> None:
    assert safe_text(safe_text(text)) == safe_text(text)


@given(st.text(alphabet=st.characters(min_codepoint=0x20, max_codepoint=0x7E)))
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert safe_text(text) == text


def test_an_escape_is_shown_as_a_sign() -> None:
    assert safe_text("\x1b[31mred\x07") == "␛[31mred␇"


@given(ANY)
def test_a_safe_line_is_one_line(text: str) -> None:
    assert len(safe_line(text).splitlines()) <= 1
