"""A session without an engine: it says what a test tells it to say, when the test says so."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import replace

import msgspec

from mtpchat.chats import ChatOptions, KeptChat, as_message
from mtpchat.config import Config, ModelConfig, SamplingConfig
from mtpchat.engine.archive import Archive, KeepsNothing
from mtpchat.engine.requests import Task
from mtpchat.errors import CommandError, ConfigError, EngineError
from mtpchat.events import (
    Failed,
    Finished,
    JobEvent,
    LoadEvent,
    LoadFinished,
    Measured,
    ModelFacts,
    SpeculationControl,
    StatsTick,
    TextDelta,
    TurnEvent,
    Worked,
)
from mtpchat.messages import Attachment, Message
from mtpchat.presets.personas import Worn
from mtpchat.report import Decision, Reason, RoundSplit, SourceReport, SpeculationReport
from mtpchat.stats import TurnStats
from mtpchat.structured.forms import ANY_FORM, AnswerForm

FACTS = ModelFacts(
    name="Qwen3.8-27B",
    path="/models/Qwen3.8-27B-Q4_K_M.gguf",
    architecture="qwen35",
    kind="mtp",
    choice="Guessing ahead with the MTP head in the main file.",
    available=("none", "ngram", "mtp"),
    context_size=8192,
    depth_limit=4,
)

STATS = TurnStats(
    prompt_tokens=40,
    output_tokens=318,
    steps=133,
    drafted=260,
    accepted=185,
    reached_at=(133, 80, 47),
    accepted_at=(104, 55, 26),
    prefill_s=0.22,
    decode_s=6.88,
    ttft_s=0.25,
    plain_tokens_per_second=26.9,
    plain_age_s=120.0,
    depth=3,
    kind="mtp",
    mode="auto",
    context_used=1228,
    context_size=8192,
)


REPORT = SpeculationReport(
    policy="cost",
    rate=46.2,
    plain_s=1 / 26.9,
    plain_age_s=128.0,
    verify_s=((1, 0.0372), (2, 0.0391), (3, 0.0404), (4, 0.0468)),
    sources=(
        SourceReport("mtp", (0.78, 0.56, 0.39), 260, 185, 0.0019, 0.0012),
        SourceReport("ngram", (0.64, 0.6), 25, 16),
    ),
    accepted_lengths=(29, 49, 29, 26),
    split=RoundSplit(133, 0.4123, 5.81, 0.0532, 0.0133, 0.0931),
    lost_s=-0.4,
    allowed_s=0.3,
    decisions=(
        *(Decision(Reason.COSTS_MORE, 0, 0, 1, "mtp", 0.31, 0.44),) * 3,
        Decision(Reason.PROBE, 1, 1, 2, "mtp"),
        Decision(Reason.PAYS, 3, 3, 4, "mtp", 1.94, 0.61),
        Decision(Reason.PAYS, 3, 2, 1, "mtp", 1.12, 0.36),
        Decision(Reason.COPY, 6, 6, 7, "ngram", 4.1, 1.2),
        Decision(Reason.DOUBT, 1, 0, 1, "mtp", 0.12, 0.2),
        Decision(Reason.PAYS, 3, 3, 3, "mtp", 1.94, 0.61),
    ),
)


class Pause:
    """In a script: wait here until the test opens the gate, or until the turn is cancelled."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self.gate = asyncio.Event()


Step = TurnEvent | Pause
LoadStep = LoadEvent | Pause
JobStep = JobEvent | Pause


def says(text: str, *, thinking: str = "", stats: TurnStats = STATS) -> list[Step]:
    """A turn that says `text` and ends."""
    steps: list[Step] = [TextDelta(thinking, "thinking")] if thinking else []
    steps += [TextDelta(text), StatsTick(stats)]
    return [*steps, Finished(Message("assistant", text, thinking), stats, "stop")]


class FakeTerms:
    """What was chosen for the chat; a token is a letter here."""

    def __init__(self, session: FakeSession) -> None:
        self._session = session
        self.options = ChatOptions()
        self.form = ANY_FORM
        self.measured: list[str] = []

    @property
    def overflow(self) -> str:
        return self.options.overflow or "stop"

    @property
    def thinking(self) -> str:
        return self.options.thinking or "auto"

    @property
    def unread(self) -> range:
        return range(0)

    def choose(self, **options: object) -> None:
        self.options = msgspec.structs.replace(self.options, **options)

    def choose_form(self, form: AnswerForm | None) -> None:
        self.form = form or ANY_FORM

    async def measure(self, text: str = "", attachments: Sequence[Attachment] = ()) -> Measured:
        if self._session.busy or self._session.facts is None:
            raise EngineError("Nothing can be measured now.")
        if text.strip():
            self.measured.append(text)
        said = [message.content for message in self._session.messages]
        counts = tuple(len(words) for words in [*said, *([text] if text.strip() else [])])
        brought = sum(len(one.text) for one in attachments)
        return Measured(sum(counts) + brought + 3, self._session.facts.context_size, counts, (0,) * len(counts))

    async def weigh(self, attachments: Sequence[Attachment]) -> tuple[int, ...]:
        if self._session.busy or self._session.facts is None:
            raise EngineError("Nothing can be counted now.")
        return tuple(len(one.text) for one in attachments)


class FakeSession:
    """As strict as the real one: one job at a time, cancel is acknowledged, no sending without a model."""

    def __init__(
        self,
        turns: Sequence[Sequence[Step]] = (),
        *,
        load: Sequence[LoadStep] = (LoadFinished(FACTS),),
        jobs: Sequence[Sequence[JobStep]] = (),
        config: Config | None = None,
        deaf: bool = False,
    ) -> None:
        self.config = config or Config(model=ModelConfig(path="/models/Qwen3.8-27B-Q4_K_M.gguf"))
        self.messages: tuple[Message, ...] = ()
        self.archive: Archive = KeepsNothing()
        self.title = ""
        self.chat_id = ""
        self.system = ""
        self.persona: Worn | None = None
        self.terms = FakeTerms(self)
        self.facts: ModelFacts | None = None
        self.stats: TurnStats | None = None
        self.report: SpeculationReport | None = None
        self.totals = TurnStats()
        self.seed: int | None = None
        self.control = SpeculationControl()
        self.sent: list[str] = []
        self.retried: list[tuple[int | None, SamplingConfig | None, int | None]] = []
        self.alternatives: dict[int, tuple[int, list[tuple[Message, ...]]]] = {}
        """Index -> place from 1 of what is shown, and what each alternative and its sequel are."""
        self.made: dict[tuple[str, str], tuple[TurnStats, str]] = {}
        """Chat and text of an answer -> what was counted, and why it ended."""
        self.pace: Callable[[], float] | None = None
        self._turns = [list(turn) for turn in turns]
        self._load_steps = list(load)
        self._jobs = [list(job) for job in jobs]
        self.deaf = deaf
        self._cancelled = asyncio.Event()
        self._ended = asyncio.Event()
        self._ended.set()

    @property
    def busy(self) -> bool:
        return not self._ended.is_set()

    def set_control(self, control: SpeculationControl) -> None:
        self.control = control

    def set_sampling(self, key: str, value: str) -> object:
        raise ConfigError(f"{key} = {value} cannot be set here", key=key)

    def undo(self) -> str:
        while self.messages:
            last, self.messages = self.messages[-1], self.messages[:-1]
            if last.role == "user":
                return last.content
        return ""

    def clear(self) -> None:
        self.messages = ()

    def rename(self, title: str) -> None:
        self.title = title

    def resume(self, chat: KeptChat) -> None:
        self.messages = tuple(map(as_message, chat.path))
        self.title = chat.line.title
        self.chat_id = chat.line.id

    async def cancel(self) -> None:
        self._cancelled.set()
        await self._ended.wait()

    async def load(self) -> AsyncGenerator[LoadEvent, None]:
        self._begin()
        try:
            for step in self._load_steps:
                if isinstance(step, Pause):
                    if await self._paused(step):
                        yield Failed("The load was stopped.", "/model loads it after all.")
                        return
                    continue
                if isinstance(step, LoadFinished):
                    self.facts = step.facts
                await self._breathe()
                yield step
        finally:
            await self._end()

    async def work(self, task: Task) -> AsyncGenerator[JobEvent, None]:
        """Says what is planned, whatever the task is."""
        self._begin()
        try:
            for step in self._jobs.pop(0):
                if not isinstance(step, Pause):
                    await self._breathe()
                    yield step
                elif await self._paused(step):
                    yield Worked("Stopped as planned.")
                    return
        finally:
            await self._end()

    async def send(self, text: str, attachments: Sequence[Attachment] = ()) -> AsyncGenerator[TurnEvent, None]:
        self.sent.append(text)
        self.messages += (Message("user", text, attachments=tuple(attachments)),)
        async for event in self._turn():
            yield event

    async def retry(
        self, index: int | None = None, sampling: SamplingConfig | None = None, seed: int | None = None
    ) -> AsyncGenerator[TurnEvent, None]:
        self.retried.append((index, sampling, seed))
        if index is not None:
            self.messages = self.messages[: index + 1]
        elif self.messages and self.messages[-1].role == "assistant":
            self.messages = self.messages[:-1]
        async for event in self._turn():
            yield event

    async def edit(
        self, index: int, text: str, attachments: Sequence[Attachment] | None = None
    ) -> AsyncGenerator[TurnEvent, None]:
        self.sent.append(text)
        files = self.messages[index].attachments if attachments is None else tuple(attachments)
        self.messages = (*self.messages[:index], Message("user", text, attachments=files))
        async for event in self._turn():
            yield event

    def figures(self, index: int) -> tuple[TurnStats, str] | None:
        return self.made.get((self.chat_id, self.messages[index].content))

    def siblings(self, index: int) -> tuple[int, int]:
        place = self.alternatives.get(index)
        return (place[0], len(place[1])) if place is not None else (1, 1)

    def walk(self, index: int, step: int) -> None:
        place, paths = self.alternatives.get(index, (1, [()]))
        if not 1 <= place + step <= len(paths):
            raise CommandError("There is no other version")
        self.alternatives[index] = (place + step, paths)
        self.messages = (*self.messages[:index], *paths[place + step - 1])

    def amend(self, index: int, text: str) -> None:
        self.messages = (*self.messages[:index], Message("assistant", text))

    def fork(self, index: int) -> None:
        self.messages = self.messages[: index + 1]
        self.chat_id += "f"

    def redo(self) -> bool:
        return False

    async def continue_last(self) -> AsyncGenerator[TurnEvent, None]:
        if not self.messages or self.messages[-1].complete:
            raise CommandError("There is nothing to continue")
        before, self.messages = self.messages[-1], self.messages[:-1]
        async for event in self._turn(before.content):
            yield event

    async def _turn(self, before: str = "") -> AsyncGenerator[TurnEvent, None]:
        if self.facts is None:
            raise EngineError("No model is loaded")
        self._begin()
        said = before
        try:
            for step in self._turns.pop(0) if self._turns else says("Nothing more is planned."):
                if isinstance(step, Pause):
                    if await self._paused(step):
                        stopped = Message("assistant", said, complete=False)
                        yield self._keep(Finished(stopped, self.stats or STATS, "cancelled"))
                        return
                    continue
                if isinstance(step, TextDelta) and step.channel == "answer":
                    said += step.text
                await self._breathe()
                yield self._keep(step, before)
        finally:
            await self._end()

    def _keep(self, event: TurnEvent, before: str = "") -> TurnEvent:
        if isinstance(event, (StatsTick, Finished)):
            self.report = event.report or self.report
        if isinstance(event, StatsTick):
            self.stats = event.stats
        if isinstance(event, Finished):
            message = replace(event.message, content=before + event.message.content)
            event = replace(event, message=message)
            self.messages += (message,)
            self.stats = event.stats
            self.made[self.chat_id, message.content] = (event.stats, event.reason)
        return event

    async def _breathe(self) -> None:
        await asyncio.sleep(self.pace() if self.pace else 0)

    async def _paused(self, pause: Pause) -> bool:
        """True when cancelled rather than opened."""
        pause.reached.set()
        waits = [asyncio.ensure_future(one.wait()) for one in (pause.gate, self._cancelled)]
        try:
            await asyncio.wait(waits[:1] if self.deaf else waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
        return not pause.gate.is_set()

    def _begin(self) -> None:
        if self.busy:
            raise EngineError("The engine is busy.")
        self._cancelled.clear()
        self._ended.clear()

    async def _end(self) -> None:
        if self.deaf:
            await asyncio.Event().wait()
        self._ended.set()
