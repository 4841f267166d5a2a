"""Fields of one line: the cursor goes by what is seen as one character, and nothing in them is obeyed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual import events
from textual.app import App, ComposeResult
from textual.widgets import Input

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


@given(st.text(max_size=20), st.lists(st.integers(-3, 30), max_size=6))
def test_the_cursor_is_never_inside_of_a_character_nor_a_control_character_in_the_text(
    text: str, to: list[int]
) -> None:
    field = ClusterInput()
    value = field.validate_value(text)
    assert safe_text(value) == value
    assert "\n" not in value
    field.set_reactive(Input.value, value)
    for place in to:
        start, end = field.validate_selection(type(field.selection)(place, place + 1))
        assert start in borders(value)
        assert end in borders(value)


async def test_a_paste_is_one_line_without_control_characters() -> None:
    app = OneField()
    async with app.run_test(size=(40, 5)) as pilot:
        app.field.post_message(events.Paste("a\x1b[31mb\nc"))
        await pilot.pause()
        assert app.field.value == "a␛[31mb c"
        await pilot.press("ctrl+a")
        app.field.post_message(events.Paste("x"))
        await pilot.pause()
        assert app.field.value == "x"


async def test_every_field_of_the_app_is_one() -> None:
    app: Any = chat_app(FakeSession())
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("ctrl+o")
        await until(pilot, lambda: app.screen is not chat(app))
        fields = [*chat(app).query(Input), *app.screen.query(Input)]
        assert len(fields) > 3
        assert all(isinstance(field, ClusterInput) for field in fields)
