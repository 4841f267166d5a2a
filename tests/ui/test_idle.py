"""A pilot waits until nothing is left to do, and no longer."""

from __future__ import annotations

import asyncio

import pytest
from textual.app import App, ComposeResult
from textual.widgets import Static

from mtpchat.ui.on_thread import on_thread
from tests.ui.idle import wait_for_idle


class Chain(App[None]):
    """A key sets something off that goes on in many small steps, each behind the screen's next refresh."""

    def __init__(self) -> None:
        super().__init__()
        self.line = Static("0")

    def compose(self) -> ComposeResult:
        yield self.line

    def key_s(self) -> None:
        self._step(1)

    def _step(self, number: int) -> None:
        self.line.update(str(number), layout=True)
        if number < 20:
            self.call_after_refresh(self._step, number + 1)

    async def key_t(self) -> None:
        self.run_worker(self._look())

    async def _look(self) -> None:
        self.line.update(await on_thread(lambda: "from a thread"))


@pytest.mark.parametrize(("key", "end"), [("s", "20"), ("t", "from a thread")])
async def test_whatever_a_key_sets_off_is_done_when_the_press_is(key: str, end: str) -> None:
    async with Chain().run_test() as pilot:
        await pilot.press(key)
        assert str(pilot.app.query_one(Static).render()) == end


async def test_what_never_rests_is_waited_for_no_longer_than_allowed() -> None:
    async def restless() -> None:
        while True:
            await asyncio.sleep(0)

    task = asyncio.create_task(restless())
    await wait_for_idle(max_sleep=0.02)
    assert not task.done()
    task.cancel()
