"""The end of the program: a step that hangs is not waited for, one that ends has the engine closed in order."""

from __future__ import annotations

import asyncio
import threading

import pytest

from mtpchat.engine import service as services
from mtpchat.engine.service import EngineService
from tests.engine.test_service import REQUEST, _all, _reached
from tests.fakes import FakeEngine, Gate

FOR_EVER = 1e6


async def test_a_step_that_does_not_end_is_waited_for_no_longer_than_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "_STEP_S", 0.0)
    gate = Gate()
    engine = FakeEngine("One two.", native_step=gate)
    service = EngineService(lambda: engine)
    service.start()
    turn = asyncio.create_task(_all(service.stream(REQUEST)))
    await _reached(gate)
    assert not service.close(timeout=FOR_EVER)  # or the test would not end
    await turn
    assert not engine.closed
    gate.open()


async def test_a_step_that_ends_has_what_was_learned_kept_however_long_that_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(services, "_STEP_S", FOR_EVER)
    step, shutdown = Gate(), Gate()
    engine = FakeEngine("One two.", native_step=step, shutdown=shutdown)
    service = EngineService(lambda: engine)
    service.start()
    turn = asyncio.create_task(_all(service.stream(REQUEST)))
    await _reached(step)
    closed: list[bool] = []
    closing = threading.Thread(target=lambda: closed.append(service.close(timeout=FOR_EVER)))
    closing.start()
    step.open()
    await _reached(shutdown)
    assert not closed
    shutdown.open()
    closing.join()
    await turn
    assert closed == [True]
    assert engine.closed
