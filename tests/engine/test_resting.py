"""What the engine does ahead when nobody wants anything: once, on its own thread, and never in the way."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import aclosing

from mtpchat.config import SamplingConfig
from mtpchat.engine.requests import TurnRequest
from mtpchat.engine.service import EngineService
from mtpchat.messages import Message
from tests.fakes import FakeEngine

REQUEST = TurnRequest((Message("user", "Hello?"),), SamplingConfig(seed=1))


class Resting(FakeEngine):
    """Notes its rests; each lasts until something is wanted, or ends at once."""

    def __init__(self, *, long: bool = False, fails: bool = False) -> None:
        super().__init__()
        self.rested = threading.Event()
        self.rests = 0
        self.ended = threading.Event()
        self._long, self._fails = long, fails

    def rest(self, cancelled: Callable[[], bool]) -> None:
        super().rest(cancelled)
        self.rests += 1
        self.rested.set()
        if self._fails:
            raise ZeroDivisionError
        while self._long and not cancelled():
            pass
        self.ended.set()


async def _answer(service: EngineService) -> str:
    async with aclosing(service.stream(REQUEST)) as events:
        return type([event async for event in events][-1]).__name__


async def test_the_engine_rests_on_its_own_thread_and_only_once() -> None:
    engine = Resting()
    service = EngineService(lambda: engine, idle_s=0.01)
    service.start()
    assert await asyncio.to_thread(engine.ended.wait, 20)
    assert await _answer(service) == "Finished"
    assert service.close()
    assert len(engine.threads) == 1
    assert engine.rests <= 2


async def test_a_rest_gives_way_to_a_turn_and_to_the_end() -> None:
    engine = Resting(long=True)
    service = EngineService(lambda: engine, idle_s=0.01)
    service.start()
    assert await asyncio.to_thread(engine.rested.wait, 20)
    assert await _answer(service) == "Finished"
    engine.rested.clear()
    assert await asyncio.to_thread(engine.rested.wait, 20)
    assert service.close()


async def test_a_rest_that_fails_costs_nothing() -> None:
    engine = Resting(fails=True)
    service = EngineService(lambda: engine, idle_s=0.01)
    service.start()
    assert await asyncio.to_thread(engine.rested.wait, 20)
    assert await _answer(service) == "Finished"
    assert service.close()
