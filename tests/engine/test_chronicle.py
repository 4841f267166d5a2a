"""What becomes of a conversation is kept while it happens: streaming, branches, stops, failures, resuming."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

import pytest

from mtpchat.chats import KeptChat
from mtpchat.config import Config, SamplingConfig, UiConfig
from mtpchat.engine.service import EngineService
from mtpchat.engine.session import Session
from mtpchat.errors import CommandError, EngineError
from mtpchat.events import Event, TextDelta
from mtpchat.messages import Attachment, Message
from mtpchat.store.chat_store import ChatStore
from tests.fakes import FakeEngine, Gate

HELLO = Message("user", "Hello?")


@asynccontextmanager
async def kept(
    tmp_path: Path, *engines: FakeEngine, config: Config | None = None
) -> AsyncIterator[tuple[Session, ChatStore]]:
    store = ChatStore(tmp_path / "chats.db", flush_s=0.01)
    service = EngineService(lambda: engines[0])
    service.start()
    try:
        yield Session(service, config or Config(), archive=store), store
    finally:
        service.close()
        assert store.close() == ""


async def say(events: AsyncGenerator[Event, None]) -> list[Event]:
    async with aclosing(events):
        return [event async for event in events]


async def stopped(session: Session, gate: Gate, events: AsyncGenerator[Event, None]) -> None:
    turn = asyncio.create_task(say(events))
    assert await asyncio.to_thread(gate.reached.wait, 20)
    await session.cancel()
    await turn


def tree(store: ChatStore) -> list[tuple[str, str]]:
    """(content of the parent, content) of every message there is."""
    rows = store.ask(
        lambda connection: connection.execute(
            "SELECT coalesce(parent.content, ''), message.content FROM message"
            " LEFT JOIN message AS parent ON parent.id = message.parent_id ORDER BY message.number"
        ).fetchall()
    )
    return list(rows.result(20))


def said(chat: KeptChat) -> list[tuple[str, bool]]:
    return [(one.content, one.complete) for one in chat.path]


async def test_a_chat_is_kept_with_how_its_answers_were_made(tmp_path: Path) -> None:
    config = Config(ui=UiConfig(system="Be brief."), sampling=SamplingConfig(seed=5))
    async with kept(tmp_path, FakeEngine(("A greeting.", "Hi there.")), config=config) as (session, store):
        await say(session.load())
        await say(session.send("Hello?"))
        chat = await store.open("")
        assert (chat.line.title, chat.system, chat.seed) == ("Hello?", "Be brief.", 5)
        assert [(one.content, one.thinking) for one in chat.path] == [("Hello?", ""), ("Hi there.", "A greeting.")]
        query = "SELECT model, model_name, kind, reason, sampling, stats FROM turn"
        (turn,) = await asyncio.wrap_future(store.ask(lambda connection: connection.execute(query).fetchall()))
        assert turn[:4] == ("/fake.gguf", "fake", "none", "stop")
        assert '"seed":5' in turn[4]
        assert '"output_tokens":4' in turn[5]


async def test_an_answer_is_in_the_file_while_it_is_being_said(tmp_path: Path) -> None:
    gate = Gate()
    async with kept(tmp_path, FakeEngine("One two three.", step=gate)) as (session, store):
        async with aclosing(session.send("Hello?")) as events:
            async for event in events:
                if isinstance(event, TextDelta):
                    assert said(await store.open("")) == [("Hello?", True), ("One ", False)]
                    gate.open()
                    break
        assert said(await store.open("")) == [("Hello?", True), (session.messages[-1].content, False)]


async def test_retry_makes_a_branch_and_keeps_the_first_answer(tmp_path: Path) -> None:
    async with kept(tmp_path, FakeEngine("First.", "Second.", "Third.")) as (session, store):
        await say(session.send("Hello?"))
        await say(session.retry())
        await say(session.send("More?"))
        assert tree(store) == [
            ("", "Hello?"),
            ("Hello?", "First."),
            ("Hello?", "Second."),
            ("Second.", "More?"),
            ("More?", "Third."),
        ]
        assert [content for content, _ in said(await store.open(""))] == ["Hello?", "Second.", "More?", "Third."]


async def test_the_same_answer_once_more_is_a_branch_of_its_own(tmp_path: Path) -> None:
    async with kept(tmp_path, FakeEngine("Same.")) as (session, store):
        await say(session.send("Hello?"))
        await say(session.retry())
        assert tree(store) == [("", "Hello?"), ("Hello?", "Same."), ("Hello?", "Same.")]


async def test_a_retry_that_brings_nothing_shows_the_old_answer_again(tmp_path: Path) -> None:
    gate, engine = Gate(), FakeEngine("First.")
    async with kept(tmp_path, engine) as (session, store):
        await say(session.send("Hello?"))
        engine.gate_prefill(gate)
        await stopped(session, gate, session.retry())
        assert tree(store) == [("", "Hello?"), ("Hello?", "First.")]
        assert said(await store.open("")) == [("Hello?", True), ("First.", True)]


async def test_what_is_taken_back_stays_in_the_tree(tmp_path: Path) -> None:
    async with kept(tmp_path, FakeEngine("1.", "2.", "3.")) as (session, store):
        await say(session.send("One?"))
        await say(session.send("Two?"))
        session.undo()
        assert said(await store.open("")) == [("One?", True), ("1.", True)]
        await say(session.send("Three?"))
        assert ("1.", "Two?") in tree(store)
        assert ("1.", "Three?") in tree(store)


async def test_an_edited_message_is_a_branch_beside_the_first_with_what_was_attached(tmp_path: Path) -> None:
    async with kept(tmp_path, FakeEngine("1.", "2.", "3.")) as (session, store):
        await say(session.send("One?", [Attachment("a.txt", "words")]))
        await say(session.send("Two?"))
        await say(session.edit(0, "Uno?"))
        assert [one.content for one in session.messages] == ["Uno?", "3."]
        assert session.messages[0].attachments == (Attachment("a.txt", "words"),)
        assert [session.siblings(at) for at in range(2)] == [(2, 2), (1, 1)]
        assert ("1.", "Two?") in tree(store)
        with pytest.raises(CommandError, match="answer"):
            session.edit(1, "No.")
        session.walk(0, -1)
        assert [one.content for one in session.messages] == ["One?", "1.", "Two?", "2."]
        assert [content for content, _ in said(await store.open(""))] == ["One?", "1.", "Two?", "2."]


async def test_an_answer_put_differently_is_kept_beside_the_generated_one(tmp_path: Path) -> None:
    config = Config(ui=UiConfig(system="Be kind."))
    async with kept(tmp_path, FakeEngine("Four."), config=config) as (session, store):
        await say(session.send("2 + 2?"))
        session.amend(1, "Five.")
        assert tree(store) == [("", "2 + 2?"), ("2 + 2?", "Four."), ("2 + 2?", "Five.")]
        chat = await store.open("")
        assert said(chat)[-1] == ("Five.", True)
        assert chat.seed is None


async def test_a_fork_is_a_chat_of_its_own_that_knows_system_message_and_seeds(tmp_path: Path) -> None:
    config = Config(ui=UiConfig(system="Be kind."))
    async with kept(tmp_path, FakeEngine("1.", "2.", "3."), config=config) as (session, store):
        await say(session.send("One?"))
        seed, first = session.seed, session.chat_id
        await say(session.send("Two?"))
        session.fork(1)
        assert [one.content for one in session.messages] == ["One?", "1."]
        await say(session.send("Three?"))
        assert {line.title for line in await store.recent(9)} == {"One?", "One? (fork)"}
        assert [content for content, _ in said(await store.open(first))] == ["One?", "1.", "Two?", "2."]
        fork = await store.open(session.chat_id)
        assert [content for content, _ in said(fork)] == ["One?", "1.", "Three?", "3."]
        assert fork.system == "Be kind."
        assert fork.made[fork.path[1].id].seed == seed
        counted = "SELECT count(*) FROM turn WHERE stats IS NOT NULL"
        assert store.ask(lambda connection: connection.execute(counted).fetchone()).result(20) == (3,)


async def test_a_cut_answer_is_carried_on_with_its_own_seed_and_settings_after_walking_back(tmp_path: Path) -> None:
    gate, engine = Gate(), FakeEngine("First.")
    async with kept(tmp_path, engine) as (session, _):
        await say(session.send("Hello?"))
        engine.replies, engine._step = ["One two."], gate
        hot = SamplingConfig(temperature=1.5)
        await stopped(session, gate, session.retry(sampling=hot, seed=42))
        gate.open()
        session.walk(1, -1)
        assert session.seed != 42
        session.walk(1, 1)
        assert session.seed == 42
        engine.replies = ["two."]
        await say(session.continue_last())
        assert (engine.requests[-1].sampling.seed, engine.requests[-1].sampling.temperature) == (42, 1.5)
        assert session.messages[-1] == Message("assistant", "One two.")
        assert session.config.sampling == SamplingConfig()
        await say(session.retry())
        assert engine.requests[-1].sampling.temperature == SamplingConfig().temperature


async def test_of_two_windows_on_one_chat_neither_loses_a_branch(tmp_path: Path) -> None:
    async with kept(tmp_path, FakeEngine("1.")) as (session, store):
        await say(session.send("One?"))
        chat = await store.open("")
    async with kept(tmp_path, FakeEngine("2.")) as (first, _), kept(tmp_path, FakeEngine("3.")) as (second, store):
        first.resume(chat)
        second.resume(chat)
        await say(first.send("Two?"))
        await say(second.edit(0, "Uno?"))
        await say(first.retry())
        await asyncio.wrap_future(first.archive.ask(lambda connection: None))  # type: ignore[attr-defined]
        assert sorted(tree(store)) == [
            ("", "One?"),
            ("", "Uno?"),
            ("1.", "Two?"),
            ("One?", "1."),
            ("Two?", "2."),
            ("Two?", "2."),
            ("Uno?", "3."),
        ]


async def test_clear_begins_a_new_chat_and_an_empty_one_is_never_kept(tmp_path: Path) -> None:
    async with kept(tmp_path, FakeEngine()) as (session, store):
        session.clear()
        await say(session.send("One?"))
        session.clear()
        session.clear()
        await say(session.send("Two?"))
        session.clear()
        assert {line.title for line in await store.recent(9)} == {"One?", "Two?"}


async def test_a_stopped_answer_that_is_carried_on_is_one_message(tmp_path: Path) -> None:
    gate = Gate()
    async with kept(tmp_path, FakeEngine("One two.", "two.", step=gate)) as (session, store):
        await stopped(session, gate, session.send("Hello?"))
        assert said(await store.open(""))[-1] == ("One ", False)
        gate.open()
        await say(session.continue_last())
        assert tree(store) == [("", "Hello?"), ("Hello?", "One two.")]
        assert said(await store.open(""))[-1] == ("One two.", True)


async def test_a_failed_turn_keeps_question_and_beginning(tmp_path: Path) -> None:
    async with kept(tmp_path, FakeEngine(ZeroDivisionError("oops"))) as (session, store):
        await say(session.send("Hello?"))
        assert said(await store.open("")) == [("Hello?", True), ("Half ", False)]


async def test_a_question_that_was_stopped_before_its_first_word_is_kept(tmp_path: Path) -> None:
    gate = Gate()
    async with kept(tmp_path, FakeEngine("Hi.", prefill=gate)) as (session, store):
        await stopped(session, gate, session.send("Hello?"))
        assert said(await store.open("")) == [("Hello?", True)]


async def test_a_resumed_chat_goes_on_where_it_was_in_the_same_tree(tmp_path: Path) -> None:
    engine = FakeEngine("Fine.")
    async with kept(tmp_path, FakeEngine("Hi."), config=Config(ui=UiConfig(system="Be kind."))) as (session, _):
        await say(session.send("Hello?"))
        before = session.messages
    async with kept(tmp_path, engine) as (session, store):
        session.resume(await store.open(""))
        assert session.messages == before
        assert (session.system, session.title) == ("Be kind.", "Hello?")
        await say(session.send("More?"))
        assert [one.content for one in engine.requests[0].messages] == ["Be kind.", "Hello?", "Hi.", "More?"]
        assert tree(store) == [("", "Hello?"), ("Hello?", "Hi."), ("Hi.", "More?"), ("More?", "Fine.")]
        assert len(await store.recent(9)) == 1


async def test_a_resumed_chat_knows_how_each_answer_went(tmp_path: Path) -> None:
    async with kept(tmp_path, FakeEngine("One two three.", "Four five.")) as (session, _):
        await say(session.send("Hello?"))
        await say(session.retry(seed=77))
    async with kept(tmp_path, FakeEngine()) as (session, store):
        session.resume(await store.open(""))
        figures = session.figures(1)
        assert figures is not None
        assert (figures[0].output_tokens, figures[1], session.seed) == (2, "stop", 77)
        session.walk(1, -1)
        assert session.stats is not None
        assert session.stats.output_tokens == 3
        assert session.seed != 77
        assert session.figures(0) is None


async def test_an_answer_cut_off_by_a_crash_can_be_carried_on_with_its_seed(tmp_path: Path) -> None:
    gate = Gate()
    async with kept(tmp_path, FakeEngine("One two.", step=gate)) as (session, _):
        await stopped(session, gate, session.send("Hello?"))
        seed = session.seed
    engine = FakeEngine("two.")
    async with kept(tmp_path, engine) as (session, store):
        session.resume(await store.open(""))
        await say(session.continue_last())
        assert engine.requests[0].sampling.seed == seed
        assert session.messages[-1] == Message("assistant", "One two.")


async def test_while_an_answer_comes_no_other_chat_is_opened(tmp_path: Path) -> None:
    gate = Gate()
    async with kept(tmp_path, FakeEngine("Hi.", "One two.")) as (session, store):
        await say(session.send("Hello?"))
        chat = await store.open("")
        session.clear()
    async with kept(tmp_path, FakeEngine("One two.", step=gate)) as (session, _):
        turn = asyncio.create_task(say(session.send("More?")))
        assert await asyncio.to_thread(gate.reached.wait, 20)
        with pytest.raises(EngineError):
            session.resume(chat)
        gate.open()
        await turn
        assert [one.content for one in session.messages] == ["More?", "One two."]


async def test_while_an_answer_is_prepared_no_other_chat_is_opened(tmp_path: Path) -> None:
    async with kept(tmp_path, FakeEngine("Hi.", "Two.")) as (session, store):
        await say(session.send("Hello?"))
        chat = await store.open("")
        session.clear()
        await say(session.load())
        turn = asyncio.create_task(say(session.send("More?")))
        await asyncio.sleep(0)
        with pytest.raises(EngineError):
            session.resume(chat)
        await turn
        assert [one.content for one in session.messages] == ["More?", "Two."]
        session.resume(chat)
        assert [one.content for one in session.messages] == ["Hello?", "Hi."]


async def test_titles_are_first_words_until_another_is_given(tmp_path: Path) -> None:
    async with kept(tmp_path, FakeEngine()) as (session, store):
        with pytest.raises(CommandError):
            session.rename("Too early")
        await say(session.send("one two three four five six seven eight nine ten eleven"))
        assert session.title == "one two three four five six seven eight nine…"
        session.rename("Numbers")
        await say(session.send("twelve"))
        assert (await store.recent(1))[0].title == session.title == "Numbers"


async def test_a_session_without_an_archive_keeps_nothing(tmp_path: Path, isolated_home: Path) -> None:
    service = EngineService(lambda: FakeEngine())
    service.start()
    session = Session(service, Config())
    await say(session.send("Hello?"))
    service.close()
    assert not session.archive.keeps
    with pytest.raises(CommandError):
        await session.archive.recent(1)
    assert [one for one in isolated_home.rglob("*") if one.is_file()] == []
