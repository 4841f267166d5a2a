"""Versions of messages on the screen, over a real session: edited, answered anew, walked between, taken back."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from textual.pilot import Pilot

from mtpchat.chats import ChatLine, KeptChat, Said
from mtpchat.engine.service import EngineService
from mtpchat.engine.session import Session
from mtpchat.errors import ModelUnreadable
from mtpchat.ui.app import MtpChatApp
from mtpchat.ui.widgets.messages import ErrorBlock, Notice
from tests.fakes import FakeEngine, Gate
from tests.ui.conftest import STILL, chat, chat_app, seen, settled, until


@asynccontextmanager
async def running(engine: FakeEngine, *prompts: str) -> AsyncIterator[tuple[MtpChatApp, Pilot[object], Session]]:
    """The app, in which these prompts have been answered."""
    service = EngineService(lambda: engine, rest_s=0)
    service.start()
    try:
        session = Session(service, STILL, lambda: 5)
        app = chat_app(session)  # type: ignore[arg-type]
        async with app.run_test(size=(80, 40)) as pilot:
            await settled(pilot)
            for prompt in prompts:
                answered = len(session.messages) + 2
                chat(app).prompt.put(prompt)
                await pilot.press("enter")
                await until(pilot, lambda wanted=answered: len(session.messages) == wanted)  # type: ignore[misc]
                await settled(pilot)
            yield app, pilot, session
    finally:
        service.close()


def words(session: Session) -> list[str]:
    return [one.content for one in session.messages]


async def test_a_message_is_edited_in_the_prompt_and_sent_as_another_version() -> None:
    async with running(FakeEngine("First.", "Second.", "Third."), "one", "two") as (app, pilot, session):
        await chat(app).run_command("/edit 1")
        assert chat(app).prompt.text == "one"
        assert "esc" in seen(app)
        await pilot.press(*" more", "enter")
        await until(pilot, lambda: words(session) == ["one more", "Third."])
        await settled(pilot)
        assert "‹ 2/2 ›" in seen(app)
        assert "Second." not in seen(app)
        assert chat(app).prompt.text == ""
        await chat(app).run_command("/branch 1")
        await until(pilot, lambda: "Second." in seen(app) and "‹ 1/2 ›" in seen(app))
        assert words(session) == ["one", "First.", "two", "Second."]


async def test_escape_gives_an_edit_up_and_what_was_being_typed_is_back() -> None:
    async with running(FakeEngine("First."), "one") as (app, pilot, session):
        await pilot.press(*"half a thought")
        await chat(app).run_command("/edit")
        assert chat(app).prompt.text == "one"
        await pilot.press("escape")
        assert chat(app).prompt.text == "half a thought"
        assert words(session) == ["one", "First."]


async def test_an_edit_with_its_text_is_answered_at_once() -> None:
    async with running(FakeEngine("First.", "Second."), "one") as (app, pilot, session):
        await chat(app).run_command("/edit uno")
        await until(pilot, lambda: words(session) == ["uno", "Second."])
        await settled(pilot)
        assert "‹ 2/2 ›" in seen(app)


async def test_an_early_message_is_answered_anew_with_settings_of_its_own() -> None:
    engine = FakeEngine("First.", "Second.", "Third.")
    async with running(engine, "one", "two") as (app, pilot, session):
        await chat(app).run_command("/retry 1 temperature=1.5 seed=42")
        await until(pilot, lambda: words(session) == ["one", "Third."])
        await settled(pilot)
        assert (engine.requests[-1].sampling.temperature, engine.requests[-1].sampling.seed) == (1.5, 42)
        assert "two" not in seen(app)
        assert "‹ 2/2 ›" in seen(app)


async def test_an_answer_anew_that_is_stopped_at_once_brings_all_that_followed_back() -> None:
    engine = FakeEngine("First.", "Second.")
    async with running(engine, "one", "two") as (app, pilot, session):
        gate = Gate()
        engine.gate_prefill(gate)
        await chat(app).run_command("/retry 1")
        await until(pilot, gate.reached.is_set)
        await pilot.press("escape")
        await settled(pilot)
        gate.open()
        assert words(session) == ["one", "First.", "two", "Second."]
        await until(pilot, lambda: "Second." in seen(app))


async def test_what_is_taken_back_comes_back() -> None:
    async with running(FakeEngine("First.", "Second."), "one", "two") as (app, pilot, session):
        await chat(app).run_command("/undo")
        await until(pilot, lambda: "Second." not in seen(app))
        assert chat(app).prompt.text == "two"
        await chat(app).run_command("/redo")
        await until(pilot, lambda: "Second." in seen(app))
        assert words(session) == ["one", "First.", "two", "Second."]
        assert chat(app).prompt.text == "", "it stands in the chat again"
        await chat(app).run_command("/undo")
        chat(app).prompt.put("two and a half")
        await chat(app).run_command("/redo")
        assert chat(app).prompt.text == "two and a half"


@pytest.mark.parametrize("line", ["/edit uno", "/retry", "/retry 1 seed=3"])
async def test_without_a_model_nothing_is_asked_and_that_is_said(line: str) -> None:
    service = EngineService(lambda: FakeEngine(facts=ModelUnreadable("Not a GGUF.")), rest_s=0)
    service.start()
    try:
        session = Session(service, STILL)
        path = (Said("a", "", "user", "one"), Said("b", "a", "assistant", "First."))
        session.resume(KeptChat(ChatLine(1, "cafe11111111", "one", 0.0, 0.0, 2), path))
        app = chat_app(session)  # type: ignore[arg-type]
        async with app.run_test(size=(80, 24)) as pilot:
            await settled(pilot)
            await until(pilot, lambda: "Not a GGUF." in seen(app))
            await chat(app).run_command(line)
            await until(pilot, lambda: "No model is loaded" in seen(app))
            assert words(session) == ["one", "First."]
            assert len(chat(app).turns.line) == 0
    finally:
        service.close()


async def test_the_figures_of_an_answer_are_there_again_when_one_walks_back_to_it() -> None:
    async with running(FakeEngine("First of three.", "Second."), "one") as (app, pilot, _session):
        assert "3 tokens" in seen(app)
        await chat(app).run_command("/retry")
        await settled(pilot)
        await until(pilot, lambda: "1 token" in seen(app) and "3 tokens" not in seen(app))
        await chat(app).run_command("/branch 1")
        await until(pilot, lambda: "3 tokens" in seen(app) and "‹ 1/2 ›" in seen(app))
        await chat(app).run_command("/amend Mine.")
        await until(pilot, lambda: "Mine." in seen(app))
        assert "token" not in seen(app)


async def test_an_answer_in_the_users_words_stands_beside_the_first() -> None:
    async with running(FakeEngine("First."), "one") as (app, pilot, session):
        await chat(app).run_command("/amend Better.")
        await until(pilot, lambda: "Better." in seen(app) and "‹ 2/2 ›" in seen(app))
        assert words(session) == ["one", "Better."]


async def test_a_command_can_be_typed_in_place_of_what_was_taken_back() -> None:
    async with running(FakeEngine("First.", "Second."), "one", "two") as (app, pilot, session):
        await chat(app).run_command("/undo")
        assert chat(app).prompt.text == "two"
        await pilot.press(*"/redo", "enter")
        await until(pilot, lambda: words(session) == ["one", "First.", "two", "Second."])
        assert chat(app).prompt.text == ""
        await chat(app).run_command("/undo")
        await pilot.press(*" a/b")
        assert chat(app).prompt.text == "two a/b"


async def test_what_a_command_was_typed_in_place_of_stands_in_the_prompt_again() -> None:
    async with running(FakeEngine("First.", "Second."), "one", "two") as (app, pilot, session):
        await chat(app).run_command("/undo")
        await pilot.press(*"/seed", "enter")
        await until(pilot, lambda: "Seed" in seen(app) or "seed" in seen(app))
        await until(pilot, lambda: chat(app).prompt.text == "two")
        await pilot.press(*"/u", "backspace", "backspace")
        await until(pilot, lambda: chat(app).prompt.text == "two")
        await pilot.press(*"/undo", "enter")
        await until(pilot, lambda: chat(app).prompt.text == "one")
        assert words(session) == []
        await pilot.press(*"/redo", "enter")
        await until(pilot, lambda: words(session) == ["one", "First."])
        assert chat(app).prompt.text == ""
        await pilot.press(*"/redo", "enter")
        await until(pilot, lambda: words(session) == ["one", "First.", "two", "Second."])


async def test_a_refusal_goes_with_the_next_thing_that_is_said() -> None:
    async with running(FakeEngine("First.", "Second."), "one") as (app, pilot, session):
        await chat(app).run_command("/redo")
        await chat(app).run_command("/nonsense")
        assert len(app.screen.query(ErrorBlock)) == 1
        assert "/nonsense" in app.screen.query_one(ErrorBlock).what
        chat(app).prompt.put("two")
        await pilot.press("enter")
        await until(pilot, lambda: len(words(session)) == 4)
        await settled(pilot)
        assert not app.screen.query(ErrorBlock)


async def test_the_keys_for_versions_are_named_where_there_are_some() -> None:
    async with running(FakeEngine("First.", "Second."), "one") as (app, pilot, session):
        await pilot.press("tab")
        assert "hl versions" not in seen(app)
        await pilot.press("r")
        await until(pilot, lambda: words(session) == ["one", "Second."])
        await settled(pilot)
        await until(pilot, lambda: "hl versions" in seen(app))


async def test_the_same_command_once_more_does_not_pile_up() -> None:
    async with running(FakeEngine("First."), "one") as (app, pilot, _session):
        for _ in range(3):
            await pilot.press("f2")
        await chat(app).run_command("/seed")
        texts = [str(one.content) for one in app.screen.query(Notice)]
        assert [text.split()[0] for text in texts if text.startswith("/")] == ["/mtp", "/seed"]
