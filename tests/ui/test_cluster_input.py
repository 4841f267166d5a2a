"""Fields of one line: the cursor goes by what is seen as one character, and nothing in them is obeyed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual import events
from textual.app import App, ComposeResult
from textual.widgets import Input

from mtpchat.ui.chats_desk import ChatsDesk
from mtpchat.ui.chats_screen import ChatsScreen
from mtpchat.ui.clusters import borders
from mtpchat.ui.safe_text import safe_text
from mtpchat.ui.widgets.cluster_input import ClusterInput
from tests.ui.conftest import chat, chat_app, settled, until
from tests.ui.fake_session import FakeSession
from tests.ui.test_clusters import CHARACTERS, FAMILY, FLAG


class OneField(App[None]):
    """A field and nothing else."""

    def compose(self) -> ComposeResult:
        yield ClusterInput(compact=True, select_on_focus=False)

    @property
    def field(self) -> ClusterInput:
        return self.query_one(ClusterInput)


@pytest.mark.parametrize("character", CHARACTERS)
async def test_every_key_takes_a_whole_character(character: str) -> None:
    app = OneField()
    async with app.run_test(size=(40, 5)) as pilot:
        field, whole = app.field, len(character)
        field.value = f"x{character}y"
        await pilot.press("end", "left", "left")
        assert field.cursor_position == 1
        await pilot.press("right")
        assert field.cursor_position == 1 + whole
        await pilot.press("shift+left")
        assert field.selected_text == character
        await pilot.press("right", "shift+left", "shift+right")
        assert field.selection.is_empty
        await pilot.press("backspace")
        assert field.value == "xy"
        field.value = f"{character}y"
        await pilot.press("home", "delete")
        assert field.value == "y"


async def test_a_click_goes_where_the_character_is_painted() -> None:
    app = OneField()
    async with app.run_test(size=(40, 5)) as pilot:
        app.field.value = f"{FAMILY}日{FLAG}abc"
        await pilot.click(app.field, offset=(6, 0))
        assert app.field.cursor_position == len(FAMILY) + 1 + len(FLAG)


async def test_the_cursor_is_never_inside_of_a_character_wherever_it_is_put() -> None:
    app = OneField()
    async with app.run_test(size=(40, 5)):
        app.field.value = "".join(CHARACTERS)
        places = borders(app.field.value)
        for place in range(-2, len(app.field.value) + 3):
            app.field.cursor_position = place
            assert app.field.cursor_position in places


@given(st.text(max_size=20))
def test_no_control_character_gets_into_a_field(text: str) -> None:
    value = ClusterInput.validate_value(ClusterInput.__new__(ClusterInput), text)
    assert safe_text(value) == value
    assert "\n" not in value


async def test_a_paste_is_one_line_without_control_characters() -> None:
    app = OneField()
    async with app.run_test(size=(40, 5)) as pilot:
        app.field.post_message(events.Paste("a\x1b[31mb\nc"))
        await pilot.pause()
        assert app.field.value == "a␛[31mb c"
        app.field.select_all()
        app.field.post_message(events.Paste("x"))
        await pilot.pause()
        assert app.field.value == "x"


async def test_every_field_of_the_app_is_one() -> None:
    app: Any = chat_app(FakeSession())
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        app.push_screen(
            ChatsScreen(ChatsDesk(FakeSession().archive, lambda _chat, _title: None, lambda: 0.0), "", lambda: 0.0, str)
        )
        await until(pilot, lambda: isinstance(app.screen, ChatsScreen))
        fields = [*chat(app).query(Input), *app.screen.query(Input)]
        assert len(fields) > 3
        assert all(isinstance(field, ClusterInput) for field in fields)
