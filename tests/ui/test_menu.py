"""Slash commands: the menu, the palette, and what they do to the screen."""

from __future__ import annotations

import pytest
from textual import events

from mtpchat.config import Config, UiConfig
from tests.ui.conftest import MODEL, STILL, chat, chat_app, seen, settled, until
from tests.ui.fake_session import FakeSession, says


async def test_the_menu_completes_commands_and_their_arguments() -> None:
    app = chat_app(FakeSession())
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press(*"/dra")
        await pilot.pause()
        menu, prompt = chat(app).menu, chat(app).prompt
        assert menu.marked is not None
        assert menu.marked.label == "/draft"
        assert "› /draft" in seen(app)
        await pilot.press("tab")
        await pilot.pause()
        assert prompt.text == "/draft "
        assert menu.is_open
        assert menu.marked is None
        await pilot.press("down", "enter")
        await settled(pilot)
        assert prompt.text == ""
        assert "/draft" in seen(app)


async def test_enter_runs_what_was_typed_when_no_argument_is_marked() -> None:
    app = chat_app(FakeSession())
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press(*"/mtp", "space", "enter")
        await settled(pilot)
        assert "Speculation is" in seen(app)


@pytest.mark.parametrize("line", ["/mtp", "/theme paper", "/draft 2"])
async def test_a_command_typed_in_one_burst_is_the_one_that_runs(line: str) -> None:
    app = chat_app(FakeSession([says("kept")]))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press(*"hi", "enter")
        await settled(pilot)
        prompt = chat(app).prompt
        for _ in range(2):  # the second time the text was seen before, and its line takes the place of the first
            await pilot.press("/")
            await until(pilot, lambda: chat(app).menu.is_open)
            for character in line[1:]:
                prompt.post_message(events.Key("space" if character == " " else character, character))
            prompt.post_message(events.Key("enter", "\r"))
            await until(pilot, lambda: not prompt.text and not chat(app).menu.is_open)
        assert "kept" in seen(app)
        assert seen(app).count(line) == 1


async def test_the_menu_shows_eight_rows_at_most_and_scrolls() -> None:
    app = chat_app(FakeSession())
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("/")
        await pilot.pause()
        menu = chat(app).menu
        assert menu.size.height == 8
        for _ in range(9):
            await pilot.press("down")
        assert menu.marked is not None
        assert f"› {menu.marked.label}" in seen(app)


@pytest.mark.parametrize("size", [(60, 20), (30, 12), (160, 48)])
async def test_the_menu_opens_right_above_the_prompt(size: tuple[int, int]) -> None:
    app = chat_app(FakeSession())
    async with app.run_test(size=size) as pilot:
        await settled(pilot)
        await pilot.press("/")
        await pilot.pause()
        assert chat(app).menu.region.bottom == chat(app).prompt.region.y
        assert chat(app).menu.region.y >= 0


async def test_escape_closes_the_menu_and_leaves_the_text() -> None:
    app = chat_app(FakeSession())
    async with app.run_test() as pilot:
        await settled(pilot)
        await pilot.press("/", "h", "escape")
        await pilot.pause()
        assert not chat(app).menu.is_open
        assert chat(app).prompt.text == "/h"
        await pilot.press("e")
        await pilot.pause()
        assert chat(app).menu.is_open


async def test_a_row_can_be_clicked() -> None:
    app = chat_app(FakeSession())
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press(*"/dra")
        await pilot.pause()
        await pilot.click(chat(app).menu, offset=(4, 0))
        await pilot.pause()
        assert chat(app).prompt.text == "/draft "


async def test_an_unknown_command_names_the_nearest() -> None:
    app = chat_app(FakeSession())
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press(*"/undoo", "enter")
        await settled(pilot)
        assert "/undo" in seen(app).replace("/undoo", "")


async def test_a_path_is_a_message_and_not_a_command() -> None:
    session = FakeSession()
    app = chat_app(session)
    async with app.run_test() as pilot:
        await settled(pilot)
        await pilot.press(*"/etc/hosts", "enter")
        await settled(pilot)
        assert session.sent == ["/etc/hosts"]


async def test_the_palette_offers_commands_and_themes() -> None:
    app = chat_app(FakeSession(config=STILL))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("ctrl+p")
        await pilot.press(*"paper")
        await app.workers.wait_for_complete()
        await pilot.pause()
        await pilot.press("enter")
        await pilot.pause()
        await settled(pilot)
        assert app.theme_name == "paper"


async def test_help_is_a_page_that_escape_closes() -> None:
    app = chat_app(FakeSession())
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("f1")
        await pilot.pause()
        assert "In the prompt" in seen(app)
        await pilot.press("escape")
        await pilot.pause()
        assert len(app.screen_stack) == 1


async def test_undo_puts_the_message_back_into_the_prompt() -> None:
    app = chat_app(FakeSession([says("answer")], config=Config(model=MODEL, ui=UiConfig(reduced_motion=True))))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press(*"hi", "enter")
        await settled(pilot)
        await pilot.press(*"/undo", "enter")
        await settled(pilot)
        assert chat(app).prompt.text == "hi"
        assert "answer" not in seen(app).replace("its answer", "")


async def test_f2_switches_speculation_off_and_on() -> None:
    session = FakeSession()
    app = chat_app(session)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("f2")
        await pilot.pause()
        assert session.control.mode == "off"
        assert "speculation off" in seen(app)
        await pilot.press("f2")
        assert session.control.mode == "auto"
