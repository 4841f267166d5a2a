"""Keys that are pressed one after the other: put together in any order of the table, shown while they wait, dropped."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.pilot import Pilot

from mtpchat.config import Config, UiConfig
from mtpchat.ui.app import MtpChatApp
from mtpchat.ui.chords import Chords
from mtpchat.ui.keys import KEYS, Scope, shown_all
from mtpchat.ui.page_screen import PageScreen
from tests.ui.conftest import MODEL, chat, chat_app, seen, settled, until
from tests.ui.fake_session import FakeSession, says

ALL: frozenset[Scope] = frozenset({"app", "chat", "prompt", "transcript"})
NAMES = st.sampled_from(["ctrl+x", "ctrl+e", "g", "a", "escape"])


def typed(chords: Chords, names: list[str]) -> list[str]:
    return [heard for name in names if (heard := chords.press(name, ALL)) is not None]


@given(st.lists(NAMES, max_size=12))
def test_every_key_but_those_of_chords_and_the_escape_that_drops_one_arrives_in_its_order(names: list[str]) -> None:
    chords = Chords({"find": "g g a", "help": "g a"})
    heard = " ".join(typed(chords, names)).split()
    rest = iter(names)
    assert all(key in rest for key in heard)
    swallowed = len(names) - len(heard) - len(chords.pending)
    assert swallowed >= 0
    assert "a" not in names or "a" in heard


@given(st.lists(NAMES, max_size=12))
def test_nothing_is_swallowed_where_there_are_no_chords(names: list[str]) -> None:
    chords = Chords({"editor": "ctrl+g"})
    assert typed(chords, names) == names


def test_a_chord_is_one_key_of_that_name() -> None:
    assert typed(Chords({}), ["a", "ctrl+x", "ctrl+e", "b"]) == ["a", "ctrl+x ctrl+e", "b"]


def test_escape_drops_it_and_any_other_key_is_what_it_is() -> None:
    assert typed(Chords({}), ["ctrl+x", "escape", "ctrl+e"]) == ["ctrl+e"]
    assert typed(Chords({}), ["ctrl+x", "a"]) == ["a"]
    assert typed(Chords({}), ["ctrl+x", "ctrl+x", "ctrl+e"]) == ["ctrl+x ctrl+e"]


def test_holding_a_key_for_the_next_one_is_no_key() -> None:
    assert typed(Chords({}), ["ctrl+x", "left_control", "ctrl+e"]) == ["left_control", "ctrl+x ctrl+e"]


def test_a_shorter_chord_comes_before_a_longer_one_that_it_begins() -> None:
    assert typed(Chords({"find": "g g a", "help": "g g"}), ["g", "g", "a"]) == ["g g", "a"]


def test_chords_count_where_their_row_does() -> None:
    chords = Chords({})
    assert chords.press("ctrl+x", {"chat", "transcript"}) == "ctrl+x"
    assert chords.press("ctrl+x", {"chat", "prompt"}) is None


def test_a_key_of_the_users_own_is_not_the_beginning_of_a_chord_that_ships() -> None:
    assert typed(Chords({"quit": "ctrl+x"}), ["ctrl+x", "ctrl+e"]) == ["ctrl+x", "ctrl+e"]


def test_chords_are_written_as_their_keys_are() -> None:
    assert shown_all("editor", {}) == "^G ^X ^E"
    assert any(" " in key.keys for key in KEYS)


def with_keys(**keys: str) -> MtpChatApp:
    config = Config(model=MODEL, ui=UiConfig(reduced_motion=True), keys=keys)
    return chat_app(FakeSession([says("Rivers bend.")], config=config))


async def edited(pilot: Pilot[Any], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the editor is given from now on."""
    given: list[str] = []

    def edit(_app: object, text: str) -> str:
        given.append(text)
        return text

    monkeypatch.setattr("mtpchat.ui.prompt_area.edit", edit)
    await settled(pilot)
    return given


@pytest.mark.parametrize("size", [(80, 24), (60, 18), (160, 48)])
async def test_ctrl_x_ctrl_e_opens_the_editor_and_what_is_pending_can_be_seen(
    monkeypatch: pytest.MonkeyPatch, size: tuple[int, int]
) -> None:
    app = with_keys()
    async with app.run_test(size=size) as pilot:
        given = await edited(pilot, monkeypatch)
        await pilot.press(*"abc", "ctrl+x")
        assert "^X …" in seen(app)
        assert "^E editor" in seen(app)
        assert given == []
        await pilot.press("ctrl+e")
        await until(pilot, lambda: given == ["abc"])
        assert "^X …" not in seen(app)


async def test_letters_before_and_after_a_chord_in_one_burst_stay_in_their_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app = with_keys()
    async with app.run_test(size=(80, 24)) as pilot:
        given = await edited(pilot, monkeypatch)
        await pilot.press(*"abc", "ctrl+x", "ctrl+e", *"de")
        await until(pilot, lambda: chat(app).prompt.text == "abcde")
        assert given == ["abc"]


async def test_escape_drops_a_pending_chord_and_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    app = with_keys()
    async with app.run_test(size=(80, 24)) as pilot:
        given = await edited(pilot, monkeypatch)
        await pilot.press(*"/he", "ctrl+x", "escape")
        assert chat(app).menu.is_open
        assert "^X …" not in seen(app)
        await pilot.press("ctrl+x", "x")
        assert chat(app).prompt.text == "/hex"
        assert given == []


async def test_with_text_marked_ctrl_x_cuts() -> None:
    app = with_keys()
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press(*"abc", "shift+left", "ctrl+x")
        assert chat(app).prompt.text == "ab"
        assert app.clipboard == "c"
        assert chat(app).keyboard.pending == ()


async def test_ctrl_x_alone_takes_no_line_away() -> None:
    app = with_keys()
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press(*"abc", "ctrl+x", "end")
        assert chat(app).prompt.text == "abc"


async def test_chords_of_the_users_own_work_everywhere_in_the_chat() -> None:
    app = with_keys(help="ctrl+x h", vi_top="g g")
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press(*"hi", "enter")
        await settled(pilot)
        await pilot.press("ctrl+x", "h")
        await until(pilot, lambda: isinstance(app.screen, PageScreen))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is chat(app))
        await pilot.press("tab", "g")
        assert "g …" in seen(app)
        await pilot.press("g")
        assert chat(app).transcript.has_focus
        assert chat(app).prompt.text == ""


async def test_what_is_pending_ends_where_another_screen_comes() -> None:
    app = with_keys()
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("ctrl+x", "f1")
        await until(pilot, lambda: isinstance(app.screen, PageScreen))
        await pilot.press("ctrl+x", "escape")
        await until(pilot, lambda: app.screen is chat(app))
        assert chat(app).keyboard.pending == ()
