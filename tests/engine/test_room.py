"""A chat that has outgrown the context: nothing is lost, nothing is sent silently cut, and the choice is kept."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtpchat.chats import Change, OptionsSet
from mtpchat.config import ChatsConfig, Config, SamplingConfig
from mtpchat.engine.archive import Archive, KeepsNothing
from mtpchat.engine.overflow import reserve_for
from mtpchat.engine.requests import TurnRequest
from mtpchat.engine.room import fitted, sizes_of, without
from mtpchat.engine.service import EngineService
from mtpchat.engine.session import Session
from mtpchat.errors import ContextFull
from mtpchat.events import Finished, LeftOut, LoadFinished, Measured, ModelFacts, TurnEvent
from mtpchat.messages import Message
from mtpchat.store.chat_store import ChatStore
from tests.fakes import FakeEngine

CONTEXT = 100
FACTS = ModelFacts("fake", "/fake.gguf", "fake", "none", "no drafter", context_size=CONTEXT)
DROP = Config(chats=ChatsConfig(overflow="drop"))


@asynccontextmanager
async def _session(
    engine: FakeEngine, config: Config | None = None, archive: Archive | None = None
) -> AsyncIterator[Session]:
    service = EngineService(lambda: engine, rest_s=0)
    service.start()
    session = Session(service, config or Config(), archive=archive)
    async with aclosing(session.load()) as events:
        assert isinstance([event async for event in events][-1], LoadFinished)
    try:
        yield session
    finally:
        service.close()


async def _all(events: AsyncGenerator[TurnEvent, None]) -> list[TurnEvent]:
    async with aclosing(events) as stream:
        return [event async for event in stream]


def _words(count: int) -> str:
    return " ".join(["word"] * count)


async def test_what_does_not_fit_is_not_sent_and_nothing_is_lost() -> None:
    engine = FakeEngine(_words(20), facts=FACTS)
    async with _session(engine) as session:
        await _all(session.send(_words(20)))
        before = session.messages
        with pytest.raises(ContextFull, match=r"would take 98 of the 100 tokens") as full:
            await _all(session.send(_words(55)))
        assert "/compact" in full.value.hint
        assert session.messages == before
        assert not session.busy
        assert len(engine.requests) == 1
        assert isinstance((await _all(session.send("Short.")))[-1], Finished)


async def test_a_stop_while_one_reads_what_is_left_out_is_not_lost() -> None:
    engine = FakeEngine(_words(10), facts=FACTS)
    async with _session(engine, DROP) as session:
        for number in range(6):
            await _all(session.send(f"{number} {_words(9)}"))
        asked = len(engine.requests)
        events = session.send(f"6 {_words(9)}")
        assert isinstance(await anext(events), LeftOut)
        await session.cancel()
        (last,) = [event async for event in events]
        assert isinstance(last, Finished)
        assert (last.reason, last.message.content) == ("cancelled", "")
        assert (len(engine.requests), session.messages[-1].content[0], session.busy) == (asked, "6", False)
        assert isinstance((await _all(session.retry()))[-1], Finished)
        assert len(engine.requests) == asked + 1


async def test_a_message_that_was_not_sent_leaves_no_trace(tmp_path: Path) -> None:
    store = ChatStore(tmp_path / "chats.db", flush_s=0.01)
    engine = FakeEngine(_words(20), "Other.", facts=FACTS)
    async with _session(engine, archive=store) as session:
        await _all(session.send(_words(20)))
        await _all(session.retry())
        session.walk(1, -1)
        await _all(session.send("More?"))
        session.undo()
        before, seed = session.messages, session.seed
        for refused in (session.send(_words(70)), session.edit(0, _words(90))):
            with pytest.raises(ContextFull):
                await _all(refused)
            assert (session.messages, session.seed) == (before, seed)
            assert session.stats is not None
            assert [session.siblings(at) for at in range(2)] == [(1, 1), (1, 2)]
        kept = {said.id for said in (await store.open(session.chat_id)).nodes}
        assert {node.id for node in session.whole().messages} == kept
        assert session.redo()
        assert session.messages[-2].content == "More?"
    assert store.close() == ""


async def test_dropping_leaves_the_oldest_turns_out_and_says_so_first() -> None:
    engine = FakeEngine(_words(10), facts=FACTS)
    async with _session(engine, DROP) as session:
        for number in range(6):
            events = await _all(session.send(f"{number} {_words(9)}"))
        first = events[0]
        assert isinstance(first, LeftOut)
        sent = engine.requests[-1].messages
        assert first.count == len(session.messages) - 1 - len(sent)
        assert sent[:2] == session.messages[:2]
        assert sent[-1].content.startswith("5 ")
        assert first.prompt_tokens <= CONTEXT * 0.94
        assert len(session.messages) == 12
        assert session.terms.unread == range(2, 2 + first.count)


async def test_what_was_left_out_stays_out_so_that_the_beginning_can_be_reused() -> None:
    engine = FakeEngine(_words(4), facts=FACTS)
    async with _session(engine, DROP) as session:
        told = []
        for number in range(16):
            events = await _all(session.send(f"{number} {_words(3)}"))
            told += [event.fresh for event in events if isinstance(event, LeftOut)]
        assert told.count(True) < len(told) / 2
        for earlier, later in pairwise(engine.requests):
            same = later.messages[: len(earlier.messages)] == earlier.messages
            assert same or len(later.messages) < len(earlier.messages)


async def test_an_answer_that_was_cut_goes_on_under_the_policy_of_the_chat() -> None:
    engine = FakeEngine(_words(10), _words(10), RuntimeError("The engine stumbled."), "Fine.", facts=FACTS)
    async with _session(engine, DROP) as session:
        for number in range(3):
            await _all(session.send(f"{number} {_words(9)}"))
        engine.facts = replace(FACTS, context_size=50)
        events = await _all(session.continue_last())
        assert isinstance(events[0], LeftOut)
        assert engine.requests[-1].continue_last
        assert len(engine.requests[-1].messages) == 4
        session.terms.choose(overflow="stop")
        with pytest.raises(ContextFull):
            await _all(session.retry())
        assert len(session.messages) == 6


async def test_a_chat_that_cannot_shrink_enough_says_how_much_is_missing() -> None:
    engine = FakeEngine("Fine.", facts=FACTS)
    async with _session(engine, DROP) as session:
        with pytest.raises(ContextFull, match="alone would take 121 tokens"):
            await _all(session.send(_words(120)))
        assert session.messages == ()


async def test_without_a_known_size_nothing_is_held_back() -> None:
    async with _session(FakeEngine("Fine.")) as session:
        assert isinstance((await _all(session.send(_words(5000))))[-1], Finished)


async def test_choices_for_a_chat_go_before_the_settings_and_end_with_it() -> None:
    async with _session(FakeEngine("Fine.", facts=FACTS), DROP) as session:
        session.terms.choose(overflow="summarise", thinking="off")
        assert (session.terms.overflow, session.terms.thinking) == ("summarise", "off")
        await _all(session.send("Hello?"))
        session.clear()
        assert (session.terms.overflow, session.terms.thinking) == ("drop", "auto")


async def test_the_request_asks_for_the_thinking_that_was_chosen() -> None:
    engine = FakeEngine("Fine.", facts=FACTS)
    async with _session(engine) as session:
        session.terms.choose(thinking="low")
        await _all(session.send("Hello?"))
        assert engine.requests[-1].thinking == "low"
        session.terms.choose(thinking="off")
        await _all(session.send("Hello?"))
        assert engine.requests[-1].template_options == (("enable_thinking", False),)


async def test_a_chat_can_be_measured_with_what_is_being_typed() -> None:
    engine = FakeEngine(_words(4), facts=FACTS)
    async with _session(engine) as session:
        await _all(session.send("One two."))
        assert (await session.terms.measure()).prompt_tokens == 8
        assert (await session.terms.measure("three more words")).prompt_tokens == 12
        assert len(session.messages) == 2


def _measurer(overhead: int) -> object:
    async def measure(request: TurnRequest) -> Measured:
        words = tuple(len(message.content.split()) for message in request.messages)
        return Measured(sum(words) + overhead * len(words) + overhead, CONTEXT, words)

    return measure


@given(
    st.lists(st.integers(1, 40), min_size=1, max_size=15),
    st.integers(0, 9),
    st.booleans(),
    st.integers(0, 20),
    st.integers(0, 80),
)
async def test_what_is_sent_fits_whatever_the_template_adds(
    sizes: list[int], overhead: int, system: bool, before: int, max_tokens: int
) -> None:
    said = [Message("assistant" if at % 2 else "user", _words(size)) for at, size in enumerate(sizes)]
    if len(said) % 2 == 0:
        said.append(Message("user", "More?"))
    head = [Message("system", "Be brief.")] if system else []
    request = TurnRequest((*head, *said), SamplingConfig(seed=1, max_tokens=max_tokens))
    measure = _measurer(overhead)
    refusal: ContextFull | None = None
    try:
        fit = await fitted(request, "drop", before, measure)  # type: ignore[arg-type]
    except ContextFull as full:
        refusal = full
    if refusal is not None:
        assert f"room for {CONTEXT - reserve_for(CONTEXT, max_tokens)}." in refusal.message
        return
    assert (await measure(fit.request)).prompt_tokens < CONTEXT  # type: ignore[operator]
    assert fit.request.messages[: len(head) + 1] == request.messages[: len(head) + 1]
    assert fit.request.messages[-1] == request.messages[-1]
    assert (fit.left_out is None) == (fit.request == request)
    rest = iter(request.messages)
    assert all(message in rest for message in fit.request.messages)
    assert fit.request.messages == without(request.messages, fit.cut)


@given(st.lists(st.integers(0, 50), min_size=1, max_size=9), st.integers(0, 60), st.booleans())
def test_the_parts_of_a_request_add_up_to_the_whole(words: list[int], frame: int, system: bool) -> None:
    said = len(words) - system
    fixed, sizes = sizes_of(Measured(sum(words) + frame, 1000, tuple(words)), said)
    assert fixed + sum(sizes) == sum(words) + frame
    assert len(sizes) == said


class Keeping(KeepsNothing):
    """Remembers what it was told to keep."""

    keeps = True

    def __init__(self) -> None:
        self.changes: list[Change] = []

    def put(self, change: Change) -> None:
        self.changes.append(change)


async def test_a_choice_is_kept_with_the_chat_as_soon_as_that_begins_and_goes_along_with_a_copy() -> None:
    archive = Keeping()
    async with _session(FakeEngine("Fine.", facts=FACTS), archive=archive) as session:
        session.terms.choose(overflow="drop")
        assert archive.changes == []
        await _all(session.send("Hello?"))
        assert [change for change in archive.changes if isinstance(change, OptionsSet)] == [
            OptionsSet(session.chat_id, {"overflow": "drop"})
        ]
        session.terms.choose(overflow="")
        assert archive.changes[-1] == OptionsSet(session.chat_id, {"overflow": None})
        session.terms.choose(thinking="off")
        session.fork(1)
        assert archive.changes[-1] == OptionsSet(session.chat_id, {"thinking": "off"})
        assert session.terms.thinking == "off"


async def test_what_is_left_out_is_remembered_with_the_chat() -> None:
    archive = Keeping()
    async with _session(FakeEngine(_words(10), facts=FACTS), DROP, archive) as session:
        for number in range(6):
            await _all(session.send(f"{number} {_words(9)}"))
        kept = [change.options for change in archive.changes if isinstance(change, OptionsSet)]
        assert kept == [{"read_from": 6}, {"read_from": 10}]
        assert session.terms.unread == range(2, 10)
