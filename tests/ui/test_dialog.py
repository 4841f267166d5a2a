"""Screens over the chat are left once, however often they are told to."""

from __future__ import annotations

import pytest
from textual.screen import Screen

from mtpchat.ui.chat_screen import ChatScreen
from mtpchat.ui.dialog import Dialog
from tests.ui.conftest import STILL, chat, chat_app, settled, until
from tests.ui.fake_session import FakeSession


async def test_a_dialog_that_is_left_twice_leaves_what_is_below_alone() -> None:
    app = chat_app(FakeSession(config=STILL))
    answers: list[str | None] = []
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        lower, upper = Dialog[str](), Dialog[str]()
        app.push_screen(lower, answers.append)
        await app.push_screen(upper, answers.append)
        for answer in ("first", "second"):
            upper.dismiss(answer)
        await until(pilot, lambda: app.screen is lower)
        lower.dismiss("below")
        lower.dismiss("again")
        await until(pilot, lambda: isinstance(app.screen, ChatScreen))
        assert answers == ["first", "below"]


@pytest.mark.parametrize("command", ["/help", "/theme"])
async def test_every_screen_takes_more_than_one_escape(command: str) -> None:
    app = chat_app(FakeSession(config=STILL))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await chat(app).run_command(command)
        await until(pilot, lambda: not isinstance(app.screen, ChatScreen))
        screen: Screen[object] = app.screen
        screen.dismiss()
        screen.dismiss()
        await until(pilot, lambda: isinstance(app.screen, ChatScreen))
