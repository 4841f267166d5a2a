"""Titles that the model gives: once per chat, never over the user's, and never in anybody's way."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

import pytest

from mtpchat.chats import Renamed
from mtpchat.config import ChatsConfig, Config
from mtpchat.engine.archive import Archive
from mtpchat.engine.requests import Engine, Progress, Task
from mtpchat.engine.service import EngineService
from mtpchat.engine.session import Session
from mtpchat.engine.titling import Titling
from mtpchat.errors import EngineError, Interrupted
from mtpchat.events import Worked
from mtpchat.store.chat_store import ChatStore
from mtpchat.ui.titles import Titles
from tests.fakes import FakeEngine, Gate
from tests.store.talk import settled


@asynccontextmanager
async def opened(
    archive: Archive | None = None, engine: FakeEngine | None = None
) -> AsyncIterator[tuple[EngineService, Session]]:
    service = EngineService(lambda: engine or FakeEngine("Because.", "Still."))
    service.start()
    try:
        session = Session(service, Config(chats=ChatsConfig(titles="model")), archive=archive)
        async with aclosing(session.load()) as events:
            async for _ in events:
                pass
        yield service, session
    finally:
        service.close()


async def say(session: Session, text: str) -> None:
    async with aclosing(session.send(text)) as events:
        async for _ in events:
            pass


class Aside:
    """Answers for the engine."""

    def __init__(self, *answers: str | Exception) -> None:
        self.answers = list(answers)
        self.asked = 0

    async def __call__(self, task: Task) -> Worked:
        self.asked += 1
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return Worked(answer)


def titling(session: Session, aside: Aside) -> Titling:
    session.titling = Titling(session._talk, session.terms, aside)
    return session.titling


@pytest.fixture
def store(tmp_path: Path) -> ChatStore:
    return ChatStore(tmp_path / "chats.db")


async def listed(store: ChatStore) -> tuple[str, bool]:
    (line,) = await store.recent(9)
    return line.title, line.named


async def test_what_is_done_aside_gives_way_to_a_message_at_once() -> None:
    begun = threading.Event()

    def task(_engine: Engine, _progress: Progress, cancelled: Callable[[], bool]) -> Worked:
        begun.set()
        while not cancelled():
            pass
        raise Interrupted("It was given up.")

    async with opened() as (service, session):
        aside = asyncio.create_task(service.aside(task))
        assert await asyncio.to_thread(begun.wait, 20)
        assert not session.busy
        session.clear()
        await say(session, "Why?")
        assert session.messages[-1].content == "Because."
        with pytest.raises(Interrupted):
            await aside


async def test_a_result_that_comes_after_something_else_has_begun_is_none() -> None:
    begun = threading.Event()

    def task(_engine: Engine, _progress: Progress, cancelled: Callable[[], bool]) -> Worked:
        begun.set()
        while not cancelled():
            pass
        return Worked("half a title")

    async with opened() as (service, session):
        aside = asyncio.create_task(service.aside(task))
        assert await asyncio.to_thread(begun.wait, 20)
        await say(session, "Why?")
        with pytest.raises(Interrupted):
            await aside


async def test_nothing_is_done_aside_during_an_answer() -> None:
    gate = Gate()
    async with opened(engine=FakeEngine("Because.", prefill=gate)) as (service, session):
        events = session.send("Why?")
        await anext(events)
        assert await asyncio.to_thread(gate.reached.wait, 20)
        with pytest.raises(Interrupted, match="busy"):  # so that a title is made later
            await service.aside(lambda _engine, _progress, _cancelled: Worked("x"))
        await events.aclose()


async def test_a_chat_gets_one_title_and_keeps_it(store: ChatStore) -> None:
    async with opened(store) as (_, session):
        aside = Aside("Bends of rivers")
        made = titling(session, aside)
        assert not made.wanted, "nothing was said"
        await say(session, "Why do rivers meander?")
        assert made.wanted
        assert await made.make() == session.title == "Bends of rivers"
        assert not made.wanted
        assert await listed(store) == ("Bends of rivers", True)
        await say(session, "And lakes?")
        assert not made.wanted
        kept = await store.open("")
        session.clear()
        assert session.title == ""
        session.resume(kept)
        assert (session.title, made.wanted) == ("Bends of rivers", False)
    store.close()


async def test_a_title_of_the_user_stays_whoever_is_quicker(store: ChatStore, tmp_path: Path) -> None:
    async with opened(store) as (_, session):
        made = titling(session, Aside("Something else"))
        await say(session, "Why do rivers meander?")

        async def rename_first(task: Task) -> Worked:
            session.rename("Mine")
            return Worked("Something else")

        made._aside = rename_first
        assert await made.make() == ""
        assert session.title == "Mine"
        settled(store)
        assert await listed(store) == ("Mine", True)
    store.close()


async def test_another_window_that_has_named_the_chat_wins(store: ChatStore, tmp_path: Path) -> None:
    async with opened(store) as (_, session):
        made = titling(session, Aside("Something else"))
        await say(session, "Why do rivers meander?")
        settled(store)  # the chat is in the file
        other = ChatStore(tmp_path / "chats.db")
        other.put(Renamed(session.chat_id, "Named elsewhere"))
        other.close()
        await made.make()
        settled(store)
        assert await listed(store) == ("Named elsewhere", True)
    store.close()


async def test_what_was_given_up_is_tried_again_and_what_failed_is_not(store: ChatStore) -> None:
    async with opened(store) as (_, session):
        aside = Aside(Interrupted("no"), EngineError("broken"))
        made = titling(session, aside)
        await say(session, "Why?")
        assert await made.make() == ""
        assert made.wanted
        assert await made.make() == ""
        assert not made.wanted
        assert (await listed(store))[1] is False
    store.close()


async def test_without_a_store_no_title_is_wanted() -> None:
    async with opened() as (_, session):
        await say(session, "Why?")
        assert not session.titling.wanted


async def test_a_real_engine_that_cannot_be_looked_into_makes_none(store: ChatStore) -> None:
    async with opened(store) as (_, session):
        await say(session, "Why?")
        assert await session.titling.make() == ""
        assert session.title == "Why?"
    store.close()


@pytest.mark.parametrize(("titles", "asked"), [("model", 1), ("words", 0)])
async def test_the_setting_decides_who_gives_titles(store: ChatStore, titles: str, asked: int) -> None:
    async with opened(store) as (_, session):
        session.config = Config(chats=ChatsConfig(titles=titles))  # type: ignore[arg-type]
        aside = Aside("Bends")
        titling(session, aside)
        started: list[asyncio.Task[None]] = []

        def start(work: Callable[[], Coroutine[None, None, None]]) -> object:
            started.append(asyncio.ensure_future(work()))
            return None

        view = Titles(session, start, quiet_s=0.0)
        view.consider()
        await say(session, "Why?")
        view.consider()
        while asked and not started:
            await asyncio.sleep(0)
        for _ in range(9):
            await asyncio.sleep(0)
        for one in started:
            await one
        assert aside.asked == asked
    store.close()
