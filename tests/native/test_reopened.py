"""A chat is left and reopened as the app does it: session, store, engine thread and the folder of states."""

from __future__ import annotations

from contextlib import aclosing
from functools import partial
from pathlib import Path

from mtpchat.chats import Deleted
from mtpchat.composition import open_engine
from mtpchat.config import ChatsConfig, Config, ModelConfig, SamplingConfig
from mtpchat.engine.service import EngineService
from mtpchat.engine.session import Session
from mtpchat.events import Finished
from mtpchat.store.chat_store import ChatStore
from mtpchat.store.states import StateFolder
from tests.models import TinyModel

LONG = "Tell me a long story about ships that sail to the end of the sea. " * 5


class Run:
    """One run of the program."""

    def __init__(self, model: Path, place: Path, *, save: bool = True) -> None:
        config = Config(
            model=ModelConfig(path=str(model), context=2048, threads=1, trial="off"),
            sampling=SamplingConfig(temperature=0, max_tokens=30),
            chats=ChatsConfig(save=save, keep_state="always"),
        )
        self.states = StateFolder(place / "states", 1 << 30)
        self.service = EngineService(partial(open_engine, states=self.states))
        self.store = ChatStore(place / "chats.db", forget=self.states.forget) if save else None
        self.session = Session(self.service, config, archive=self.store)
        self.service.start()

    async def load(self) -> None:
        async with aclosing(self.session.load()) as events:
            assert [event async for event in events]

    async def say(self, text: str) -> Finished:
        async with aclosing(self.session.send(text)) as events:
            last = [event async for event in events][-1]
        assert isinstance(last, Finished), last
        return last

    def leave(self) -> None:
        if self.store is not None:
            assert self.store.close() == ""
        assert self.service.close(20)


async def test_the_last_chat_goes_on_with_the_new_tokens_alone(dense_random: TinyModel, tmp_path: Path) -> None:
    run = Run(dense_random.path, tmp_path)
    await run.load()
    said = await run.say(LONG)
    run.leave()
    again = Run(dense_random.path, tmp_path)
    await again.load()
    assert again.store is not None
    again.session.resume(await again.store.open(""))
    answer = await again.say("And then?")
    again.leave()
    assert answer.stats.cached_tokens >= said.stats.prompt_tokens
    assert f"{answer.stats.cached_tokens:,} tokens were remembered" in answer.notice
    assert len(list((tmp_path / "states").iterdir())) == 1


async def test_a_chat_that_is_not_kept_leaves_no_state(dense_random: TinyModel, tmp_path: Path) -> None:
    run = Run(dense_random.path, tmp_path, save=False)
    await run.load()
    await run.say(LONG)
    run.leave()
    assert not (tmp_path / "states").exists()


async def test_a_chat_that_is_deleted_while_it_is_open_leaves_no_state(dense_random: TinyModel, tmp_path: Path) -> None:
    run = Run(dense_random.path, tmp_path)
    await run.load()
    await run.say(LONG)
    assert run.store is not None
    (line,) = await run.store.recent(1)
    run.store.put(Deleted(line.id, 5.0))
    run.leave()
    assert not list((tmp_path / "states").glob("*"))
