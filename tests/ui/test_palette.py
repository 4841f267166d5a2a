"""The palette: keys stand beside what they do, and words of a description find it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from textual import events
from textual.command import CommandList, CommandPalette
from textual.pilot import Pilot

from mtpchat.config import Config, UiConfig
from mtpchat.ui.chat_screen import ChatScreen
from mtpchat.ui.page_screen import PageScreen
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


def sent_at_once(pilot: Pilot[Any], keys: Sequence[str]) -> None:
    """Keys that are all there before the first of them is looked at."""
    for key in keys:
        pilot.app.post_message(events.Key(key, key if len(key) == 1 else None))


@pytest.mark.parametrize(
    "keys",
    [
        ("ctrl+p", "enter", "enter", "enter", "enter"),
        ("ctrl+p", "escape", "escape", "escape"),
        ("ctrl+p", "escape", "ctrl+p", "escape", "escape", "ctrl+p", "a", "enter", "escape"),
        ("ctrl+p", "pagedown", "pagedown", "pageup", "escape"),
        ("ctrl+p", "a", "b", "backspace", "escape", "enter", "escape"),
    ],
)
async def test_keys_may_come_faster_than_it_opens_and_closes(keys: Sequence[str]) -> None:
    app = chat_app(FakeSession(config=STILL))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        sent_at_once(pilot, keys)
        await until(pilot, lambda: isinstance(app.screen, ChatScreen | PageScreen))
        await pilot.press("escape", "escape")
        await until(pilot, lambda: isinstance(app.screen, ChatScreen))


async def test_a_row_taken_twice_is_carried_out_once() -> None:
    app = chat_app(FakeSession(config=STILL))
    async with app.run_test(size=(80, 24)) as pilot:
        await asked(pilot, "/mtp")
        palette = app.screen
        rows = palette.query_one(CommandList)
        for _ in range(2):
            rows.post_message(CommandList.OptionSelected(rows, rows.get_option_at_index(0), 0))
        await until(pilot, lambda: isinstance(app.screen, ChatScreen) and chat(app).prompt.text == "/mtp ")
        assert palette.is_left  # type: ignore[attr-defined]
