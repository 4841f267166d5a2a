"""Pieces of GBNF mean exactly the text they were made of."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from mtpchat.structured.gbnf import literal

_SHORT = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\"}


def meant(grammar: str) -> str:
    """What a terminal stands for, as llama.cpp reads it."""

    def letter(match: re.Match[str]) -> str:
        return chr(int(match[1] or match[2], 16)) if match[3] is None else _SHORT[match[3]]

    return re.sub(r"\\(?:u([0-9A-F]{4})|U([0-9A-F]{8})|(.))", letter, grammar[1:-1])


@given(st.text(st.characters(codec="utf-8"), max_size=20))
def test_a_terminal_is_its_text_written_in_letters_that_every_file_can_hold(text: str) -> None:
    written = literal(text)
    assert written.isascii()
    assert written.isprintable()
    assert meant(written) == text
