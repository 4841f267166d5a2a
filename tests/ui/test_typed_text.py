"""What was typed and not sent stays somewhere, whatever else wants the prompt; and nothing in it is obeyed."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual import events

from mtpchat.config import Config, UiConfig
from mtpchat.messages import Message
from mtpchat.paths import drafts_dir
from mtpchat.ui.app import MtpChatApp
from mtpchat.ui.chips import Written
from tests.ui.conftest import MODEL, chat, chat_app, seen, settled, until
from tests.ui.fake_session import FakeSession, Pause, says

STILL = Config(model=MODEL, ui=UiConfig(reduced_motion=True))


async def test_a_command_that_is_begun_from_the_palette_leaves_what_was_typed_to_the_history() -> None:
    app = chat_app(FakeSession(config=STILL))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press(*"half")
        chat(app).fill_prompt("/export ")
        await pilot.pause()
        assert chat(app).prompt.text == "/export "
        assert chat(app).menu.is_open
        await pilot.press("ctrl+u", "up")
        assert chat(app).prompt.text == "half"


async def test_a_message_that_is_taken_back_stands_above_what_was_typed() -> None:
    session = FakeSession([says("Rivers bend.")], config=STILL)
    app = chat_app(session)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press(*"why", "enter")
        await settled(pilot)
        await pilot.press(*"half")
        await chat(app).run_command("/undo")
        await until(pilot, lambda: chat(app).prompt.text == "why\n\nhalf")


async def test_an_edit_that_is_refused_gives_back_what_had_been_typed_before_it() -> None:
    session = FakeSession([says("Rivers bend.")], config=STILL)
    app = chat_app(session)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press(*"why", "enter")
        await settled(pilot)
        await pilot.press(*"half", "tab", "left_square_bracket", "e")
        await until(pilot, lambda: chat(app).prompt.text == "why")
        session.facts = None  # the model has gone meanwhile
        await pilot.press("!", "enter")
        await until(pilot, lambda: chat(app).prompt.text == "why!\n\nhalf")


async def test_leaving_stops_the_answer_at_once_and_sends_nothing_that_waits() -> None:
    pause = Pause()
    session = FakeSession([[pause, *says("a")], says("b")], config=STILL)
    app = chat_app(session)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        for text in ("one", "two"):
            await pilot.press(*text, "enter")
        await until(pilot, pause.reached.is_set)
        app.exit()
        await until(pilot, lambda: not app.is_running)
    assert session.sent == ["one"]
    (draft,) = drafts_dir().glob("*.json")
    assert '"two"' in draft.read_text()


def with_template(folder: Path, text: str) -> MtpChatApp:
    (folder / "prompts").mkdir()
    (folder / "prompts" / "mine.toml").write_text(text)
    return chat_app(FakeSession(config=STILL), config_path=str(folder / "config.toml"))


async def test_a_template_cannot_send_anything_to_the_terminal(tmp_path: Path) -> None:
    app = with_template(tmp_path, 'text = "a\\u001b[2Jb {topic}"\n')
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await chat(app).run_command("/prompt mine")
        await pilot.pause()
        assert chat(app).prompt.text == "a␛[2Jb {topic}"
        assert "\x1b" not in seen(app)


async def test_nor_can_a_message_that_is_edited() -> None:
    session = FakeSession(config=STILL)
    session.messages = (Message("user", "a\x1b[2Jb\r\nc"),)
    app = chat_app(session)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("tab", "left_square_bracket", "e")
        await until(pilot, lambda: bool(chat(app).prompt.text))
        assert chat(app).prompt.text == "a␛[2Jb\nc"


async def test_what_is_sent_is_what_was_folded_not_how_it_is_shown() -> None:
    app = chat_app(FakeSession(config=STILL))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        prompt = chat(app).prompt
        prompt.put(Written("a\x1bb\x00c", ((1, 5),)))
        assert prompt.text == "a⟦paste 1: 4 characters⟧"
        assert prompt.written.text == "a\x1bb\x00c"


@pytest.mark.parametrize(
    ("keys", "found", "typed"), [("/their", "their", ""), ("ihere", "", "here"), ("Where", "", "Where")]
)
async def test_what_is_typed_at_once_behind_a_key_that_leaves_the_chat_acts_on_no_message(
    keys: str, found: str, typed: str
) -> None:
    session = FakeSession([says("Rivers bend.")], config=STILL)
    app = chat_app(session)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press(*"why", "enter")
        await settled(pilot)
        await pilot.press("tab")
        await until(pilot, lambda: chat(app).transcript.has_focus)
        for letter in keys:  # all of them are there before the first is looked at
            chat(app).transcript.post_message(events.Key("slash" if letter == "/" else letter, letter))
        await until(pilot, lambda: chat(app).prompt.text == typed)
        await until(pilot, lambda: chat(app).reading.find_bar.field.value == found)
        await settled(pilot)
        assert len(session.messages) == 2
        await pilot.press("x")
        assert (chat(app).reading.find_bar.field if found else chat(app).prompt).has_focus
        assert chat(app).prompt.text == (typed and typed + "x")
