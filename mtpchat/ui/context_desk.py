"""The context on the screen: what is shown of it, a message that does not fit, and the summary that makes room."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial
from typing import TYPE_CHECKING, assert_never

from mtpchat.commands.base import RunTask
from mtpchat.config import ThinkingLevel
from mtpchat.errors import MtpChatError
from mtpchat.events import Failed, JobEvent, ModelFacts, Worked, Working
from mtpchat.stats import TurnStats
from mtpchat.ui.widgets.unread import show_unread

if TYPE_CHECKING:
    from mtpchat.engine.compact import Compaction
    from mtpchat.ui.chat_screen import ChatScreen
    from mtpchat.ui.compact_preview import CompactPreview

_QUIET: tuple[ThinkingLevel, ...] = ("off", "low")


class ContextDesk:
    """What the chat screen does about a context that fills."""

    def __init__(self, screen: ChatScreen) -> None:
        self._screen = screen
        self._facts: ModelFacts | None = None
        self._stale = False
        self._dimmed = range(0)
        screen.presenter.unread = self._unread
        screen.turns.was_full = self._was_full

    def follow(self) -> None:
        """What holds for the chat may have changed."""
        terms = self._screen.session.terms
        self._screen.status.set_overflow(terms.overflow)
        self._screen.header.show_form(terms.form.name)
        self._screen.header.show_title(self._screen.session.title)
        self._screen.header.show_thinking("" if terms.thinking == "auto" else f"think {terms.thinking}")
        if terms.unread != self._dimmed:
            self._dimmed = terms.unread
            self._stale |= not self._screen.turns.busy  # a turn that leaves something out tells the numbers itself
            self._screen.call_later(show_unread, self._screen.transcript, self._dimmed)
        facts = self._screen.session.facts
        self._stale |= facts is not self._facts
        self._facts = facts
        if self._stale and facts is not None and not self._screen.turns.busy:
            self._stale = False
            work = self._measure(self._screen.status.stats)
            self._screen.run_worker(work, group="context", exclusive=True, exit_on_error=False)

    async def _measure(self, shown: TurnStats) -> None:
        """Show how much the chat takes where no turn has told: after a load, and when another branch is shown."""
        session, status = self._screen.session, self._screen.status
        used = 0
        try:
            used = (await session.terms.measure()).prompt_tokens if session.messages else 0
        except MtpChatError:  # something has begun meanwhile, and will tell
            return
        if status.stats is shown:
            status.set_context(used, shown.context_size)

    def _was_full(self) -> None:
        """Something did not fit."""
        if self._screen.session.terms.overflow == "summarise":
            self._screen.call_later(self.compact)

    def compact(self, keep: int | None = None) -> None:
        """Have a summary written, and ask what to do with it. Nothing changes before it is accepted."""
        from mtpchat.engine.compact import Compaction
        from mtpchat.ui.compact_preview import CompactPreview

        screen = self._screen
        session, line = screen.session, screen.turns.line
        known = session.facts.thinking if session.facts is not None else ()
        quiet = next((level for level in _QUIET if level in known), session.terms.thinking)
        compaction = Compaction(session.terms.request(), lambda: session.control, quiet, keep)
        preview = CompactPreview(screen.turns.interrupt)
        waited, line.paused = line.paused, True
        screen.app.push_screen(preview, partial(self._decided, compaction, waited))
        screen.turns.work(RunTask("/compact", compaction.task), partial(self._show, preview, compaction))

    async def _show(self, preview: CompactPreview, compaction: Compaction, events: AsyncIterator[JobEvent]) -> None:
        async for event in events:
            match event:
                case Working(text, part, parts):
                    preview.grow(text, part, parts, compaction.reading)
                case Worked():
                    if compaction.summary:
                        preview.finish(compaction.summary, compaction.outcome)
                case Failed(message, hint):
                    if preview.is_attached:
                        preview.dismiss(None)
                    await self._screen.presenter.error(message, hint)
                case _:
                    assert_never(event)

    async def _decided(self, compaction: Compaction, waited: bool, summary: str | None) -> None:
        screen = self._screen
        screen.turns.line.paused = waited
        if summary is not None:
            from mtpchat.engine.compact import compacted

            screen.session.begin_anew(compacted(compaction.said, compaction.start, summary))
            await screen.presenter.show_chat(screen.session.messages)
            await screen.presenter.notice(
                f"The chat goes on from a summary of {compaction.start} messages. /compact undo goes back to them",
                command="/compact",
            )
        elif compaction.summary:
            await screen.presenter.notice("The chat is as it was", command="/compact")
        screen.prompt.focus()
        screen.turns.go_on()

    def _unread(self) -> range:
        """Places of the messages that the model does not read any more; asked for when a chat is drawn."""
        self._stale = True
        self.follow()
        return self._screen.session.terms.unread
