"""One job at a time, whatever the engine or its listener does."""

import asyncio
import logging
import sys
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import aclosing, asynccontextmanager

import pytest

from mtpchat.backend.protocol import LoadPlan
from mtpchat.config import Config, SamplingConfig
from mtpchat.engine.requests import Engine, Progress, TurnRequest
from mtpchat.engine.service import EngineService
from mtpchat.errors import EngineClosed, EngineError, ModelUnreadable
from mtpchat.events import (
    EngineEvent,
    Failed,
    Finished,
    LoadFinished,
    Loading,
    SpeculationControl,
    TextDelta,
    TurnEvent,
    Worked,
    Working,
)
from mtpchat.messages import Message
from tests.fakes import FakeEngine, Gate

REQUEST = TurnRequest((Message("user", "Hello?"),), SamplingConfig(seed=1))
PLAN = LoadPlan("/fake.gguf", "", "auto", Config())


@asynccontextmanager
async def _running(engine: FakeEngine, before: Callable[[], None] = lambda: None) -> AsyncIterator[EngineService]:
    def open_engine() -> FakeEngine:
        before()
        return engine

    service = EngineService(open_engine)
    service.start()
    try:
        yield service
    finally:
        service.close()


async def _all(events: AsyncGenerator[EngineEvent, None]) -> list[EngineEvent]:
    async with aclosing(events):
        return [event async for event in events]


def _said(events: list[EngineEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


async def _reached(gate: Gate) -> None:
    assert await asyncio.to_thread(gate.reached.wait, 20)


async def test_a_turn_runs_on_a_thread_of_its_own_and_ends_with_finished() -> None:
    engine = FakeEngine("One two three.")
    async with _running(engine) as service:
        events = await _all(service.stream(REQUEST))
        assert _said(events) == "One two three."
        assert isinstance(events[-1], Finished)
        assert events[-1].reason == "stop"
        assert not service.busy
    assert engine.threads.isdisjoint({threading.get_ident()})
    assert engine.closed


async def test_a_load_reports_progress_and_facts() -> None:
    gate = Gate()
    engine = FakeEngine(load=gate)
    async with _running(engine) as service:
        load = service.load(PLAN)
        assert await anext(load) == Loading("fake.gguf", 0.5, 100)
        gate.open()
        rest = await _all(load)
        assert rest[-1] == LoadFinished(engine.facts)  # type: ignore[arg-type]
        assert engine.plans == [PLAN]


async def test_a_failed_load_says_why_and_the_next_job_works() -> None:
    engine = FakeEngine("Fine.", facts=ModelUnreadable("Not a GGUF.", hint="Try another file."))
    async with _running(engine) as service:
        assert (await _all(service.load(PLAN)))[-1] == Failed("Not a GGUF.", "Try another file.")
        assert _said(await _all(service.stream(REQUEST))) == "Fine."


async def test_cancel_before_the_start_means_the_engine_never_sees_the_turn() -> None:
    gate = Gate()
    engine = FakeEngine()
    async with _running(engine, before=gate.hold) as service:
        await _reached(gate)
        turn = asyncio.create_task(_all(service.stream(REQUEST)))
        while not service.busy:
            await asyncio.sleep(0)
        cancel = asyncio.create_task(service.cancel())
        await asyncio.sleep(0)
        gate.open()
        events = await turn
        await cancel
        assert isinstance(events[-1], Finished)
        assert events[-1].reason == "cancelled"
        assert engine.requests == []


async def test_cancel_during_prefill_ends_the_turn_and_the_next_one_works() -> None:
    gate = Gate()
    async with _running(FakeEngine("Fine.", prefill=gate)) as service:
        turn = asyncio.create_task(_all(service.stream(REQUEST)))
        await _reached(gate)
        await service.cancel()
        events = await turn
        assert _said(events) == ""
        assert isinstance(events[-1], Finished)
        assert events[-1].reason == "cancelled"
        gate.open()
        assert _said(await _all(service.stream(REQUEST))) == "Fine."


async def test_cancel_mid_step_keeps_what_was_said_and_waits_for_the_acknowledgement() -> None:
    gate = Gate()
    async with _running(FakeEngine("One two three.", native_step=gate)) as service:
        turn = asyncio.create_task(_all(service.stream(REQUEST)))
        await _reached(gate)
        cancel = asyncio.create_task(service.cancel())
        await asyncio.sleep(0)
        assert service.busy
        assert not cancel.done()
        gate.open()
        await cancel
        events = await turn
        assert _said(events) == "One "
        assert isinstance(events[-1], Finished)
        assert (events[-1].message.content, events[-1].message.complete) == ("One ", False)


async def test_a_load_can_be_cancelled() -> None:
    gate = Gate()
    async with _running(FakeEngine(load=gate)) as service:
        load = asyncio.create_task(_all(service.load(PLAN)))
        await _reached(gate)
        await service.cancel()
        assert isinstance((await load)[-1], Failed)


async def test_cancel_when_idle_does_nothing() -> None:
    async with _running(FakeEngine("Fine.")) as service:
        await service.cancel()
        assert _said(await _all(service.stream(REQUEST))) == "Fine."


async def test_an_exception_mid_turn_becomes_failed_is_logged_and_the_next_turn_works(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with _running(FakeEngine(ZeroDivisionError("oops"), "Fine.")) as service:
        with caplog.at_level(logging.ERROR):
            events = await _all(service.stream(REQUEST))
        assert _said(events) == "Half "
        assert isinstance(events[-1], Failed)
        assert "ZeroDivisionError: oops" in events[-1].message
        assert any(record.exc_info for record in caplog.records)
        assert _said(await _all(service.stream(REQUEST))) == "Fine."


async def test_an_error_of_ours_keeps_its_message_and_hint() -> None:
    async with _running(FakeEngine(EngineError("No.", hint="Do this."))) as service:
        assert (await _all(service.stream(REQUEST)))[-1] == Failed("No.", "Do this.")


async def test_an_engine_that_ends_without_a_result_is_reported() -> None:
    class Silent(FakeEngine):
        def turn(self, *_arguments: object) -> Iterator[TurnEvent]:
            return iter(())

    async with _running(Silent()) as service:
        events = await _all(service.stream(REQUEST))
        assert [type(event) for event in events] == [Failed]


async def test_an_engine_that_cannot_be_opened_is_reported_and_tried_again() -> None:
    attempts = iter(range(3))

    def open_engine() -> FakeEngine:
        if next(attempts) < 2:
            raise ImportError("no llama_cpp")
        return FakeEngine("Fine.")

    service = EngineService(open_engine)
    service.start()
    failed = (await _all(service.stream(REQUEST)))[-1]
    assert isinstance(failed, Failed)
    assert "no llama_cpp" in failed.message
    assert _said(await _all(service.stream(REQUEST))) == "Fine."
    assert service.close()


async def test_an_abandoned_turn_is_cancelled_and_the_next_one_never_overlaps() -> None:
    step, end = Gate(), Gate()
    engine = FakeEngine("One two.", step=step, turn_end=end)
    async with _running(engine) as service:
        events = service.stream(REQUEST)
        while not isinstance(await anext(events), TextDelta):
            pass
        closing = asyncio.create_task(events.aclose())
        await _reached(end)
        assert not closing.done()
        assert service.busy
        end.open()
        step.open()
        await closing
        assert not service.busy
        assert _said(await _all(service.stream(REQUEST))) == "One two."
        assert not engine.overlapped


async def test_a_second_turn_while_one_runs_is_refused() -> None:
    gate = Gate()
    async with _running(FakeEngine("One two.", step=gate)) as service:
        turn = asyncio.create_task(_all(service.stream(REQUEST)))
        await _reached(gate)
        with pytest.raises(EngineError, match="busy"):
            await anext(service.stream(REQUEST))
        gate.open()
        assert _said(await turn) == "One two."


async def test_control_is_read_anew_during_a_turn() -> None:
    gate = Gate()
    engine = FakeEngine("One two.", native_step=gate)
    async with _running(engine) as service:
        turn = asyncio.create_task(_all(service.stream(REQUEST)))
        await _reached(gate)
        changed = SpeculationControl("on", 1, 7, pinned=True)
        service.set_control(changed)
        gate.open()
        await turn
        assert engine.controls == [SpeculationControl(), changed]
        assert service.control == changed


async def test_close_cancels_the_turn_in_progress_and_frees_the_engine() -> None:
    gate = Gate()
    engine = FakeEngine("One two.", step=gate)
    service = EngineService(lambda: engine)
    service.start()
    turn = asyncio.create_task(_all(service.stream(REQUEST)))
    await _reached(gate)
    assert service.close()
    assert engine.closed
    assert isinstance((await turn)[-1], Finished)


async def test_close_leaves_a_hanging_engine_behind_and_tells_the_listener() -> None:
    gate = Gate()
    service = EngineService(lambda: FakeEngine("One two.", native_step=gate))
    service.start()
    turn = asyncio.create_task(_all(service.stream(REQUEST)))
    await _reached(gate)
    assert not service.close(timeout=0.01)
    events = await turn
    assert isinstance(events[-1], Failed)
    assert not service.close()
    gate.open()


async def test_a_hanging_clean_up_does_not_keep_the_program() -> None:
    gate = Gate()
    service = EngineService(lambda: FakeEngine(shutdown=gate))
    service.start()
    assert not service.close(timeout=0.01)
    gate.open()


async def test_after_close_turns_are_refused() -> None:
    service = EngineService(FakeEngine)
    service.start()
    assert service.close()
    assert service.close()
    with pytest.raises(EngineClosed):
        await anext(service.stream(REQUEST))
    with pytest.raises(EngineClosed):
        service.start()


async def test_a_service_that_was_never_started_refuses_turns_and_closes() -> None:
    service = EngineService(FakeEngine)
    with pytest.raises(EngineClosed):
        await anext(service.stream(REQUEST))
    assert service.close()


async def test_the_switch_interval_is_short_while_running_and_restored_by_close() -> None:
    before = sys.getswitchinterval()
    async with _running(FakeEngine()):
        assert sys.getswitchinterval() == pytest.approx(0.0005)
    assert sys.getswitchinterval() == pytest.approx(before)


async def test_a_task_runs_on_the_engine_thread_and_its_progress_and_result_are_events() -> None:
    engine = FakeEngine()
    seen: list[tuple[Engine, int]] = []

    def task(given: Engine, progress: Progress, _cancelled: Callable[[], bool]) -> Worked:
        seen.append((given, threading.get_ident()))
        progress("one", 1, 2)
        return Worked("done", "Title", "page")

    async with _running(engine) as service:
        events = await _all(service.work(task))
        assert events == [Working("one", 1, 2), Worked("done", "Title", "page")]
        assert not service.busy
        assert isinstance((await _all(service.stream(REQUEST)))[-1], Finished)
    assert [given for given, _ in seen] == [engine]
    assert {thread for _, thread in seen} == engine.threads


async def test_a_task_is_told_of_a_cancel_and_its_last_word_arrives() -> None:
    gate = Gate()

    def task(_engine: Engine, _progress: Progress, cancelled: Callable[[], bool]) -> Worked:
        gate.hold(cancelled)
        return Worked("stopped" if cancelled() else "not stopped")

    async with _running(FakeEngine()) as service:
        running = asyncio.create_task(_all(service.work(task)))
        await _reached(gate)
        with pytest.raises(EngineError, match="busy"):
            await anext(service.stream(REQUEST))
        await service.cancel()
        assert await running == [Worked("stopped")]
        assert not service.busy


@pytest.mark.parametrize("fault", [EngineError("That went wrong.", hint="Try again."), ValueError("oops")])
async def test_a_task_that_fails_is_an_event_and_the_engine_lives_on(fault: Exception) -> None:
    def task(_engine: Engine, _progress: Progress, _cancelled: Callable[[], bool]) -> Worked:
        raise fault

    async with _running(FakeEngine("Still here.")) as service:
        (failed,) = await _all(service.work(task))
        assert isinstance(failed, Failed)
        assert str(fault) in failed.message
        assert _said(await _all(service.stream(REQUEST))) == "Still here."
