"""A chat that fills the context: the screen says so in time, loses nothing, and asks before it changes anything."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from textual.pilot import Pilot
from textual.widgets import TextArea

from mtpchat.config import ChatsConfig, Config, UiConfig
from mtpchat.engine.service import EngineService
from mtpchat.engine.session import Session
from mtpchat.ui.app import MtpChatApp
from mtpchat.ui.compact_preview import CompactPreview
from mtpchat.ui.widgets.unread import UnreadLine
from tests.fakes import FakeEngine, Gate
from tests.ui.conftest import MODEL, chat, chat_app, seen, settled, until
from tests.ui.fake_session import FACTS

CONTEXT = 120
SMALL = replace(FACTS, context_size=CONTEXT, thinking=("on", "off"))
LARGER = replace(SMALL, context_size=400)


def _config(overflow: str = "stop") -> Config:
    return Config(
        model=MODEL,
        ui=UiConfig(reduced_motion=True),
        chats=ChatsConfig(save=False, overflow=overflow),  # type: ignore[arg-type]
    )


def _words(count: int, word: str = "word") -> str:
    return " ".join([word] * count)


@asynccontextmanager
async def _app(engine: FakeEngine, overflow: str = "stop") -> AsyncIterator[tuple[Pilot[Any], MtpChatApp, Session]]:
    service = EngineService(lambda: engine, rest_s=0)
    service.start()
    session = Session(service, _config(overflow))
    app = chat_app(session)  # type: ignore[arg-type]
    try:
        async with app.run_test(size=(100, 40)) as pilot:
            await until(pilot, lambda: session.facts is not None)
            await settled(pilot)
            yield pilot, app, session
    finally:
        service.close()


async def _say(pilot: Pilot[Any], app: MtpChatApp, text: str) -> None:
    chat(app).prompt.put(text)
    await pilot.press("enter")
    await settled(pilot)


async def _asked(pilot: Pilot[Any], app: MtpChatApp) -> CompactPreview:
    await until(pilot, lambda: isinstance(app.screen, CompactPreview) and app.screen.written)
    assert isinstance(app.screen, CompactPreview)
    return app.screen


async def test_a_message_that_does_not_fit_goes_back_into_the_prompt_with_numbers_and_advice() -> None:
    async with _app(FakeEngine(_words(30), facts=SMALL)) as (pilot, app, session):
        await _say(pilot, app, _words(30, "first"))
        await _say(pilot, app, _words(60, "second"))
        assert chat(app).prompt.text == _words(60, "second")
        assert len(session.messages) == 2
        text = " ".join(seen(app).split())
        assert "would take 123 of the 120 tokens" in text
        assert "/compact" in text
        assert len(chat(app).transcript.entries) == 2
        assert "30 tokens" in text
        assert chat(app).status.stats.output_tokens == 30


async def test_prompts_that_wait_behind_one_that_does_not_fit_go_on_waiting() -> None:
    gate = Gate()
    engine = FakeEngine(_words(30), facts=SMALL)
    async with _app(engine) as (pilot, app, _session):
        await _say(pilot, app, _words(30, "first"))
        engine.gate_prefill(gate)
        await _say_unsettled(pilot, app, "short")
        await _say_unsettled(pilot, app, _words(90, "second"))
        await _say_unsettled(pilot, app, "third")
        gate.open()
        await settled(pilot)
        assert [one.text for one in chat(app).turns.line.prompts] == ["third"]
        assert chat(app).prompt.text == _words(90, "second")


async def _say_unsettled(pilot: Pilot[Any], app: MtpChatApp, text: str) -> None:
    chat(app).prompt.put(text)
    await pilot.press("enter")
    await pilot.pause()


async def test_esc_while_a_message_is_measured_brings_it_back() -> None:
    gate = Gate()
    engine = FakeEngine("Fine.", facts=SMALL, measure=gate)
    async with _app(engine) as (pilot, app, session):
        await _say_unsettled(pilot, app, "Hello there?")
        await until(pilot, gate.reached.is_set)
        await pilot.press("escape")
        await settled(pilot)
        assert chat(app).prompt.text == "Hello there?"
        assert session.messages == ()
        assert chat(app).transcript.entries == []
        gate.open()
        await pilot.press("enter")
        await until(pilot, lambda: len(session.messages) == 2)


async def test_turns_that_leave_are_dimmed_and_a_line_says_so() -> None:
    async with _app(FakeEngine(_words(12), facts=SMALL), "drop") as (pilot, app, session):
        for number in range(6):
            await _say(pilot, app, f"{number} {_words(11)}")
        screen = chat(app)
        unread = session.terms.unread
        assert unread.start == 2
        dim = [entry.index for entry in screen.transcript.entries if entry.has_class("-unread")]
        assert dim == list(unread)
        line = screen.transcript.query_one(UnreadLine)
        after = screen.transcript.children[screen.transcript.children.index(line) + 1]
        assert after is screen.transcript.entry_at(unread.stop)
        assert "not read by the model any more" in " ".join(seen(app).split())
        assert len(session.messages) == 12


async def test_where_nothing_is_to_be_left_out_any_more_the_numbers_are_of_the_whole_chat_again() -> None:
    async with _app(FakeEngine(_words(12), facts=SMALL), "drop") as (pilot, app, session):
        for number in range(6):
            await _say(pilot, app, f"{number} {_words(11)}")
        screen, cut, whole = chat(app), session.terms.unread, session.terms.request()
        assert cut
        assert screen.status.stats.context_used < CONTEXT
        await _say(pilot, app, "/context stop")
        assert not session.terms.unread
        assert len(session.terms.request().messages) == len(whole.messages)
        await until(pilot, lambda: screen.status.stats.context_used > CONTEXT)
        await until(pilot, lambda: not screen.transcript.query(UnreadLine))
        await _say(pilot, app, "/context drop")
        assert session.terms.unread == cut


async def test_what_fits_again_is_read_again_and_not_dimmed_any_more() -> None:
    async with _app(FakeEngine(_words(12), facts=SMALL), "drop") as (pilot, app, session):
        for number in range(6):
            await _say(pilot, app, f"{number} {_words(11)}")
        assert session.terms.unread
        for _ in range(4):
            session.undo()
        await chat(app).presenter.show_chat(session.messages)
        await _say(pilot, app, "Short.")
        await until(pilot, lambda: not chat(app).transcript.query(UnreadLine))
        assert not any(entry.has_class("-unread") for entry in chat(app).transcript.entries)


async def test_an_edit_that_does_not_fit_leaves_the_chat_as_it_was() -> None:
    async with _app(FakeEngine(_words(12), facts=SMALL)) as (pilot, app, session):
        await _say(pilot, app, "First.")
        await _say(pilot, app, "Second.")
        before = session.messages
        await _say(pilot, app, f"/edit 1 {_words(200)}")
        assert session.messages == before
        assert [entry.source for entry in chat(app).transcript.entries] == [one.content for one in before]
        assert "Nothing was sent" in " ".join(seen(app).split())


async def test_a_summary_is_shown_and_taken_and_can_be_left_again() -> None:
    engine = FakeEngine(_words(20), _words(20), "They said words.", facts=LARGER)
    async with _app(engine) as (pilot, app, session):
        await _say(pilot, app, _words(20, "first"))
        await _say(pilot, app, _words(20, "second"))
        before = session.messages
        await _say_unsettled(pilot, app, "/compact 1")
        preview = await _asked(pilot, app)
        assert preview.text == "They said words."
        assert "The chat as it was stays beside it" in " ".join(seen(app).split())
        assert session.messages == before
        await pilot.press("enter")
        await until(pilot, lambda: session.messages != before)
        assert [one.content for one in session.messages[1:]] == ["They said words.", *(m.content for m in before[2:])]
        assert session.siblings(0) == (2, 2)
        await _say(pilot, app, "/compact undo")
        assert session.messages == before


async def test_a_summary_can_be_put_differently_before_it_is_taken() -> None:
    engine = FakeEngine(_words(20), _words(20), "They said words.", facts=LARGER)
    async with _app(engine) as (pilot, app, session):
        await _say(pilot, app, _words(20, "first"))
        await _say(pilot, app, _words(20, "second"))
        await _say_unsettled(pilot, app, "/compact 1")
        preview = await _asked(pilot, app)
        await pilot.press("e")
        preview.query_one(TextArea).move_cursor((0, 0))
        await pilot.press(*"Notes", "enter")
        assert isinstance(app.screen, CompactPreview)
        await pilot.press("ctrl+s")
        await until(pilot, lambda: not isinstance(app.screen, CompactPreview))
        await pilot.pause()
        assert session.messages[1].content == "Notes\nThey said words."


async def test_leaving_the_preview_changes_nothing_also_while_it_is_written() -> None:
    gate = Gate()
    engine = FakeEngine(_words(20), _words(20), "They said words.", facts=LARGER)
    async with _app(engine) as (pilot, app, session):
        await _say(pilot, app, _words(20, "first"))
        await _say(pilot, app, _words(20, "second"))
        before = session.messages
        engine.gate_prefill(gate)
        await _say_unsettled(pilot, app, "/compact 1")
        await until(pilot, lambda: isinstance(app.screen, CompactPreview) and gate.reached.is_set())
        await pilot.press("escape")
        await settled(pilot)
        assert session.messages == before
        assert not isinstance(app.screen, CompactPreview)
        gate.open()
        await _say_unsettled(pilot, app, "/compact 1")
        await _asked(pilot, app)
        await pilot.press("e", "escape", "escape")
        await until(pilot, lambda: not isinstance(app.screen, CompactPreview))
        assert session.messages == before


async def test_the_policy_of_summaries_begins_one_when_something_does_not_fit() -> None:
    engine = FakeEngine(_words(20), _words(20), "They said words.", facts=LARGER)
    async with _app(engine, "summarise") as (pilot, app, session):
        await _say(pilot, app, _words(20, "first"))
        await _say(pilot, app, _words(20, "second"))
        await _say_unsettled(pilot, app, _words(320, "third"))
        await _asked(pilot, app)
        await pilot.press("enter")
        await until(pilot, lambda: not isinstance(app.screen, CompactPreview))
        await until(pilot, lambda: session.messages[1].content == "They said words.")
        assert chat(app).prompt.text == _words(320, "third")


async def test_no_summary_is_begun_for_a_message_that_alone_has_no_room() -> None:
    async with _app(FakeEngine(_words(20), facts=LARGER), "summarise") as (pilot, app, session):
        await _say(pilot, app, _words(20, "first"))
        await _say(pilot, app, _words(20, "second"))
        before = session.messages
        await _say(pilot, app, _words(500, "third"))
        await until(pilot, lambda: "This message alone would take" in " ".join(seen(app).split()))
        assert not isinstance(app.screen, CompactPreview)
        assert not chat(app).turns.busy
        assert (session.messages, chat(app).prompt.text) == (before, _words(500, "third"))


async def test_a_chat_with_nothing_older_says_so_instead_of_asking() -> None:
    async with _app(FakeEngine("Fine.", facts=SMALL)) as (pilot, app, _session):
        await _say(pilot, app, "Hello?")
        await _say_unsettled(pilot, app, "/compact")
        await until(pilot, lambda: "nothing older" in seen(app))
        assert not isinstance(app.screen, CompactPreview)


async def test_the_parts_of_the_context_are_told_and_the_policy_is_chosen() -> None:
    async with _app(FakeEngine("Fine.", facts=SMALL)) as (pilot, app, session):
        await _say(pilot, app, "Hello?")
        await _say(pilot, app, "/context")
        await until(pilot, lambda: "kept for the answer" in seen(app))
        await pilot.press("escape")
        await _say(pilot, app, "/context drop")
        assert session.terms.overflow == "drop"


async def test_how_much_is_thought_is_shown_where_it_is_not_the_usual() -> None:
    async with _app(FakeEngine("Fine.", facts=SMALL)) as (pilot, app, session):
        assert "think" not in chat(app).header.render().plain
        await _say(pilot, app, "/think off")
        assert session.terms.thinking == "off"
        assert "think off" in chat(app).header.render().plain
        await _say(pilot, app, "/think high")
        assert "cannot be told" in " ".join(seen(app).split())
