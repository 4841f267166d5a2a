"""The conversation and the settings in force.

Single-threaded: everything here runs on the event loop. Whatever happens to a turn, the user's message stays, and so
does every word of the answer that was read.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import replace

import msgspec

from mtpchat.backend.protocol import LoadPlan
from mtpchat.chats import KeptChat, as_message
from mtpchat.config import Config
from mtpchat.config_schema import template_values
from mtpchat.engine.answer import Answer
from mtpchat.engine.archive import Archive, KeepsNothing
from mtpchat.engine.chronicle import Chronicle
from mtpchat.engine.requests import Task, TurnRequest
from mtpchat.engine.service import EngineService
from mtpchat.engine.wanted import control_of
from mtpchat.errors import CommandError, EngineError
from mtpchat.events import (
    Failed,
    Finished,
    JobEvent,
    LoadEvent,
    LoadFinished,
    ModelFacts,
    Prefilling,
    SpeculationControl,
    StatsTick,
    TextDelta,
    TurnEvent,
)
from mtpchat.messages import Attachment, Message
from mtpchat.report import SpeculationReport
from mtpchat.stats import TurnStats, summed

_SEEDS = 2**31  # drawn ones stay short enough to be typed again
_SEED_LIMIT = 2**63


class Session:
    """One conversation with one engine.

    Attributes:
        config: settings in force; assign to replace them. Sampling and speculation of the running chat live in it.
        system: the system message; "" is none.
    """

    def __init__(
        self,
        service: EngineService,
        config: Config,
        draw_seed: Callable[[], int] = lambda: secrets.randbelow(_SEEDS),
        archive: Archive | None = None,
    ) -> None:
        """`draw_seed` gives the seed of a turn when the settings fix none; `archive` keeps the chat."""
        self.config = config
        self.system = config.ui.system
        self._service = service
        self._draw_seed = draw_seed
        self._messages: list[Message] = []
        self._facts: ModelFacts | None = None
        self._stats: TurnStats | None = None
        self._totals = TurnStats(plain_s=0.0)
        self._report: SpeculationReport | None = None
        self._seed: int | None = None
        self._attempt = 0
        self._busy = False
        self._chronicle = Chronicle(archive or KeepsNothing())
        service.set_control(control_of(config))

    @property
    def messages(self) -> tuple[Message, ...]:
        """What was said, without the system message."""
        return tuple(self._messages)

    @property
    def facts(self) -> ModelFacts | None:
        """The model that is loaded."""
        return self._facts

    @property
    def stats(self) -> TurnStats | None:
        """Counters of the running turn, or of the last one."""
        return self._stats

    @property
    def totals(self) -> TurnStats:
        """Counters and times summed over the finished turns of this chat."""
        return self._totals

    @property
    def report(self) -> SpeculationReport | None:
        """What the controller of speculation last told of itself; None before the first answer of a model."""
        return self._report

    @property
    def seed(self) -> int | None:
        """Seed of the last turn."""
        return self._seed

    @property
    def busy(self) -> bool:
        """True while a turn or load is in progress."""
        return self._busy or self._service.busy

    @property
    def archive(self) -> Archive:
        """Where the chat is kept."""
        return self._chronicle.archive

    @property
    def title(self) -> str:
        """Title of the chat; "" before its first message."""
        return self._chronicle.title

    def rename(self, title: str) -> None:
        """Give the chat another title. Raises CommandError before its first message."""
        if not self._chronicle.title:
            raise CommandError("There is no chat to name yet.", hint="Send a message first.")
        self._chronicle.rename(title)

    @property
    def control(self) -> SpeculationControl:
        """What is wanted of speculation."""
        return self._service.control

    def set_control(self, control: SpeculationControl) -> None:
        """Takes effect at the next token, also within a running answer."""
        self._service.set_control(control)
        wanted = msgspec.structs.replace(
            self.config.speculative,
            mode=control.mode,
            draft_min=control.draft_min,
            draft_max=control.draft_max,
            pinned=control.pinned,
        )
        self.config = msgspec.structs.replace(self.config, speculative=wanted)

    def set_sampling(self, key: str, value: str) -> object:
        """Change one sampling setting from the next turn on.

        Args:
            key: e.g. "temperature"; "sampling.temperature" is fine too.
            value: as the user typed it.

        Returns:
            The value as it is understood.

        Raises:
            ConfigError: unknown key (names the nearest), wrong type or out of range.
        """
        from mtpchat.config_file import set_value

        name = key.removeprefix("sampling.")
        self.config = set_value(self.config, f"sampling.{name}", value)
        return getattr(self.config.sampling, name)

    def plan(self) -> LoadPlan:
        """What the settings ask to load."""
        speculative = self.config.speculative
        return LoadPlan(self.config.model.path, speculative.drafter, speculative.kind, self.config)

    async def load(self) -> AsyncGenerator[LoadEvent, None]:
        """Load what the settings name; the conversation stays. Raises EngineError while busy."""
        self._refuse_if_busy()
        self._busy = True
        self._facts = self._report = None
        try:
            async with aclosing(self._service.load(self.plan())) as events:
                async for event in events:
                    if isinstance(event, LoadFinished):
                        self._facts = event.facts
                    yield event
        finally:
            self._busy = False

    async def work(self, task: Task) -> AsyncGenerator[JobEvent, None]:
        """Do something else over the loaded model; conversation and counters stay. Raises EngineError while busy."""
        self._refuse_if_busy()
        self._busy = True
        try:
            async with aclosing(self._service.work(task)) as events:
                async for event in events:
                    yield event
        finally:
            self._busy = False

    def send(self, text: str, attachments: tuple[Attachment, ...] = ()) -> AsyncGenerator[TurnEvent, None]:
        """Say something and read the answer. The message is part of the conversation from the first event on.

        Args:
            attachments: files that go to the model with it, above the text.

        Raises:
            CommandError: the text is empty, and nothing goes with it.
            EngineError: busy; also raised when the iteration begins.
        """
        if not text.strip() and not attachments:
            raise CommandError("There is nothing to send.", hint="Type a message first.")
        self._refuse_if_busy()

        def begin() -> Answer:
            self._messages.append(Message("user", text, attachments=attachments))
            self._attempt = 0
            return Answer(self._next_seed())

        return self._turn(begin)

    def retry(self) -> AsyncGenerator[TurnEvent, None]:
        """Drop the last answer and generate it anew with another seed. If nothing comes of it, the old one returns.

        Raises:
            CommandError: nothing was said yet.
            EngineError: busy; also raised when the iteration begins.
        """
        self._refuse_if_busy()
        if not any(message.role == "user" for message in self._messages):
            raise CommandError("There is nothing to retry.", hint="Send a message first.")

        def begin() -> Answer:
            dropped = self._messages.pop() if self._messages[-1].role == "assistant" else None
            self._attempt += 1
            return Answer(self._next_seed(), dropped=dropped)

        return self._turn(begin)

    def continue_last(self) -> AsyncGenerator[TurnEvent, None]:
        """Carry on an answer that was stopped or ran out of room; Finished carries the whole message.

        Raises:
            CommandError: there is no unfinished answer.
            EngineError: busy; also raised when the iteration begins.
        """
        self._refuse_if_busy()
        if not self._messages or self._messages[-1].role != "assistant":
            raise CommandError("There is no answer to continue.", hint="/retry asks for one.")
        if self._messages[-1].complete:
            raise CommandError("The last answer is complete.", hint="/retry generates it anew.")

        def begin() -> Answer:
            # The seed of the beginning: the words are then those that would have come without the stop.
            seed = self._next_seed() if self._seed is None else self._seed
            return Answer(seed, begun=self._messages[-1])

        return self._turn(begin)

    def undo(self) -> str:
        """Take back the last user message and its answer; gives the user's text, "" when there was none."""
        self._refuse_if_busy()
        last = next((at for at in reversed(range(len(self._messages))) if self._messages[at].role == "user"), None)
        if last is None:
            return ""
        text = self._messages[last].content
        del self._messages[last:]
        self._chronicle.move(self._messages)
        return text

    def resume(self, chat: KeptChat) -> None:
        """Go on with a chat that was kept, its system message included. Raises EngineError during an answer."""
        if self._chronicle.in_turn:
            self._refuse_if_busy()
        self._leave()
        self._messages = [as_message(said) for said in chat.path]
        self._seed, self.system = chat.seed, chat.system
        self._chronicle.reopen(chat)

    def clear(self) -> None:
        """Begin a new chat, with counters at nothing; settings and system message stay."""
        self._refuse_if_busy()
        self._leave()

    def _leave(self) -> None:
        self._chronicle.leave()
        self._messages.clear()
        self._stats, self._totals, self._seed, self._attempt = None, TurnStats(plain_s=0.0), None, 0

    async def cancel(self) -> None:
        """Stop the turn, load or job in progress; returns when the engine has acknowledged. Its events end as usual."""
        await self._service.cancel()

    async def _turn(self, begin: Callable[[], Answer]) -> AsyncGenerator[TurnEvent, None]:
        self._refuse_if_busy()
        answer = begin()
        self._busy = True
        self._stats = None
        try:
            request = self._request(answer)
            self._chronicle.begin(self._messages, request, self._facts)
            async with aclosing(self._service.stream(request)) as events:
                async for event in events:
                    # Recorded before it is handed on: a reader that stops listening here must not lose it.
                    yield self._record(event, answer)
        finally:
            self._keep(answer, "cancelled")
            self._busy = False

    def _record(self, event: TurnEvent, answer: Answer) -> TurnEvent:
        match event:
            case TextDelta():
                answer.add(event)
                self._chronicle.grow(event)
            case StatsTick():
                self._stats = event.stats
                self._report = event.report or self._report
            case Finished():
                self._stats = event.stats
                self._report = event.report or self._report
                event = replace(event, message=answer.finish(event))
                self._keep(answer, event.reason)
            case Failed():
                self._stats = event.stats or self._stats
                event = replace(event, partial=answer.partial())
                self._keep(answer, "failed")
            case Prefilling():
                pass
        return event

    def _keep(self, answer: Answer, reason: str) -> None:
        """Make the answer part of the conversation, once, and of the chat that is kept."""
        if answer.kept:
            return
        answer.kept = True
        message = answer.result()
        if answer.begun is not None:
            self._messages.pop()
        if message is not None:
            self._messages.append(message)
        if self._stats is not None:
            self._totals = summed(self._totals, self._stats)
        said = None if message is answer.dropped else message
        self._chronicle.end(self._messages, said, reason, self._stats)

    def _request(self, answer: Answer) -> TurnRequest:
        system = (Message("system", self.system),) if self.system.strip() else ()
        self._seed = answer.seed
        return TurnRequest(
            messages=(*system, *self._messages),
            sampling=msgspec.structs.replace(self.config.sampling, seed=answer.seed),
            continue_last=answer.begun is not None,
            template_options=tuple(template_values(self.config.model).items()),
        )

    def _next_seed(self) -> int:
        fixed = self.config.sampling.seed
        return self._draw_seed() if fixed < 0 else (fixed + self._attempt) % _SEED_LIMIT

    def _refuse_if_busy(self) -> None:
        if self.busy:
            raise EngineError("An answer is being generated.", hint="Wait for it, or stop it with Esc.")
