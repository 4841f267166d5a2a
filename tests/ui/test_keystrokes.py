"""What is pasted is text whatever stands in it, and no byte of a terminal ends the program."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from textual import events

from mtpchat.ui.keystrokes import Keystrokes, Pastes, read_keys_so

START, END = "\x1b[200~", "\x1b[201~"
HOSTILE = st.lists(
    st.sampled_from(["\x1b", "[", "2", "0", "1", "~", "31m", "\r", "a", "\x1b[200~", "\x1bOP"]), max_size=20
)


def pieces(text: str, cuts: list[int]) -> list[str]:
    ends = sorted({min(cut, len(text)) for cut in cuts} | {0, len(text)})
    return [text[start:end] for start, end in pairwise(ends)]


@given(HOSTILE, st.lists(st.integers(0, 80)))
def test_a_paste_is_one_paste_and_no_key(parts: list[str], cuts: list[int]) -> None:
    pasted = "".join(parts).replace(END, "") + "."
    parser = Keystrokes()
    found = [event for piece in pieces(f"x{START}{pasted}{END}y", cuts) for event in parser.feed(piece)]
    kinds = [type(event) for event in found]
    assert kinds == [events.Key, events.Paste, events.Key]
    assert found[1].text == pasted.replace("\x1b", "␛")  # type: ignore[attr-defined]


@given(st.text(st.sampled_from("\x1b[201~aO")), st.lists(st.integers(0, 80)))
def test_outside_of_pastes_nothing_is_changed_and_nothing_waits(typed: str, cuts: list[int]) -> None:
    pastes = Pastes()
    typed = typed.replace(START, "")
    assert [pastes.harmless(piece) for piece in pieces(typed, cuts)] == pieces(typed, cuts)


def test_bytes_that_are_no_utf_8_are_shown_as_unknown() -> None:
    from textual.drivers import linux_driver

    before = dict(vars(linux_driver))
    try:
        read_keys_so()
        decode = linux_driver.getincrementaldecoder("utf-8")().decode  # type: ignore[attr-defined]
        assert decode(b"caf\xe9 \xc3", final=False) + decode(b"\xa9", final=True) == "caf\ufffd é"
        assert linux_driver.XTermParser is Keystrokes  # type: ignore[attr-defined]
    finally:
        vars(linux_driver).update(before)
