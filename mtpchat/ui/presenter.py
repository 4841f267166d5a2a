"""Turns what the engine says into calls on widgets. The only place that knows both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, assert_never

from textual.content import Content

from mtpchat.events import (
    Failed,
    Finished,
    FinishReason,
    LeftOut,
    LoadEvent,
    LoadFinished,
    Loading,
    ModelFacts,
    Prefilling,
    StatsTick,
    TextDelta,
    TurnEvent,
)
from mtpchat.messages import Attachment, Message
from mtpchat.report import SpeculationReport
from mtpchat.stats import TurnStats
from mtpchat.ui import format as numbers
from mtpchat.ui.idle_work import IdleWork
from mtpchat.ui.token_count import Pending
from mtpchat.ui.widgets.answer import Answer
from mtpchat.ui.widgets.entry import ALONE, Siblings
from mtpchat.ui.widgets.header import Header
from mtpchat.ui.widgets.messages import LOSS, ErrorBlock, Notice
from mtpchat.ui.widgets.spec_panel import SpecPanel
from mtpchat.ui.widgets.status_bar import StatusBar
from mtpchat.ui.widgets.transcript import Transcript
from mtpchat.ui.widgets.unread import show_unread

TurnKind = Literal["send", "retry", "continue", "edit"]
_LONG_ANSWER = 64
"""Tokens from which on an answer says something about speculation."""


def does_not_pay(stats: TurnStats) -> bool:
    """Whether guessing was wanted for a whole answer of some length, and was parked or slower than plain."""
    if stats.mode == "off" or stats.kind == "none" or stats.output_tokens - stats.looped_tokens < _LONG_ANSWER:
        return False
    parked = stats.mode == "auto" and stats.drafted * 20 < stats.steps
    return parked or (stats.speedup is not None and stats.speedup < LOSS)


def _nothing() -> None:
    return


class Presenter:
    """Shows loads and turns on four widgets.

    Attributes:
        answered: called when an answer has ended.
    """

    def __init__(self, header: Header, transcript: Transcript, status: StatusBar, panel: SpecPanel) -> None:
        self._header = header
        self._transcript = transcript
        self._status = status
        self._panel = panel
        self._idle_work = IdleWork(transcript)
        self.answered: Callable[[TurnStats, FinishReason], object] = lambda _stats, _reason: None
        self._hinted = False
        self.siblings_of: Callable[[int], Siblings] = lambda _index: ALONE
        """Place of a message of the chat among its alternatives, and how many there are."""
        self.figures_of: Callable[[int], Content] = lambda _index: Content()
        """The line under an answer of the chat."""
        self.unread: Callable[[], range] = lambda: range(0)
        """Places of the messages that the model does not read any more."""
        self.chat_shown: Callable[[], None] = _nothing
        """Called when a chat is going to be drawn anew; it may be another one than before."""
        self.chat_drawn: Callable[[], None] = _nothing
        """Called when it stands there."""
        self._answer: Answer | None = None
        self._refusal: ErrorBlock | None = None
        self._figures = status.stats
        self._last_warnings: tuple[str, ...] = ()
        self.when_idle: Callable[[], None] = lambda: None

    async def user_said(self, text: str, attachments: tuple[Attachment, ...] = ()) -> None:
        """Show a message of the user; sending one goes to the end of the chat."""
        await self._transcript.add(self._transcript.user_message(text, attachments))
        self._transcript.to_end()

    def show_pending(self, pending: Pending | None) -> None:
        """What would be sent now, in tokens."""
        self._status.set_pending(pending)

    def show_title(self, title: str) -> None:
        """What the chat is called."""
        self._header.show_title(title)

    def know_tokens(self, tokens_of: Callable[[tuple[Attachment, ...]], Sequence[int | None]]) -> None:
        """Whom to ask for the tokens of files of messages."""
        self._transcript.tokens_of = tokens_of

    async def notice(self, text: str, *, command: str = "", warning: bool = False) -> None:
        """A quiet line at the end of the chat; the same command once more takes the place of its last one there."""
        last = self._transcript.children[-1] if self._transcript.children else None
        if command and isinstance(last, Notice) and last.command.split(None, 1)[:1] == command.split(None, 1)[:1]:
            await last.remove()
        await self._transcript.add(Notice(text, command=command, warning=warning))

    async def error(self, what: str, hint: str = "") -> None:
        """An error as part of the chat."""
        await self._transcript.add(ErrorBlock(what, hint))

    async def refuse(self, what: str, hint: str = "") -> None:
        """Why a command was not carried out. It stands until something else is said."""
        await self.forget_refusal()
        self._refusal = ErrorBlock(what, hint)
        await self._transcript.add(self._refusal)

    async def forget_refusal(self) -> None:
        """What was refused is mended, or not wanted any more."""
        refusal, self._refusal = self._refusal, None
        if refusal is not None and refusal.is_attached:
            await refusal.remove()

    def load_begins(self, path: str) -> None:
        """A model is going to be loaded."""
        self._idle_work.stop()
        self._header.show_path(path)
        self._status.set_note("")
        self._status.set_busy(True)
        self._status.show_progress(Loading("model", 0.0))

    async def load_event(self, event: LoadEvent) -> None:
        """One event of a load."""
        match event:
            case Loading():
                self._status.show_progress(event)
            case LoadFinished(facts):
                await self._loaded(facts)
            case Failed(message, hint):
                self._header.show_none()
                self._status.set_note("no model loaded · /model lists what is there")
                await self.error(message, hint)
            case _:
                assert_never(event)

    async def _loaded(self, facts: ModelFacts) -> None:
        self._header.show_model(facts)
        self._panel.set_facts(facts)
        self._status.show_stats(TurnStats(kind=facts.kind, context_size=facts.context_size))
        lines = [facts.choice, facts.fallback_reason if facts.fallback_reason not in facts.choice else ""]
        lines.append(facts.suggestion)
        for line in lines:
            if line:
                await self.notice(line)
        for warning in facts.warnings:
            if warning not in self._last_warnings:
                await self.notice(warning, warning=True)
        self._last_warnings = facts.warnings

    def work_begins(self) -> None:
        """Something else than an answer keeps the engine busy."""
        self._idle_work.stop()
        self._status.set_busy(True)

    async def turn_begins(
        self, kind: TurnKind, index: int | None = None, text: str = "", attachments: tuple[Attachment, ...] = ()
    ) -> None:
        """An answer is going to come: a new one, one in place of another, or more of the last.

        Args:
            index: of the user's message that is answered anew ("retry"; None is the last), or put differently ("edit").
            text, attachments: the message that takes the place of that one ("edit").
        """
        self._idle_work.stop()
        self._figures = self._status.stats
        self._status.start_turn()
        self._panel.begin_turn()
        if kind == "continue":
            self._answer = self._transcript.last_answer()
            if self._answer is not None:
                await self._answer.reopen()
                return
        if kind == "edit" and index is not None:
            await self._transcript.drop_from(index)
            await self._transcript.add_prompt(self._transcript.user_message(text, attachments))
        elif kind == "retry" and index is not None:
            await self._transcript.drop_from(index + 1)
        elif kind == "retry":
            await self._transcript.drop_after_last_prompt()
        if kind in ("edit", "retry"):
            self._transcript.to_end()
        self._answer = await self._transcript.add_answer()
        if kind in ("edit", "retry") and self._transcript.has_focus:
            self._transcript.mark(self._answer)

    async def turn_event(self, event: TurnEvent) -> None:
        """One event of a turn."""
        match event:
            case LeftOut():
                await self._left_out(event)
            case Prefilling():
                self._status.show_progress(event)
            case TextDelta(text, channel, drafted):
                if self._answer is not None:
                    await self._answer.write(text, channel, drafted)
            case StatsTick(stats, report):
                self._show_stats(stats, report)
            case Finished(message, stats, reason, notice, report):
                self._show_stats(stats, report)
                self._status.set_busy(False)  # rendering a long answer takes a moment in which nothing runs any more
                if self._answer is not None and self._answer.is_attached:
                    self._show_siblings()
                    await self._answer.finish(message.content, stats, reason)
                    self._transcript.remember_origin(self._answer)
                self.answered(stats, reason)
                if notice:
                    await self.notice(notice)
                await self._hint(stats)
            case Failed(message=what, hint=hint, partial=partial, stats=stats):
                await self._keep_partial(partial, stats)
                await self.error(what, hint)
            case _:
                assert_never(event)

    async def _left_out(self, event: LeftOut) -> None:
        await show_unread(self._transcript, range(event.first, event.first + event.count))
        if event.fresh:
            notice = Notice(f"{numbers.left_out(event)} They stay in the chat; /context tells more", warning=True)
            await self._transcript.mount(notice, before=self._answer)

    async def turn_refused(self, kind: TurnKind, messages: Sequence[Message]) -> None:
        """Nothing was sent, and `messages` are the chat as it was before."""
        self._status.show_stats(self._figures)
        if kind == "continue":
            await self._keep_partial(None, None)
            return
        self._answer = None
        if kind == "send":
            await self._transcript.drop_from(len(messages))
        else:
            await self.show_chat(messages)

    async def turn_broke(self, what: str, hint: str) -> None:
        """The turn ended without an event of its own."""
        await self._keep_partial(None, None)
        await self.error(what, hint)

    def idle(self) -> None:
        """Nothing runs any more."""
        self._answer = None
        self._status.set_busy(False)
        self._transcript.rest_soon()
        self._idle_work.start()
        self.when_idle()

    async def show_chat(self, messages: Sequence[Message], *, stay_at: int | None = None) -> None:
        """Draw the chat anew.

        Args:
            stay_at: the message that is read; without one, the end is shown.
        """
        self.chat_shown()
        if not messages:
            self._hinted = False
        siblings = [self.siblings_of(index) for index in range(len(messages))]
        await self._transcript.show(messages, siblings, stay_at, self.figures_of)
        await show_unread(self._transcript, self.unread())
        self.chat_drawn()

    def _show_siblings(self) -> None:
        """The last prompt and its answer may have alternatives now."""
        for entry in [one for one in self._transcript.entries if one.index is not None][-2:]:
            if entry.index is not None:
                entry.set_siblings(self.siblings_of(entry.index))

    async def _hint(self, stats: TurnStats) -> None:
        """Once per chat: a whole answer in which speculation brought nothing."""
        if self._hinted or not does_not_pay(stats):
            return
        self._hinted = True
        await self.notice("speculation does not pay here: /why")

    def _show_stats(self, stats: TurnStats, report: SpeculationReport | None = None) -> None:
        self._status.show_stats(stats)
        self._panel.show(stats, report)
        if stats.steps:
            self._header.show_kind(stats.kind if stats.mode != "off" else "none")
        if self._answer is not None:
            self._answer.count_tokens(stats.output_tokens)

    async def _keep_partial(self, partial: Message | None, stats: TurnStats | None) -> None:
        answer, self._answer = self._answer, None
        if answer is None or not answer.is_attached:
            return
        text = partial.content if partial is not None else answer.text
        if not text.strip() and answer.thinking is None:
            await answer.remove()
            return
        self._show_siblings()
        await answer.finish(text, stats, "stop")
