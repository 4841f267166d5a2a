"""What is painted can be read, in every theme: measured on the screen, where rules, defaults and dimming have met."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from textual.color import Color
from textual.geometry import Region
from textual.pilot import Pilot

from mtpchat.events import Failed, StatsTick, TextDelta
from mtpchat.messages import Message
from mtpchat.store.chat_store import ChatStore
from mtpchat.ui.app import MtpChatApp
from mtpchat.ui.chats_screen import ChatsScreen
from mtpchat.ui.contrast import READABLE, contrast
from mtpchat.ui.themes import load_themes
from tests.store.talk import Talk
from tests.ui.conftest import STILL, chat, chat_app, seen, settled, until
from tests.ui.demo_app import ANSWER, THOUGHTS
from tests.ui.fake_session import REPORT, STATS, FakeSession, says

PAINTED = [name for name, theme in load_themes(None).themes.items() if not theme.ansi]
WORDS = re.compile(r"\w")
Scene = Callable[[Pilot[Any]], Awaitable[str]]
"""Brings something on the screen; gives the selector of the widget that it is in."""


def faint(app: MtpChatApp, region: Region) -> dict[str, float]:
    """Texts within a region whose contrast is too low, with that contrast."""
    found: dict[str, float] = {}
    for y, strip in enumerate(app.screen._compositor.render_strips(app.size)):
        if not region.y <= y < region.bottom:
            continue
        for segment in strip.crop(region.x, region.right):
            style = segment.style
            if not WORDS.search(segment.text) or style is None or style.color is None or style.bgcolor is None:
                continue
            colours = [style.color, style.bgcolor][:: -1 if style.reverse else 1]
            text, ground = (Color(*one.get_truecolor()) for one in colours)
            if contrast(text, ground) < READABLE - 0.05:  # rounding of blended colours
                found[segment.text.strip()] = round(contrast(text, ground), 2)
    return found


async def _answer(pilot: Pilot[Any]) -> str:
    await pilot.press(*"why", "enter")
    await settled(pilot)
    await pilot.press("tab", "t")
    return "ChatScreen"


async def _beginning(pilot: Pilot[Any]) -> str:
    await _answer(pilot)
    await pilot.press("g")
    return "ChatScreen"


async def _error(pilot: Pilot[Any]) -> str:
    for _ in range(2):
        await _answer(pilot)
        await pilot.press("escape")
    await pilot.press(*"/mtpp", "enter", *"/m")
    return "ChatScreen"


async def _match(pilot: Pilot[Any]) -> str:
    await _answer(pilot)
    await pilot.press("ctrl+f", *"river")
    return "ChatScreen"


async def _panel(pilot: Pilot[Any]) -> str:
    await _answer(pilot)
    await pilot.press("f4")
    return "ChatScreen"


async def _origin(pilot: Pilot[Any]) -> str:
    await pilot.press("f3")
    await _answer(pilot)
    return "ChatScreen"


async def _palette(pilot: Pilot[Any]) -> str:
    await pilot.press("ctrl+p", *"th")
    await until(pilot, lambda: "whether, or how much" in seen(pilot.app))  # type: ignore[arg-type]
    return "CommandList"


async def _themes(pilot: Pilot[Any]) -> str:
    chat(pilot.app).chat_app.pick_theme()
    await pilot.pause()
    return "#themes"


async def _help(pilot: Pilot[Any]) -> str:
    await pilot.press("f1")
    await pilot.pause()
    return "#page"


async def _chats(pilot: Pilot[Any]) -> str:
    await pilot.press("ctrl+o")
    await until(pilot, lambda: isinstance(pilot.app.screen, ChatsScreen) and not pilot.app.screen.looking)
    await pilot.press(*"ri")
    await until(pilot, lambda: isinstance(pilot.app.screen, ChatsScreen) and not pilot.app.screen.looking)
    return "#picker"


@pytest.mark.parametrize(
    "scene", [_answer, _beginning, _error, _match, _panel, _origin, _palette, _themes, _help, _chats]
)
async def test_every_text_on_the_screen_can_be_read_in_every_theme(scene: Scene, tmp_path: Path) -> None:
    parts = [ANSWER[at : at + 7] for at in range(0, len(ANSWER), 7)]
    sources = ("", "mtp", "draft", "ngram", "eagle3")
    guessed = [TextDelta(part, drafted=sources[at % 5]) for at, part in enumerate(parts)]
    done = says(ANSWER, thinking=THOUGHTS)[-1]
    failed = Failed("It failed", "Do this.", Message("assistant", "half", complete=False), STATS)
    session = FakeSession(
        [[TextDelta(THOUGHTS, "thinking"), *guessed, StatsTick(STATS, REPORT), done], [TextDelta("half"), failed]],
        config=STILL,
    )
    session.archive = store = ChatStore(tmp_path / "chats.db")
    Talk(store, "rivers000000").turn("Why do rivers meander?", ANSWER)
    app = chat_app(session)
    async with app.run_test(size=(110, 40)) as pilot:
        await settled(pilot)
        selector = await scene(pilot)
        await pilot.pause()
        shown = app.screen if selector == "ChatScreen" else app.screen.query_one(selector)
        low: dict[str, dict[str, float]] = {}
        for theme in PAINTED:
            app.choose_theme(theme)
            await pilot.pause()
            low[theme] = faint(app, shown.region)
        assert not {theme: found for theme, found in low.items() if found}
    store.close()
