"""Ctrl+C leaves whatever lies over the chat, and the screen of chats says itself why it cannot open one."""

from __future__ import annotations

import pytest

from mtpchat.store.chat_store import ChatStore
from mtpchat.ui.chats_screen import ChatsScreen
from mtpchat.ui.page_screen import PageScreen
from mtpchat.ui.theme_picker import ThemePicker
from tests.ui.conftest import chat, chat_app, seen, settled, until
from tests.ui.fake_session import FakeSession, Pause, says
from tests.ui.test_chats_screen import app_on, listed, opened, path, store, toasts  # noqa: F401  two are fixtures


@pytest.mark.parametrize(("command", "kind"), [("/help", PageScreen), ("/theme", ThemePicker)])
async def test_ctrl_c_closes_what_lies_over_the_chat(command: str, kind: type) -> None:
    app = chat_app(FakeSession())
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await chat(app).run_command(command)
        await until(pilot, lambda: isinstance(app.screen, kind))
        await pilot.press("ctrl+c")
        await until(pilot, lambda: app.screen is chat(app))
        assert app.is_running


async def test_ctrl_c_leaves_the_chats(store: ChatStore) -> None:  # noqa: F811
    app, _ = app_on(store)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await pilot.press("ctrl+c")
        await until(pilot, lambda: not isinstance(app.screen, ChatsScreen))


async def test_another_chat_is_refused_here_while_an_answer_is_written(store: ChatStore) -> None:  # noqa: F811
    wait = Pause()
    app, session = app_on(store, [wait, *says("Done.")])
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press(*"hi", "enter")
        await until(pilot, wait.reached.is_set)
        await pilot.press("ctrl+o")
        await until(pilot, lambda: isinstance(app.screen, ChatsScreen))
        screen = app.screen
        assert isinstance(screen, ChatsScreen)
        await listed(pilot, screen)
        await pilot.press("enter")
        await until(pilot, lambda: "being written" in "".join(toasts(app)))
        assert app.screen is screen
        wait.gate.set()
        await until(pilot, lambda: not session.busy)
        await pilot.press("enter")
        await until(pilot, lambda: not isinstance(app.screen, ChatsScreen))


async def test_ctrl_c_stops_an_answer_first() -> None:
    wait = Pause()
    app = chat_app(session := FakeSession([[wait, *says("Done.")]]))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press(*"hi", "enter")
        await until(pilot, wait.reached.is_set)
        await pilot.press("ctrl+c")
        await settled(pilot)
        assert not session.busy
        assert app.is_running
        assert "once more to quit" in seen(app)
        await pilot.press("ctrl+c")
    assert not app.is_running


async def test_who_reads_while_an_answer_comes_is_told_how_to_stop_it() -> None:
    wait = Pause()
    app = chat_app(FakeSession([[wait, *says("Done.")]]))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press(*"hi", "enter")
        await until(pilot, wait.reached.is_set)
        await pilot.press("tab")
        assert "^C stop" in seen(app)
        wait.gate.set()
        await settled(pilot)
        await until(pilot, lambda: "^C stop" not in seen(app))
