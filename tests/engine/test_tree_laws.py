"""Whatever is done to a chat, in whatever order: the branch shown is that of a simple tree, and no word is lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mtpchat.config import Config
from mtpchat.engine.service import EngineService
from mtpchat.engine.session import Session
from mtpchat.errors import CommandError
from mtpchat.events import Event
from mtpchat.store.chat_store import ChatStore
from tests.engine.tree_model import Model
from tests.fakes import FakeEngine

_STEPS = """
    send send break abandon continue edit retry undo undo redo walk
    there-and-back there-and-back amend fork clear resume resume
"""
Step = tuple[str, int, int]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(_STEPS.split()),
        st.integers(0, 9),
        st.integers(0, 2),
    ),
    min_size=8,
    max_size=20,
)


class Play:
    """The same steps on a session that keeps its chat and on the model."""

    def __init__(self, path: Path) -> None:
        self.path, self.engine, self.model = path, FakeEngine(), Model()
        self._numbers, self._seeds = count(), count(100)
        self.service = EngineService(lambda: self.engine)
        self.service.start()
        self.store = ChatStore(path, flush_s=0.01)
        self.session = Session(self.service, Config(), self._draw, archive=self.store)
        self.texts: set[str] = set()

    def _draw(self) -> int:
        return next(self._seeds)

    def close(self) -> None:
        self.service.close()
        assert self.store.close() == ""

    async def _answered(self, events: AsyncGenerator[Event, None], *, fails: bool = False) -> None:
        """Let a turn run; the model gets the answer that the engine is made to give."""
        reply = f"answer {next(self._numbers)}"
        self.engine.replies = [ZeroDivisionError(reply)] if fails else [reply]
        async with aclosing(events):
            _ = [event async for event in events]
        assert self.session.seed is not None
        if self.engine.requests[-1].continue_last:
            self.model.carry_on(reply)
        else:
            self.model.say("assistant", "Half " if fails else reply, complete=not fails, seed=self.session.seed)

    async def _begun_and_left(self, events: AsyncGenerator[Event, None]) -> None:
        await anext(events)
        await events.aclose()

    async def step(self, what: str, at: int, choice: int) -> None:
        session, model = self.session, self.model
        users = [place for place, one in enumerate(model.path) if one.role == "user"]
        text = f"text {choice}"
        match what:
            case "send" | "break":
                model.ask(text)
                await self._answered(session.send(text), fails=what == "break")
            case "abandon" if users and choice:
                before = model.picture()
                await self._begun_and_left(session.retry(users[at % len(users)]))
                assert model.picture() == before
            case "abandon":
                model.ask(text)
                await self._begun_and_left(session.send(text))
            case "continue" if model.path and model.path[-1].role == "assistant" and not model.path[-1].complete:
                await self._answered(session.continue_last())
                assert self.engine.requests[-1].sampling.seed == model.path[-1].seed or model.path[-1].seed is None
            case "edit" if users:
                place = users[at % len(users)]
                model.stop(place)
                model.ask(text)
                await self._answered(session.edit(place, text))
            case "retry" if users:
                place = users[at % len(users)] if choice else users[-1]
                model.stop(place + 1)
                await self._answered(session.retry(place if choice else None))
            case "amend" if model.path:
                await self._amend(at % len(model.path), f"amended {choice}")
            case _:
                await self._move(what, at, choice)
        self.texts.update(one.text for one in model.path)
        self.check()

    async def _amend(self, place: int, text: str) -> None:
        if self.model.path[place].role == "assistant":
            self.session.amend(place, text)
            self.model.amend(place, text)

    async def _move(self, what: str, at: int, choice: int) -> None:
        session, model = self.session, self.model
        match what:
            case "undo":
                assert session.undo() == model.undo()
            case "redo":
                assert session.redo() == model.redo()
            case "walk" | "there-and-back" if model.path:
                forks = [place for place, (_, versions) in enumerate(model.siblings()) if versions > 1]
                place, step = (forks or range(len(model.path)))[at % len(forks or model.path)], (-1, 1, 1)[choice]
                self._walk(place, step)
                if what == "there-and-back":
                    self.check()
                    self._walk(place, -step)
            case "fork" if model.path:
                session.fork(at % len(model.path))
                model.fork(at % len(model.path))
            case "clear":
                session.clear()
                self.model = Model()
            case "resume":
                await self.resume()

    def _walk(self, place: int, step: int) -> None:
        can = self.model.walk(place, step)
        try:
            self.session.walk(place, step)
            assert can
        except CommandError:
            assert not can

    async def resume(self) -> None:
        chat = self.session._talk.chronicle.chat
        if chat:
            self.session = Session(self.service, Config(), self._draw, archive=self.store)
            self.session.resume(await self.store.open(chat))
            self.model.reopen()
            self.check()

    def check(self) -> None:
        session, model = self.session, self.model
        assert [(one.role, one.content, one.complete) for one in session.messages] == [
            (one.role, one.text, one.complete) for one in model.path
        ]
        assert [session.siblings(at) for at in range(len(model.path))] == model.siblings()
        last = next((one for one in reversed(model.path) if one.role == "assistant"), None)
        assert session.seed == (last.seed if last is not None else None)

    def said_in_store(self) -> set[str]:
        rows = self.store.ask(lambda connection: connection.execute("SELECT content FROM message").fetchall())
        return {content for (content,) in rows.result(20)}


async def played(path: Path, steps: list[Step]) -> None:
    play = Play(path)
    try:
        for what, at, choice in steps:
            await play.step(what, at, choice)
        await play.resume()
        said = play.said_in_store()
        # An answer that was carried on has its beginning in it.
        assert all(text in said or any(one.startswith(text) for one in said) for text in play.texts)
    finally:
        play.close()


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(STEPS)
def test_any_sequence_of_steps_leaves_the_branch_of_the_model_and_every_text_in_the_store(steps: list[Step]) -> None:
    with TemporaryDirectory() as folder:
        asyncio.run(played(Path(folder) / "chats.db", steps))
