"""Runs one load, turn or job at a time; what is typed meanwhile waits its turn."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeVar

from mtpchat.config_schema import replace_values
from mtpchat.errors import AttachmentError, CommandError, ContextFull, Interrupted, MessageTooLong, MtpChatError
from mtpchat.events import Failed, Finished
from mtpchat.fitting import FitChoice
from mtpchat.messages import Attachment
from mtpchat.ui.chips import Written
from mtpchat.ui.errands import Errands
from mtpchat.ui.presenter import Presenter
from mtpchat.ui.waiting import Job, WaitingLine

if TYPE_CHECKING:
    from mtpchat.commands.base import RunTask
    from mtpchat.config import SamplingConfig
    from mtpchat.engine.session import Session
    from mtpchat.events import JobEvent, TurnEvent

_log = logging.getLogger(__name__)
_GOODBYE_S = 0.5

T = TypeVar("T")
Group = Literal["turn", "load", "cancel", "fetch"]
StartWorker = Callable[[Callable[[], Coroutine[None, None, None]], Group], object]
"""Takes what makes the coroutine: one that is made, and never begun because the app leaves, is complained about."""
ShowJob = Callable[[AsyncIterator["JobEvent"]], Awaitable[None]]
AskFit = Callable[[Failed], Awaitable[FitChoice | None]]


@asynccontextmanager
async def closing_soon(stream: AsyncGenerator[T, None]) -> AsyncIterator[AsyncGenerator[T, None]]:
    """Like contextlib.aclosing, but an engine that does not answer cannot keep the app from leaving."""
    try:
        yield stream
    finally:
        try:
            await asyncio.wait_for(stream.aclose(), _GOODBYE_S)
        except TimeoutError:
            _log.warning("the engine did not acknowledge within %.1f s", _GOODBYE_S)


def _came_to_nothing(event: TurnEvent) -> bool:
    """Whether a turn ends here without a word."""
    match event:
        case Failed(partial=None):
            return True
        case Finished(message, reason="cancelled"):
            return not message.content and not message.thinking
        case _:
            return False


async def _no_files(_job: Job) -> tuple[Attachment, ...]:
    return ()


class TurnController:
    """Decides what runs next.

    Attributes:
        line: what waits.
        preparing: a message whose files are being read, so that it is not sent yet.
        was_full: called when something did not fit into the context, and could if the chat took less of it.

    Args:
        start: starts a coroutine as an exclusive worker of a group.
        changed: called when `busy` may have changed.
        ask_fit: asks which of the choices to take when a load does not fit into memory.
        errands: shows jobs over the loaded model.
    """

    def __init__(
        self,
        session: Session,
        presenter: Presenter,
        start: StartWorker,
        changed: Callable[[], None],
        ask_fit: AskFit,
        *,
        errands: Errands,
    ) -> None:
        self._session = session
        self._presenter = presenter
        self._start = start
        self._changed = changed
        self._ask_fit = ask_fit
        self._errands = errands
        self._errand: RunTask | None = None
        self._show_job: ShowJob | None = None
        self.was_full: Callable[[], None] = lambda: None
        self._working = False
        self.line = WaitingLine()
        self.preparing = Written("")
        self._loading = False
        self._leaving = False
        self._running = False
        self._ended = False
        self._reload_wanted = False
        self.files_of: Callable[[Job], Awaitable[tuple[Attachment, ...]]] = _no_files
        """Reads what goes along with a message. Raises AttachmentError."""
        self.not_sent: Callable[[Written], None] = lambda _written: None
        """Told of a message that could not be sent."""

    @property
    def can_stop(self) -> bool:
        """Whether there is anything left to stop: an answer that has ended may still be drawn for a moment."""
        return self._loading or self._working or (self._running and not self._ended)

    @property
    def busy(self) -> bool:
        """Whether a load, a turn or a job is in progress."""
        return self._loading or self._running or self._working

    @property
    def running(self) -> bool:
        """Whether an answer is in progress."""
        return self._running

    def load(self) -> None:
        """Load what the session's config names; whatever is in progress is stopped first."""
        self._reload_wanted = True
        if self.busy:
            self._start(self._session.cancel, "cancel")
            return
        self._next()

    async def submit(self, written: Written) -> None:
        """Send a message now, or when it is its turn. One that was taken out of the line to be edited goes back."""
        if not self.line.put_back(written) and written.text.strip():
            self.line.add(Job("send", written))
        self.line.paused = False
        if len(self.line) and self._session.facts is None and not self.busy:
            await self._presenter.notice(
                "No model is loaded. It is sent once there is one: /model lists them, /pull fetches one", warning=True
            )
        self.go_on()

    def go_on(self) -> None:
        """Begin with what is next, unless something runs."""
        self._next()

    def answer(
        self,
        what: Literal["retry", "continue"],
        index: int | None = None,
        sampling: SamplingConfig | None = None,
        seed: int | None = None,
    ) -> None:
        """Answer a message anew, or carry the last answer on.

        Args:
            index: of the user's message, for "retry"; None is the last one.
            sampling, seed: for this one answer; None is what the chat has.

        Raises:
            CommandError: no model is loaded, nor being loaded.
        """
        self._require_model()
        self.line.add(Job(what, index=index, sampling=sampling, seed=seed))
        self._next()

    def edit(self, index: int, text: str) -> None:
        """Put a message of the user differently, beside what it says now, and answer that. Raises as `answer` does."""
        self._require_model()
        self.line.add(Job("edit", Written(text), index))
        self._next()

    def _require_model(self) -> None:
        if self._session.facts is None and not self.busy:
            raise CommandError("No model is loaded", hint="/model lists them, /pull fetches one.")

    def work(self, errand: RunTask, show: ShowJob | None = None) -> None:
        """Do something else over the loaded model, before prompts that wait.

        Args:
            show: shows its events; without one, a line of the chat does.
        """
        self._errand, self._show_job = errand, show
        self._next()

    def interrupt(self) -> None:
        """Stop what is in progress; what waits goes on waiting."""
        if self.busy:
            self._start(self._session.cancel, "cancel")

    def leave(self) -> None:
        """The app is about to end: what is in progress is stopped while the screen goes, and nothing else begins."""
        self._leaving = True
        self.interrupt()

    def stop(self) -> None:
        """Stop what is in progress; nothing waits any more."""
        self.line.clear()
        self._errand = None
        self._changed()
        self.interrupt()

    def _next(self) -> None:
        task = asyncio.current_task()
        # Cancelled: the app leaves, too, and what waits stays unsent.
        if self.busy or self._leaving or (task is not None and task.cancelling()):
            self._changed()
            return
        if self._reload_wanted:
            self._reload_wanted = False
            self._loading = True
            self._presenter.load_begins(self._session.config.model.path)
            self._start(self._load, "load")
        elif self._errand is not None:
            errand, self._errand, self._working = self._errand, None, True
            self._presenter.work_begins()
            self._start(partial(self._work, errand), "turn")
        elif self._session.facts is not None and (job := self.line.next()) is not None:
            self._running, self._ended = True, False
            self._start(partial(self._turn, job), "turn")
        self._changed()

    async def _load(self) -> None:
        unfit: Failed | None = None
        try:
            async with closing_soon(self._session.load()) as events:
                async for event in events:
                    if isinstance(event, Failed) and event.choices:
                        unfit = event
                    else:
                        await self._presenter.load_event(event)
            if unfit is not None:
                await self._offer(unfit)
        except MtpChatError as error:
            await self._presenter.error(error.message, error.hint)
        except Exception as error:  # noqa: BLE001  one of three catch-alls: a fault of ours must not end the chat
            _log.exception("the load broke")
            await self._presenter.error(f"The load broke: {error}", "The log has the details.")
        finally:
            self._loading = False
            self._presenter.idle()
            self._next()

    async def _offer(self, failed: Failed) -> None:
        """Let the user choose what to keep, and load once more with that."""
        self._presenter.idle()
        choice = await self._ask_fit(failed)
        if choice is None:
            await self._presenter.load_event(failed)
            return
        session = self._session
        session.config = replace_values(session.config, choice.settings)
        session.set_control(replace(session.control, kind=""))
        await self._presenter.notice(f"Loading with {choice.label}, for this run")
        self._reload_wanted = True

    async def _work(self, errand: RunTask) -> None:
        try:
            async with closing_soon(self._session.work(errand.task)) as events:
                await (self._show_job(events) if self._show_job else self._errands.follow(errand.command, events))
        except MtpChatError as error:
            await self._presenter.error(error.message, error.hint)
        except Exception as error:  # noqa: BLE001  a fault of ours must not end the chat
            _log.exception("%s broke", errand.command)
            await self._presenter.error(
                f"{errand.command} broke: {error}", "The chat goes on; the log has the details."
            )
        finally:
            self._working = False
            self._presenter.idle()
            self._next()

    async def _turn(self, job: Job) -> None:
        try:
            files = await self._files(job)
            if job.kind == "send":
                await self._presenter.user_said(job.written.text, files)
            await self._presenter.turn_begins(job.kind, job.index, job.written.text, files)
            async with closing_soon(self._stream(job, files)) as events:
                async for event in events:
                    if isinstance(event, (Finished, Failed)):
                        self._ended = True
                        self._changed()
                    if job.kind == "retry" and _came_to_nothing(event):
                        await self._presenter.show_chat(self._session.messages)  # the session kept the old answer
                    await self._presenter.turn_event(event)
        except AttachmentError as error:  # nothing was sent: the text goes back to where it came from
            self.not_sent(job.written)
            await self._presenter.error(error.message, error.hint)
        except (ContextFull, Interrupted) as error:  # neither was this: the session is as it was before
            await self._refused(job, error)
        except MtpChatError as error:
            await self._presenter.turn_broke(error.message, error.hint)
        except Exception as error:  # noqa: BLE001  one of three catch-alls: a failed turn never ends the app
            _log.exception("the turn broke")
            await self._presenter.turn_broke(f"The turn broke: {error}", "The chat goes on; the log has the details.")
        finally:
            self._running = False
            self._presenter.idle()
            self._next()

    async def _files(self, job: Job) -> tuple[Attachment, ...]:
        """What goes along. Until that is known nobody has the message yet."""
        self.preparing = job.written
        try:
            return await self.files_of(job)
        finally:
            self.preparing = Written("")

    async def _refused(self, job: Job, error: ContextFull | Interrupted) -> None:
        """It does not fit, or was stopped before that was known: what waits would fare no better."""
        await self._presenter.turn_refused(job.kind, self._session.messages)
        self.not_sent(job.written)
        self.line.paused = True
        if isinstance(error, ContextFull):
            await self._presenter.error(error.message, error.hint)
            if not isinstance(error, MessageTooLong):
                self.was_full()

    def _stream(self, job: Job, files: tuple[Attachment, ...]) -> AsyncGenerator[TurnEvent, None]:
        match job.kind:
            case "send":
                return self._session.send(job.written.text, files)
            case "retry":
                return self._session.retry(job.index, job.sampling, job.seed)
            case "edit":
                return self._session.edit(job.index or 0, job.written.text, files)
            case "continue":
                return self._session.continue_last()
