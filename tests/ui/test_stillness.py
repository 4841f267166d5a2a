"""With reduced motion nothing moves by itself, and without colours the same things can be told apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from rich.style import Style
from textual.command import CommandPalette
from textual.pilot import Pilot
from textual.widgets import Input, TextArea

from tests.ui.conftest import STILL, chat, chat_app, settled, until
from tests.ui.fake_session import FakeSession, says


@pytest.fixture(params=["ctrl+p", "ctrl+f", "/model"])
def place(request: pytest.FixtureRequest) -> str:
    """What leads to a field."""
    return str(request.param)


async def test_no_cursor_blinks(place: str) -> None:
    app = chat_app(FakeSession([says("Rivers bend.")], config=STILL))
    async with app.run_test() as pilot:
        await settled(pilot)
        await pilot.press(*([*place, "enter"] if place.startswith("/") else [place]))
        await until(pilot, lambda: isinstance(app.focused, Input))
        assert not [one for one in app.screen.query(Input) if one.has_focus and one.cursor_blink]
        assert not [one for one in app.screen.query(TextArea) if one.has_focus and one.cursor_blink]


async def rows(pilot: Pilot[Any], wanted: Callable[[str], bool]) -> list[Style]:
    """The styles of those stretches of the screen whose text is wanted."""
    await pilot.pause()
    app = pilot.app
    strips = app.screen._compositor.render_strips(app.size)
    return [segment.style or Style() for strip in strips for segment in strip if wanted(segment.text)]


@pytest.fixture
def colourless(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")


@pytest.mark.usefixtures("colourless")
async def test_without_colours_the_found_words_are_reversed() -> None:
    app = chat_app(FakeSession([says("Rivers bend slowly.")], config=STILL))
    async with app.run_test() as pilot:
        await settled(pilot)
        await pilot.press(*"why", "enter")
        await settled(pilot)
        await pilot.press("ctrl+f", *"slowly", "enter")
        found = await rows(pilot, lambda text: text.strip() == "slowly")
        assert any(style.reverse for style in found)


@pytest.mark.usefixtures("colourless")
async def test_without_colours_nothing_has_one() -> None:
    app = chat_app(FakeSession([says("Rivers **bend** `x`.\n\n```python\nx = 1\n```\n\n> quote")], config=STILL))
    async with app.run_test() as pilot:
        await settled(pilot)
        await pilot.press(*"why", "enter")
        await settled(pilot)
        await pilot.press("tab", "K")
        assert chat(app).transcript.has_focus
        for style in await rows(pilot, lambda _text: True):
            assert style.color is None or style.color.is_default
            assert style.bgcolor is None or style.bgcolor.is_default


@pytest.mark.usefixtures("colourless")
async def test_without_colours_a_warning_is_bold_and_a_notice_is_not() -> None:
    app = chat_app(FakeSession(config=STILL))
    async with app.run_test() as pilot:
        await settled(pilot)
        await chat(app).presenter.notice("an ordinary line")
        await chat(app).presenter.notice("a warning", warning=True)
        assert all(style.bold for style in await rows(pilot, lambda text: "a warning" in text))
        assert not any(style.bold for style in await rows(pilot, lambda text: "an ordinary" in text))


@pytest.mark.usefixtures("colourless")
async def test_without_colours_the_marked_row_of_the_palette_is_underlined() -> None:
    app = chat_app(FakeSession(config=STILL))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("ctrl+p")
        await until(pilot, lambda: isinstance(app.screen, CommandPalette))
        await pilot.press(*"stat")
        await app.workers.wait_for_complete()
        found = await rows(pilot, lambda text: "stat" in text.casefold() and text.startswith("/"))
        marks = [bool(style.underline) for style in await rows(pilot, lambda text: text.strip() != "")]
        assert any(marks) or any(style.underline for style in found)
        assert not all(marks)
