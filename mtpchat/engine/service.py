"""The engine thread, seen from the event loop.

One daemon thread of our own owns every native object from load to free. It works off one job at a time, so two turns
can never touch one llama context; the loop only puts jobs in and reads events. A daemon thread, because a native call
cannot be interrupted and must not keep the program from ending.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import queue
import sys
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import TypeVar, cast

from mtpchat.backend.protocol import CancelFlag, LoadPlan
from mtpchat.engine.mailbox import REST_S, Mailbox, call_on_loop
from mtpchat.engine.requests import Engine, Task, TurnRequest
from mtpchat.errors import DoesNotFit, EngineClosed, EngineError, Interrupted, LoadCancelled, MtpChatError
from mtpchat.events import (
    EngineEvent,
    Failed,
    Finished,
    JobEvent,
    LoadEvent,
    LoadFinished,
    Loading,
    Measured,
    SpeculationControl,
    TurnEvent,
    Worked,
    Working,
)
from mtpchat.messages import Message
from mtpchat.stats import TurnStats

_log = logging.getLogger(__name__)

_Result = TypeVar("_Result", Measured, Worked)

IDLE_S = 3.0
_STEP_S = 0.5
"""A step that takes longer than that is not waited for when the program ends."""

STOPPED_AT_ONCE = Finished(Message("assistant", "", complete=False), TurnStats(), "cancelled")
"""How a turn ends that was stopped before the engine had begun with it."""

_SWITCH_INTERVAL_S = 0.0005
"""How long a Python thread may keep the interpreter from the others. At the default of 5 ms the engine waits for the
screen after every native call: a model with 2 ms per token fell to half its speed."""


class EngineService:
    """Owns the engine thread. All methods are called from the asyncio thread."""

    def __init__(self, open_engine: Callable[[], Engine], *, rest_s: float = REST_S, idle_s: float = IDLE_S) -> None:
        """`open_engine` runs on the engine thread, where the native library is imported.

        Args:
            rest_s: pause between two looks at what the engine says; see Mailbox. A final event is seen at once.
            idle_s: after so long without a job the engine may do what can be done ahead; see Engine.rest.
        """
        self._idle_s = idle_s
        self._open_engine = open_engine
        self._rest_s = rest_s
        self._control = SpeculationControl()
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._job: _Job | None = None
        self._asides: set[_Job] = set()
        self._thread: threading.Thread | None = None
        self._closed = False
        self._engine: Engine | None = None
        self._at_rest = threading.Event()
        self._at_rest.set()
        self._previous_switch_interval_s = 0.0

    def start(self) -> None:
        """Start the thread and open the engine there; returns at once. Starting twice does nothing."""
        if self._closed:
            raise EngineClosed("The engine was closed.")
        if self._thread is not None:
            return
        self._previous_switch_interval_s = sys.getswitchinterval()
        sys.setswitchinterval(_SWITCH_INTERVAL_S)
        self._thread = threading.Thread(target=self._serve, name="mtpchat-engine", daemon=True)
        self._thread.start()

    @property
    def control(self) -> SpeculationControl:
        """What is wanted of speculation."""
        return self._control

    def set_control(self, control: SpeculationControl) -> None:
        """Takes effect before the next step, also within a running turn."""
        self._control = control

    @property
    def busy(self) -> bool:
        """True while a job is queued or in progress."""
        return self._job is not None

    async def load(self, plan: LoadPlan) -> AsyncGenerator[LoadEvent, None]:
        """Load a model: Loading*, then LoadFinished or Failed. Closing the generator cancels the load."""
        async with aclosing(self._run(_load_work(plan))) as events:
            async for event in events:
                yield cast(LoadEvent, event)

    async def stream(self, request: TurnRequest) -> AsyncGenerator[TurnEvent, None]:
        """One turn: ..., then Finished or Failed. Closing the generator cancels the turn and waits until it has ended.

        Raises:
            EngineError: another job is in progress.
            EngineClosed: not started, or closed.
        """
        async with aclosing(self._run(_turn_work(request, lambda: self._control))) as events:
            async for event in events:
                yield cast(TurnEvent, event)

    async def work(self, task: Task) -> AsyncGenerator[JobEvent, None]:
        """Something else over the synchronous engine: Working*, then Worked or Failed. Closing the generator stops it.

        Raises:
            EngineError: another job is in progress.
            EngineClosed: not started, or closed.
        """
        async with aclosing(self._run(_task_work(task))) as events:
            async for event in events:
                yield cast(JobEvent, event)

    async def measure(self, request: TurnRequest) -> Measured:
        """How much of the context a request would take. Nothing is decoded, and `busy` stays as it is.

        Whatever else begins meanwhile gives this up. Cancelling the caller does so, too.

        Raises:
            EngineError: a job is in progress, or nothing is loaded.
            Interrupted: it was given up.
            EngineClosed: not started, or closed.
        """
        return await self._beside(_measure_work(request), Measured)

    async def aside(self, task: Task) -> Worked:
        """Something small over the engine that gives way: `busy` stays as it is. Otherwise like `measure`.

        Raises Interrupted, too, where a job is in progress already.
        """
        if self.busy:
            raise Interrupted("The engine is busy.")
        return await self._beside(_task_work(task), Worked)

    async def _beside(self, work: _Work, result: type[_Result]) -> _Result:
        self._refuse_if_occupied()
        for aside in self._asides:
            if aside.gives_way:
                aside.cancelled.set()
        job = _Job(work, asyncio.get_running_loop(), self._rest_s, gives_way=result is Worked)
        self._asides.add(job)
        self._jobs.put(job)
        async with aclosing(self._follow(job)) as events:
            async for event in events:
                if isinstance(event, result):
                    if job.cancelled() and result is Worked:
                        raise Interrupted("It was given up for something else.")
                    return event
                if isinstance(event, Failed):
                    raise (Interrupted if job.cancelled() else EngineError)(event.message, hint=event.hint)
        raise EngineError("The engine ended without a result.")

    async def cancel(self) -> None:
        """Stop the job in progress and wait until the engine has acknowledged; does nothing when idle."""
        jobs = [*self._asides, *([self._job] if self._job is not None else [])]
        for job in jobs:
            job.cancelled.set()
        for job in jobs:
            await job.done.wait()

    def close(self, timeout: float = 2.5) -> bool:
        """End the thread; further jobs are refused.

        A job that does not end within half a second is left in its native call: what it has said is with the session
        already. One that ends has the engine closed, which keeps what was learned and remembered.

        Args:
            timeout: seconds to wait for the engine to be closed.

        Returns:
            False if the thread is still in a native call; it is a daemon, so the process may exit.
        """
        if self._closed:
            return self._thread is None or not self._thread.is_alive()
        self._closed = True
        thread = self._thread
        jobs = [*self._asides, *([self._job] if self._job is not None else [])]
        if thread is None:
            return True
        for job in jobs:
            job.cancelled.set()
        self._jobs.put(None)
        if self._at_rest.wait(min(_STEP_S, timeout)):
            thread.join(timeout)
        sys.setswitchinterval(self._previous_switch_interval_s)
        if not thread.is_alive():
            return True
        _log.warning("the engine thread is still in a native call; it is left behind")
        for job in jobs:
            job.mailbox.put(Failed("The engine was closed while it worked."))
            call_on_loop(job.loop, functools.partial(self._acknowledge, job))
        return False

    def _refuse_if_occupied(self) -> None:
        if self._closed or self._thread is None:
            raise EngineClosed("The engine is not running.")
        if self._job is not None:
            raise EngineError("The engine is busy.", hint="Wait for the answer, or stop it with Esc.")

    async def _run(self, work: _Work) -> AsyncGenerator[EngineEvent, None]:
        self._refuse_if_occupied()
        for aside in self._asides:
            aside.cancelled.set()
        job = _Job(work, asyncio.get_running_loop(), self._rest_s)
        self._job = job
        self._jobs.put(job)
        async with aclosing(self._follow(job)) as events:
            async for event in events:
                yield event

    @staticmethod
    async def _follow(job: _Job) -> AsyncGenerator[EngineEvent, None]:
        """The events of a job that is queued."""
        try:
            async with aclosing(job.mailbox.events()) as events:
                async for event in events:
                    yield event
        finally:
            # Whoever stops listening ends the job; only then may the next one begin.
            job.cancelled.set()
            await job.done.wait()

    def _acknowledge(self, job: _Job) -> None:
        job.done.set()
        self._asides.discard(job)
        if self._job is job:
            self._job = None

    # From here on: engine thread.

    def _serve(self) -> None:
        try:
            self._engine = self._open_engine()
        except Exception as fault:  # noqa: BLE001 - a missing library must be shown, not end the thread; the next job tries again
            _log.warning("the engine did not open", exc_info=fault)
        while (job := self._next_job()) is not None:
            self._perform(job)
        if self._engine is None:
            return
        try:
            self._engine.close()
        except Exception as fault:  # noqa: BLE001 - nobody is left to tell but the log
            _log.error("the engine did not close cleanly", exc_info=fault)

    def _next_job(self) -> _Job | None:
        """The next one; the engine rests once if it is long in coming."""
        try:
            return self._jobs.get(timeout=self._idle_s)
        except queue.Empty:
            pass
        try:
            if self._engine is not None:
                self._engine.rest(lambda: not self._jobs.empty())
        except Exception as fault:  # noqa: BLE001 - what is done ahead is not needed by anybody
            _log.error("the engine did not rest well", exc_info=fault)
        return self._jobs.get()

    def _perform(self, job: _Job) -> None:
        self._at_rest.clear()
        try:
            self._engine = self._engine or self._open_engine()
            job.work(self._engine, job)
            if job.mailbox.put(Failed("The engine ended without a result.")):
                _log.error("a job ended without a final event")
        except Exception as fault:  # noqa: BLE001 - the one place where any fault of the engine becomes an event
            self._report(job, fault)
        finally:
            self._at_rest.set()
            call_on_loop(job.loop, lambda: self._acknowledge(job))

    @staticmethod
    def _report(job: _Job, fault: Exception) -> None:
        if isinstance(fault, MtpChatError):
            _log.info("job failed: %s", fault)
            choices = fault.choices if isinstance(fault, DoesNotFit) else ()
            job.mailbox.put(Failed(fault.message, fault.hint, choices=choices))
            return
        _log.error("the engine raised", exc_info=fault)
        job.mailbox.put(
            Failed(
                f"The engine failed: {type(fault).__name__}: {fault}", "The log file has the details; the chat goes on."
            )
        )


_Work = Callable[[Engine, "_Job"], None]


class _Job:
    """One piece of work and the way its events go back."""

    __slots__ = ("cancelled", "done", "gives_way", "loop", "mailbox", "work")

    def __init__(self, work: _Work, loop: asyncio.AbstractEventLoop, rest_s: float, *, gives_way: bool = False) -> None:
        self.work = work
        self.gives_way = gives_way
        self.loop = loop
        self.mailbox = Mailbox(loop, rest_s=rest_s)
        self.cancelled = CancelFlag()
        self.done = asyncio.Event()


def _load_work(plan: LoadPlan) -> _Work:
    def work(engine: Engine, job: _Job) -> None:
        if job.cancelled():
            raise LoadCancelled("The load was stopped.")
        facts = engine.load(plan, lambda *report: _put_progress(job, *report), job.cancelled)
        job.mailbox.put(LoadFinished(facts))

    return work


def _put_progress(job: _Job, what: str, fraction: float, total_bytes: int) -> None:
    job.mailbox.put(Loading(what, fraction, total_bytes))


def _turn_work(request: TurnRequest, control: Callable[[], SpeculationControl]) -> _Work:
    def work(engine: Engine, job: _Job) -> None:
        if job.cancelled():
            job.mailbox.put(STOPPED_AT_ONCE)
            return
        # Read to its end, not to its final event: what the engine does last must be done before the next job.
        for event in engine.turn(request, control, job.cancelled):
            job.mailbox.put(event)

    return work


def _measure_work(request: TurnRequest) -> _Work:
    def work(engine: Engine, job: _Job) -> None:
        job.mailbox.put(engine.measure(request, job.cancelled))

    return work


def _task_work(task: Task) -> _Work:
    def work(engine: Engine, job: _Job) -> None:
        if job.cancelled():
            job.mailbox.put(Worked("stopped before it began"))
            return

        def progress(what: str, done: int, total: int) -> None:
            job.mailbox.put(Working(what, done, total))

        job.mailbox.put(task(engine, progress, job.cancelled))

    return work
