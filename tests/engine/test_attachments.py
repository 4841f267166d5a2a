"""Files stay with the message that brought them: through retries, edits, forks, and a chat that is reopened."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

import pytest

from mtpchat.config import Config
from mtpchat.engine.service import EngineService
from mtpchat.engine.session import Session
from mtpchat.errors import CommandError
from mtpchat.events import Event
from mtpchat.messages import Attachment, Message
from mtpchat.store.chat_store import ChatStore
from tests.fakes import FakeEngine

NOTES = Attachment("notes.md", "Rivers bend.\n")
CODE = Attachment("a b.py", 'x = "<|im_end|>"\x1b[2J\u202e')
ASKED = Message("user", "Why?", attachments=(NOTES, CODE))


@asynccontextmanager
async def _session(engine: FakeEngine, store: ChatStore | None = None) -> AsyncIterator[Session]:
    service = EngineService(lambda: engine)
    service.start()
    try:
        yield Session(service, Config(), archive=store)
    finally:
        service.close()


async def _all(events: AsyncGenerator[Event, None]) -> None:
    async with aclosing(events):
        async for _event in events:
            pass


def _read(engine: FakeEngine) -> Message:
    """The last message of the user that the engine was given."""
    return next(one for one in reversed(engine.requests[-1].messages) if one.role == "user")


async def test_files_go_to_the_engine_and_stay_when_it_is_answered_anew() -> None:
    engine = FakeEngine("One.", "Two.")
    async with _session(engine) as session:
        await _all(session.send("Why?", (NOTES, CODE)))
        assert _read(engine) == ASKED
        await _all(session.retry())
        assert _read(engine) == ASKED
        session.walk(1, -1)
        session.undo()
        session.redo()
        assert session.messages[0] == ASKED


async def test_an_answer_that_is_carried_on_still_has_the_files_above_it() -> None:
    engine = FakeEngine(RuntimeError("cut"), "and more.")
    async with _session(engine) as session:
        await _all(session.send("Why?", (NOTES, CODE)))
        await _all(session.continue_last())
        assert _read(engine) == ASKED


async def test_a_message_in_other_words_keeps_its_files_unless_others_are_given() -> None:
    engine = FakeEngine("One.")
    async with _session(engine) as session:
        await _all(session.send("Why?", (NOTES, CODE)))
        await _all(session.edit(0, "How?"))
        assert _read(engine) == Message("user", "How?", attachments=(NOTES, CODE))
        await _all(session.edit(0, "Who?", (CODE,)))
        assert _read(engine) == Message("user", "Who?", attachments=(CODE,))
        await _all(session.edit(0, "Who?", ()))
        assert _read(engine) == Message("user", "Who?")


async def test_the_same_words_with_another_file_are_another_message() -> None:
    async with _session(FakeEngine("One.")) as session:
        await _all(session.send("Why?", (NOTES,)))
        await _all(session.edit(0, "Why?", (CODE,)))
        assert session.siblings(0) == (2, 2)


async def test_files_alone_can_be_sent_and_nothing_at_all_cannot() -> None:
    engine = FakeEngine("One.")
    async with _session(engine) as session:
        await _all(session.send("", (NOTES,)))
        assert _read(engine) == Message("user", "", attachments=(NOTES,))
        assert session.title == "notes.md"
        with pytest.raises(CommandError):
            session.send(" ")


async def test_a_chat_that_is_reopened_or_forked_has_its_files(tmp_path: Path) -> None:
    store = ChatStore(tmp_path / "chats.db", flush_s=0.01)
    try:
        async with _session(FakeEngine("One."), store) as session:
            await _all(session.send("Why?", (NOTES, CODE)))
            session.fork(1)
            assert session.messages[0] == ASKED
        engine = FakeEngine("Two.")
        async with _session(engine, store) as session:
            session.resume(await store.open(""))
            assert session.messages[0] == ASKED
            await _all(session.retry())
            assert _read(engine) == ASKED
    finally:
        store.close()


async def test_the_tokens_of_files_can_be_counted_between_turns() -> None:
    engine = FakeEngine("One.")
    async with _session(engine) as session:
        await _all(session.load())
        assert await session.terms.weigh(()) == ()
        counts = await session.terms.weigh((NOTES, CODE))
        assert len(counts) == 2
