"""Work on a thread gives, raises and is left behind."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import pytest

from mtpchat.errors import AttachmentError
from mtpchat.ui.on_thread import on_thread


async def test_what_work_gives_comes_back_from_another_thread() -> None:
    assert await on_thread(threading.get_ident) != threading.get_ident()


async def test_an_error_that_was_foreseen_is_raised_where_it_is_waited_for() -> None:
    def fail() -> None:
        raise AttachmentError("no file", hint="look")

    with pytest.raises(AttachmentError, match="no file"):
        await on_thread(fail)


async def test_a_fault_does_not_keep_anybody_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[object] = []
    monkeypatch.setattr(threading, "excepthook", told.append)

    def fail() -> None:
        raise KeyError("x")

    with pytest.raises(RuntimeError):
        await on_thread(fail)
    while not told:
        await asyncio.sleep(0)


async def test_whoever_is_cancelled_leaves_the_work_behind() -> None:
    gate, began = threading.Event(), threading.Event()

    def hold() -> Callable[[], None]:
        began.set()
        gate.wait(20)
        return gate.set

    waiting = asyncio.ensure_future(on_thread(hold))
    while not began.is_set():
        await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    gate.set()
