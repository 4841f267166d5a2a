"""F1 begins with the keys of the place where one is."""

from __future__ import annotations

from typing import get_args

import pytest
from textual import events

from mtpchat.commands.registry import all_commands
from mtpchat.ui.help_page import help_page
from mtpchat.ui.hints import Moment
from mtpchat.ui.keys import KEYS, shown_all
from mtpchat.ui.page_screen import PageScreen
from tests.ui.conftest import chat, chat_app, settled, until
from tests.ui.fake_session import FakeSession


@pytest.mark.parametrize("moment", get_args(Moment))
def test_every_key_and_every_command_is_on_the_page_wherever_one_is(moment: Moment) -> None:
    page = help_page(moment, {}).replace("\\", "")
    assert all(key.description in page for key in KEYS)
    assert all(command.usage.split()[0] in page for command in all_commands())


def test_keys_of_the_users_own_are_shown() -> None:
    assert "^E f9" in help_page("idle", {"editor": "ctrl+e,f9"}).replace("F9", "f9").replace("\\", "")


@pytest.mark.parametrize(
    ("key", "written"),
    [
        ("vi_end", "G End"),
        ("newline", "⇧⏎ ^J alt+⏎"),
        ("top", "^Home"),
        ("panel_up", "⇧PgUp ^PgUp"),
        ("find_here", "/"),
    ],
)
def test_keys_are_written_as_they_stand_on_a_keyboard(key: str, written: str) -> None:
    assert shown_all(key, {}) == written


async def test_f1_begins_with_the_keys_of_the_place() -> None:
    app = chat_app(FakeSession())
    async with app.run_test() as pilot:
        await settled(pilot)
        first: list[str] = []
        for keys in (("f1",), ("tab", "f1")):
            await pilot.press(*keys)
            await until(pilot, lambda: isinstance(app.screen, PageScreen))
            page = app.screen
            assert isinstance(page, PageScreen)
            first.append(next(line for line in page._markdown.splitlines() if line.startswith("## ")))
            await pilot.press("escape")
            await until(pilot, lambda: not isinstance(app.screen, PageScreen))
        assert first == ["## In the prompt", "## In the chat (Tab leads there)"]


@pytest.mark.parametrize("moment", ["waiting", "held", "editing", "quitting"])
def test_who_is_in_the_prompt_is_not_told_to_be_in_the_chat(moment: Moment) -> None:
    assert "You are in the chat" not in help_page(moment, {})


async def test_a_command_begun_on_a_page_is_typed_in_the_prompt_however_fast() -> None:
    app = chat_app(FakeSession())
    async with app.run_test() as pilot:
        await settled(pilot)
        for _ in range(2):
            await pilot.press("f1")
            await until(pilot, lambda: isinstance(app.screen, PageScreen))
            page = app.screen
            for letter in "/co":  # all of them reach the page before it is closed
                page.post_message(events.Key("slash" if letter == "/" else letter, letter))
            await until(pilot, lambda: chat(app).prompt.text == "/co")
            await pilot.press("n")
            assert chat(app).prompt.text == "/con"
            chat(app).prompt.give_back("kept")  # what was not sent gives way to the command


async def test_a_page_below_another_one_goes_on_when_it_is_on_top_again() -> None:
    app = chat_app(FakeSession())
    async with app.run_test() as pilot:
        await settled(pilot)
        pages = [PageScreen(title, "text", chat(app).prompt.insert) for title in ("below", "above")]
        for page in pages:
            await app.push_screen(page)
        pages[0].post_message(events.Key("slash", "/"))  # it was typed before the other one came
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is pages[0])
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is chat(app))


async def test_help_asked_for_twice_at_once_is_one_page() -> None:
    app = chat_app(FakeSession())
    async with app.run_test() as pilot:
        await settled(pilot)
        for _ in range(2):
            chat(app).post_message(events.Key("f1", None))
        await until(pilot, lambda: isinstance(app.screen, PageScreen))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is chat(app))
