"""/verify in the app: progress in a line, stopped by Esc, prompts wait, and the chat is as it was."""

from __future__ import annotations

from typing import Any

from textual.pilot import Pilot

from mtpchat.events import Failed, Worked, Working
from mtpchat.ui.page_screen import PageScreen
from mtpchat.ui.widgets.messages import ErrorBlock, Notice
from tests.ui.conftest import chat, chat_app, seen, settled, until
from tests.ui.fake_session import FakeSession, Pause, says

BEGUN = Working("", 0, 12)
HALF = Working("mtp 2, code-primes", 6, 12)
DONE = Worked("12 answers compared. Lossless.", "Verify", "**Lossless.** Here is the table.")


async def say(pilot: Pilot[Any], text: str) -> None:
    chat(pilot.app).prompt.load_text(text)
    await pilot.press("enter")
    await pilot.pause()


def line(pilot: Pilot[Any]) -> str:
    found = [str(one.content) for one in chat(pilot.app).query(Notice) if str(one.content).startswith("/verify")]
    return found[-1] if found else ""


async def test_a_line_says_how_far_it_is_and_a_page_what_was_found() -> None:
    pause = Pause()
    session = FakeSession([says("Before.")], jobs=[[BEGUN, HALF, pause, DONE]])
    app = chat_app(session)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await say(pilot, "Hello")
        await settled(pilot)
        before = session.messages
        await say(pilot, "/verify 1-2 16")
        await until(pilot, lambda: "6 of 12" in line(pilot))
        assert line(pilot) == "/verify 1-2 16  6 of 12 · mtp 2, code-primes · Esc stops"
        assert "6 of 12 · mtp 2, code-primes" in seen(app)
        assert "stop" in seen(app).splitlines()[-1]
        pause.gate.set()
        await until(pilot, lambda: isinstance(app.screen, PageScreen))
        assert "Here is the table." in seen(app)
        await pilot.press("escape")
        await settled(pilot)
        assert line(pilot) == "/verify 1-2 16  12 answers compared. Lossless."
        assert session.messages == before


async def test_esc_stops_it_and_no_page_is_shown() -> None:
    session = FakeSession(jobs=[[BEGUN, HALF, Pause(), DONE]])
    app = chat_app(session)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await say(pilot, "/verify")
        await until(pilot, lambda: "6 of 12" in line(pilot))
        assert chat(app).turns.can_stop
        assert not chat(app).turns.running
        await pilot.press("escape")
        await settled(pilot)
        assert line(pilot) == "/verify  Stopped as planned."
        assert not isinstance(app.screen, PageScreen)
        assert not session.busy


async def test_a_prompt_sent_meanwhile_is_answered_afterwards() -> None:
    pause = Pause()
    session = FakeSession([says("Afterwards.")], jobs=[[BEGUN, pause, Worked("Done.")]])
    app = chat_app(session)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await say(pilot, "/verify")
        await until(pilot, pause.reached.is_set)
        await say(pilot, "What now?")
        assert session.sent == []
        assert "1 · What now?" in seen(app)
        pause.gate.set()
        await until(pilot, lambda: session.sent == ["What now?"])
        await settled(pilot)
        assert "Afterwards." in seen(app)


async def test_a_prompt_that_waits_comes_back_when_it_is_stopped() -> None:
    session = FakeSession(jobs=[[BEGUN, Pause(), DONE]])
    app = chat_app(session)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await say(pilot, "/verify")
        await say(pilot, "What now?")
        await pilot.press("escape")
        await settled(pilot)
        assert chat(app).prompt.text == "What now?"
        assert session.sent == []


async def test_a_model_that_is_loaded_meanwhile_ends_it() -> None:
    pause = Pause()
    app = chat_app(FakeSession(jobs=[[BEGUN, pause, DONE]]))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await say(pilot, "/verify")
        await until(pilot, pause.reached.is_set)
        chat(app).turns.load()
        await settled(pilot)
        assert line(pilot) == "/verify  Stopped as planned."


async def test_a_second_one_has_to_wait() -> None:
    pause = Pause()
    app = chat_app(FakeSession(jobs=[[BEGUN, pause, Worked("Done.")]]))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await say(pilot, "/verify")
        await until(pilot, pause.reached.is_set)
        await say(pilot, "/verify")
        await until(pilot, lambda: len(app.screen.query(ErrorBlock)) == 1)
        assert "has to wait" in app.screen.query_one(ErrorBlock).what
        pause.gate.set()
        await settled(pilot)
        assert line(pilot) == "/verify  Done."


async def test_what_goes_wrong_is_an_error_in_the_chat_which_goes_on() -> None:
    session = FakeSession([says("Still here.")], jobs=[[BEGUN, Failed("The context is full.", "Use -c.")]])
    app = chat_app(session)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await say(pilot, "/verify")
        await settled(pilot)
        assert app.screen.query_one(ErrorBlock).what == "The context is full."
        await say(pilot, "Hello")
        await settled(pilot)
        assert "Still here." in seen(app)


async def test_a_change_that_was_found_is_a_warning() -> None:
    app = chat_app(FakeSession(jobs=[[BEGUN, Worked("Not lossless here.", "Verify", "MISMATCH", warning=True)]]))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await say(pilot, "/verify")
        await until(pilot, lambda: isinstance(app.screen, PageScreen))
        assert [str(one.content) for one in chat(app).query(".notice.-warning")] == ["/verify  Not lossless here."]


async def test_without_a_model_there_is_nothing_to_verify() -> None:
    app = chat_app(FakeSession(load=[Failed("There is no such file.")]))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await say(pilot, "/verify")
        await until(pilot, lambda: len(app.screen.query(ErrorBlock)) == 2)
        assert "No model is loaded" in app.screen.query(ErrorBlock).last().what
