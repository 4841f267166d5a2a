"""The conversation and the settings in force.

Single-threaded: everything here runs on the event loop. Whatever happens to a turn, the user's message stays, and so
does every word of the answer that was read.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import replace

from mtpchat.backend.protocol import LoadPlan
from mtpchat.config import Config, SamplingConfig
from mtpchat.engine.answer import Answer
from mtpchat.engine.archive import Archive, KeepsNothing
from mtpchat.engine.chat import Chat
from mtpchat.engine.chat_terms import ChatTerms
from mtpchat.engine.requests import Task
from mtpchat.engine.service import STOPPED_AT_ONCE, EngineService
from mtpchat.engine.titling import Titling
from mtpchat.engine.wanted import control_of, with_control
from mtpchat.errors import CommandError, MtpChatError
from mtpchat.events import (
    Failed,
    Finished,
    JobEvent,
    LeftOut,
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
from mtpchat.presets.personas import Worn
from mtpchat.report import SpeculationReport

_SEEDS = 2**31  # drawn ones stay short enough to be typed again
_SEED_LIMIT = 2**63


class Session(Chat):
    """One conversation with one engine.

    What changes the conversation raises EngineError while busy; a turn also when its iteration begins.

    Attributes:
        config: settings in force; assign to replace them. Sampling and speculation of the running chat live in it.
        terms: what holds for this chat alone.
        persona: the one in force; put_on and take_off change it.
    """

    def __init__(
        self,
        service: EngineService,
        config: Config,
        draw_seed: Callable[[], int] = lambda: secrets.randbelow(_SEEDS),
        archive: Archive | None = None,
    ) -> None:
        """`draw_seed` gives the seed of a turn when the settings fix none; `archive` keeps the chat."""
        super().__init__(archive or KeepsNothing(), config.ui.system)
        self.config = config
        self._service, self._draw_seed = service, draw_seed
        self.persona: Worn | None = None
        self.terms = ChatTerms(self._talk, lambda: (self.config, self.system), service.measure)
        self.titling = Titling(self._talk, self.terms, service.aside)
        self._facts: ModelFacts | None = None
        self._report: SpeculationReport | None = None
        self._busy = self._stopping = False
        service.set_control(control_of(config))

    @property
    def facts(self) -> ModelFacts | None:
        """The model that is loaded."""
        return self._facts

    @property
    def report(self) -> SpeculationReport | None:
        """What the controller of speculation last told of itself; None before the first answer of a model."""
        return self._report

    @property
    def busy(self) -> bool:
        """True while a turn or load is in progress."""
        return self._busy or self._service.busy

    @property
    def control(self) -> SpeculationControl:
        """What is wanted of speculation."""
        return self._service.control

    def set_control(self, control: SpeculationControl) -> None:
        """Takes effect at the next token, also within a running answer."""
        self._service.set_control(control)
        self.config = with_control(self.config, control)

    def set_sampling(self, key: str, value: str) -> object:
        """Change one sampling setting from the next turn on; gives the value as it is understood.

        Args:
            key: e.g. "temperature"; "sampling.temperature" is fine too.
            value: as the user typed it.

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

    def send(self, text: str, attachments: Sequence[Attachment] = ()) -> AsyncGenerator[TurnEvent, None]:
        """Say something and read the answer. The message is part of the conversation from the first event on.

        Raises:
            CommandError: the text is empty.
        """
        if not text.strip() and not attachments:
            raise CommandError("There is nothing to send.", hint="Type a message first.")
        self._refuse_if_busy()

        def begin() -> Answer:
            self._talk.ask(Message("user", text, attachments=tuple(attachments)))
            return Answer(self._next_seed())

        return self._turn(begin)

    def edit(
        self, index: int, text: str, attachments: Sequence[Attachment] | None = None
    ) -> AsyncGenerator[TurnEvent, None]:
        """Put a message of the user differently and read the answer to that; what was there stays a branch beside it.

        Raises:
            CommandError: the text is empty, or there is no message of the user at that place.
        """
        self._refuse_if_busy()
        otherwise = self._talk.otherwise(index, text, attachments)

        def begin() -> Answer:
            self._talk.ask(otherwise, index)
            return Answer(self._next_seed())

        return self._turn(begin)

    def retry(
        self, index: int | None = None, sampling: SamplingConfig | None = None, seed: int | None = None
    ) -> AsyncGenerator[TurnEvent, None]:
        """Answer a message once more, beside the answers that there are. If nothing comes of it, the branch returns.

        Args:
            index: place of the message or of its answer; None is the last message of the user.
            sampling: settings for this one answer; None is those of the chat.
            seed: what it is drawn with; None is another one than before.

        Raises:
            CommandError: there is no message to answer.
        """
        self._refuse_if_busy()
        asked = self._talk.asked(index)

        def begin() -> Answer:
            back_to = self._talk.ask_again(asked)
            return Answer(self._next_seed(sampling) if seed is None else seed, sampling, back_to=back_to)

        return self._turn(begin)

    def continue_last(self) -> AsyncGenerator[TurnEvent, None]:
        """Carry on an answer that was stopped or ran out of room; Finished carries the whole message.

        Raises:
            CommandError: there is no unfinished answer.
        """
        self._refuse_if_busy()
        self._talk.unfinished()

        def begin() -> Answer:
            _, made = self._talk.unfinished()
            # Seed and settings of the beginning: the words are then those that would have come without the stop.
            seed = self._next_seed() if made.seed is None else made.seed
            return Answer(seed, made.sampling, begun=self.messages[-1])

        return self._turn(begin)

    async def cancel(self) -> None:
        """Stop the turn, load or job in progress; returns when the engine has acknowledged. Its events end as usual."""
        self._stopping = self._answering
        await self._service.cancel()

    async def _turn(self, begin: Callable[[], Answer]) -> AsyncGenerator[TurnEvent, None]:
        self._refuse_if_busy()
        before = self._talk.branches.copy()
        answer = begin()
        self._busy = self._answering = True
        self._stopping = False
        self._stats = None
        try:
            self._seed = answer.seed
            wanted = self.terms.request(answer.seed, answer.sampling, continue_last=answer.begun is not None)
            try:
                fit = await self.terms.fit(wanted)
            except MtpChatError:  # nothing is sent, so nothing was said
                self._talk.branches = before
                self._look()
                raise
            request = fit.request
            self._talk.begin(answer, request, self._facts)
            request = replace(request, chat=self._talk.chronicle.chat if self.archive.keeps else "")
            if fit.left_out is not None:
                yield fit.left_out
            if self._stopping:  # while that was read, when the engine had nothing to stop
                yield self._record(STOPPED_AT_ONCE, answer)
                return
            async with aclosing(self._service.stream(request)) as events:
                async for event in events:
                    # Recorded before it is handed on: a reader that stops listening here must not lose it.
                    yield self._record(event, answer)
        finally:
            self._keep(answer, "cancelled")
            self._busy = self._answering = False

    def _record(self, event: TurnEvent, answer: Answer) -> TurnEvent:
        match event:
            case TextDelta():
                answer.add(event)
                self._talk.chronicle.grow(event)
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
            case Prefilling() | LeftOut():
                pass
        return event

    def _keep(self, answer: Answer, reason: str) -> None:
        """Make the answer part of the conversation, once, and of the chat that is kept."""
        if not answer.kept:
            answer.kept = True
            self._talk.end(answer, reason, self._stats)
            self._seed = self._talk.last_made().seed

    def _next_seed(self, sampling: SamplingConfig | None = None) -> int:
        """Of an answer to what stands last: with a fixed seed the first one has that, and each further one another."""
        fixed = (sampling or self.config.sampling).seed
        attempt = self._talk.branches.answers(len(self.messages) - 1)
        return self._draw_seed() if fixed < 0 else (fixed + attempt) % _SEED_LIMIT
