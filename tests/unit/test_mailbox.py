"""Between engine and screen no text is lost, and the final event comes once and last."""

import asyncio
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtpchat.engine.mailbox import Mailbox, call_on_loop
from mtpchat.events import (
    EngineEvent,
    Failed,
    Finished,
    LoadFinished,
    Loading,
    ModelFacts,
    Prefilling,
    StatsTick,
    TextDelta,
    Worked,
    Working,
)
from mtpchat.messages import Message
from mtpchat.stats import TurnStats

FINISHED = Finished(Message("assistant", "done"), TurnStats(), "stop")
LOADED = LoadFinished(ModelFacts("m", "/m", "a", "none", ""))

_EVENTS = st.one_of(
    st.builds(
        TextDelta,
        st.text("ab", min_size=1, max_size=3),
        st.sampled_from(["answer", "thinking"]),
        st.sampled_from(["", "mtp"]),
    ),
    st.builds(lambda n: StatsTick(TurnStats(output_tokens=n)), st.integers(0, 9)),
    st.builds(Prefilling, st.integers(0, 9), st.just(9)),
    st.builds(Loading, st.just("m"), st.floats(0, 1)),
    st.builds(Working, st.just("w"), st.integers(0, 9), st.just(9)),
)
_PAUSE = st.just(None)


async def _exchange(script: list[EngineEvent | None], final: EngineEvent, *, in_thread: bool) -> list[EngineEvent]:
    """Put the script (None lets the reader have a turn) and then the final event; gives what was read."""
    mailbox = Mailbox(asyncio.get_running_loop(), rest_s=0)

    async def read() -> list[EngineEvent]:
        return [event async for event in mailbox.events()]

    def write() -> None:
        for event in script:
            if event is not None:
                mailbox.put(event)
        mailbox.put(final)

    reader = asyncio.create_task(read())
    if in_thread:
        await asyncio.to_thread(write)
        return await reader
    for event in script:
        if event is None:
            for _ in range(4):
                await asyncio.sleep(0)
        else:
            mailbox.put(event)
    mailbox.put(final)
    return await reader


def _text(events: list[EngineEvent]) -> list[tuple[str, str, str]]:
    """Runs of text, one entry per change of channel or source."""
    runs: list[tuple[str, str, str]] = []
    for event in events:
        if not isinstance(event, TextDelta):
            continue
        whose = (event.channel, event.drafted)
        if runs and runs[-1][:2] == whose:
            runs[-1] = (*whose, runs[-1][2] + event.text)
        else:
            runs.append((*whose, event.text))
    return runs


@given(
    st.lists(st.one_of(_EVENTS, _PAUSE), max_size=30),
    st.sampled_from([FINISHED, Failed("no"), LOADED, Worked("so")]),
    st.booleans(),
)
def test_text_and_its_order_survive_and_the_final_event_comes_once_and_last(
    script: list[EngineEvent | None], final: EngineEvent, in_thread: bool
) -> None:
    put = [event for event in script if event is not None]
    read = asyncio.run(_exchange(script, final, in_thread=in_thread))
    assert _text(read) == _text(put)
    assert read[-1] == final
    assert sum(isinstance(event, (Finished, Failed, LoadFinished, Worked)) for event in read) == 1
    for kind in (StatsTick, Prefilling, Loading, Working):
        latest = [event for event in put if isinstance(event, kind)][-1:]
        assert [event for event in read if isinstance(event, kind)][-1:] == latest


@given(st.lists(_EVENTS, min_size=1, max_size=30))
def test_what_waits_is_merged(script: list[EngineEvent]) -> None:
    read = asyncio.run(_exchange(list(script), FINISHED, in_thread=False))
    assert len(_text(read)) == sum(isinstance(event, TextDelta) for event in read)
    for kind in (StatsTick, Prefilling, Loading, Working):
        assert sum(isinstance(event, kind) for event in read) <= 1


async def test_counters_are_delivered_behind_the_text_they_followed() -> None:
    first, second = StatsTick(TurnStats(output_tokens=1)), StatsTick(TurnStats(output_tokens=2))
    read = await _exchange([TextDelta("a"), first, TextDelta("b"), second], FINISHED, in_thread=False)
    assert read == [TextDelta("ab"), second, FINISHED]


async def test_nothing_is_accepted_after_the_final_event() -> None:
    mailbox = Mailbox(asyncio.get_running_loop(), rest_s=0)
    assert mailbox.put(FINISHED)
    assert not mailbox.put(TextDelta("late"))
    assert not mailbox.put(Failed("twice"))
    assert [event async for event in mailbox.events()] == [FINISHED]


async def test_the_loop_is_woken_only_when_the_mailbox_was_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = asyncio.get_running_loop()
    wakes = 0
    really = loop.call_soon_threadsafe

    def count(*arguments: object) -> object:
        nonlocal wakes
        wakes += 1
        return really(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(loop, "call_soon_threadsafe", count)
    mailbox = Mailbox(loop, rest_s=0)
    for _ in range(100):
        mailbox.put(TextDelta("a"))
    assert wakes == 1
    mailbox.put(FINISHED)
    assert wakes == 2


async def test_a_final_event_does_not_wait_for_the_readers_pause() -> None:
    mailbox = Mailbox(asyncio.get_running_loop(), rest_s=3600)
    mailbox.put(TextDelta("a"))
    events = mailbox.events()
    assert await anext(events) == TextDelta("a")
    mailbox.put(FINISHED)
    assert await anext(events) == FINISHED


def test_putting_into_the_mailbox_of_a_closed_loop_is_harmless() -> None:
    loop = asyncio.new_event_loop()
    mailbox = Mailbox(loop)
    loop.close()
    assert mailbox.put(TextDelta("a"))
    assert mailbox.put(FINISHED)


async def test_callbacks_from_another_thread_run_on_the_loop() -> None:
    done = asyncio.Event()
    where: list[int] = []

    def callback() -> None:
        where.append(threading.get_ident())
        done.set()

    await asyncio.to_thread(call_on_loop, asyncio.get_running_loop(), callback)
    await done.wait()
    assert where == [threading.get_ident()]
