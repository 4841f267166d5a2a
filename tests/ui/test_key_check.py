"""What is wrong with `[keys]` is said at the start: ids, keys that do not exist, and keys that mean two things."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtpchat.config import Config, UiConfig
from mtpchat.ui.key_check import complaints, is_key
from mtpchat.ui.keys import KEYS
from mtpchat.ui.safe_text import safe_line
from tests.ui.conftest import MODEL, chat_app, settled
from tests.ui.fake_session import FakeSession

IDS = [key.id for key in KEYS]


def test_what_ships_has_nothing_wrong_with_it() -> None:
    assert complaints({}) == []
    assert complaints({key.id: key.keys for key in KEYS}) == []


@pytest.mark.parametrize("keys", [name for key in KEYS for name in key.keys.replace(",", " ").split()])
def test_every_key_that_ships_is_one(keys: str) -> None:
    assert is_key(keys)


@pytest.mark.parametrize("name", ["x", "ctrl+x", "ctrl+shift+f5", "alt+enter", "?", "é", "ctrl++", "question_mark"])
def test_letters_signs_and_names_are_keys(name: str) -> None:
    assert is_key(name)


@pytest.mark.parametrize("name", ["", "ctl+x", "pgdown", "ctrl+", "f99", "ctrl x"])
def test_anything_else_is_none(name: str) -> None:
    assert not is_key(name)
    assert "is not the name of a key" in complaints({"quit": name})[0]


def test_the_nearest_name_is_given() -> None:
    assert complaints({"find": "ctrl+pagdown"}) == [
        "keys.find: ctrl+pagdown is not the name of a key; did you mean ctrl+pagedown?"
    ]


def test_one_key_for_two_actions_is_named_with_both() -> None:
    assert complaints({"theme": "f2"}) == [
        "f2 means two things: keys.theme and keys.speculation; give one of them another key"
    ]
    assert "keys.editor" in complaints({"quit": "ctrl+g"})[0]


def test_a_sign_and_its_name_are_the_same_key() -> None:
    assert "slash means two things" in complaints({"fold": "/"})[0]


def test_a_chord_of_the_users_own_that_hides_a_key_is_named_with_it() -> None:
    assert complaints({"find": "ctrl+t f"}) == ["ctrl+t begins ctrl+t f and does nothing itself: keys.theme, keys.find"]
    assert complaints({"copy": "g y"}) == ["g begins g y and does nothing itself: keys.vi_top, keys.copy"]


def test_each_key_of_a_chord_has_to_be_one() -> None:
    assert complaints({"find": "ctrl+x ctrl+f"}) == []
    assert "hocus is not the name of a key" in complaints({"find": "ctrl+x hocus"})[0]
    assert "terminals send ctrl+m as enter" in complaints({"find": "ctrl+x ctrl+m"})[0]


def test_a_key_of_the_users_own_may_be_the_beginning_of_a_chord_that_ships() -> None:
    assert complaints({"quit": "ctrl+x"}) == []


def test_keys_may_be_exchanged() -> None:
    assert complaints({"theme": "f2", "speculation": "ctrl+t"}) == []


def test_prompt_and_transcript_never_meet() -> None:
    assert complaints({"copy": "ctrl+g"}) == []


@given(st.dictionaries(st.one_of(st.sampled_from(IDS), st.text(max_size=8)), st.text(max_size=12), max_size=5))
def test_whatever_stands_there_is_told_in_harmless_lines(wanted: dict[str, str]) -> None:
    for sentence in complaints(wanted):
        assert safe_line(sentence) == sentence


async def test_it_is_said_at_the_start() -> None:
    session = FakeSession(config=Config(model=MODEL, ui=UiConfig(reduced_motion=True), keys={"theme": "f2"}))
    app = chat_app(session)
    async with app.run_test(notifications=True) as pilot:
        await settled(pilot)
        assert any("f2 means two things" in one.message for one in app._notifications)
