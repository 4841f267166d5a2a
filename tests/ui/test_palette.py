"""The palette: keys stand beside what they do, and words of a description find it."""

from __future__ import annotations

from typing import Any

import pytest
from textual.command import CommandPalette
from textual.pilot import Pilot

from mtpchat.config import Config, UiConfig
from tests.ui.conftest import MODEL, STILL, chat, chat_app, seen, settled, until
from tests.ui.fake_session import FakeSession, says


async def asked(pilot: Pilot[Any], words: str = "") -> str:
    """What the palette shows for these words."""
    await settled(pilot)
    await pilot.press("ctrl+p")
    await until(pilot, lambda: isinstance(pilot.app.screen, CommandPalette))
    await pilot.press(*words)
    await pilot.app.workers.wait_for_complete()
    await pilot.pause()
    return seen(pilot.app)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("words", "first"),
    [("/chats", "/chats   ^O"), ("/help", "/help   F1"), ("/spec", "/spec   F4"), ("draw the screen", "^L")],
)
async def test_the_key_stands_beside(words: str, first: str) -> None:
    app = chat_app(FakeSession(config=STILL))
    async with app.run_test(size=(80, 24)) as pilot:
        assert first in await asked(pilot, words)


async def test_it_is_the_users_own_key() -> None:
    config = Config(model=MODEL, ui=UiConfig(reduced_motion=True), keys={"chats": "f6"})
    app = chat_app(FakeSession(config=config))
    async with app.run_test(size=(80, 24)) as pilot:
        assert "/chats   F6" in await asked(pilot, "/chats")


@pytest.mark.parametrize(
    ("words", "found"),
    [("carry on", "/continue"), ("system message", "/system"), ("fetch", "/pull"), ("colours", "Theme: ")],
)
async def test_words_of_a_description_find_it(words: str, found: str) -> None:
    app = chat_app(FakeSession(config=STILL))
    async with app.run_test(size=(80, 40)) as pilot:
        assert found in await asked(pilot, words)


async def test_an_action_that_has_no_command_can_be_chosen() -> None:
    app = chat_app(FakeSession([says("Rivers bend.")], config=STILL))
    async with app.run_test(size=(80, 24)) as pilot:
        await asked(pilot, "find words")
        await pilot.press("enter")
        await until(pilot, lambda: chat(app).reading.find_bar.is_open)
