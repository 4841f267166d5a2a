"""The context on the screen: what is shown of it, a message that does not fit, and the summary that makes room."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial
from typing import TYPE_CHECKING, assert_never

from mtpchat.commands.base import RunTask
from mtpchat.config import ThinkingLevel
from mtpchat.engine.compact import Compaction, compacted
from mtpchat.events import Failed, JobEvent, Worked, Working
from mtpchat.ui.compact_preview import CompactPreview

if TYPE_CHECKING:
    from mtpchat.ui.chat_screen import ChatScreen

_QUIET: tuple[ThinkingLevel, ...] = ("off", "low")


class ContextDesk:
    """What the chat screen does about a context that fills."""

    def __init__(self, screen: ChatScreen) -> None:
        self._screen = screen
        screen.presenter.unread = self._unread
        screen.turns.was_full = self._was_full

    def follow(self) -> None:
        """What holds for the chat may have changed."""
        terms = self._screen.session.terms
        self._screen.status.set_overflow(terms.overflow)
        self._screen.header.show_form(terms.form.name)
        self._screen.header.show_thinking("" if terms.thinking == "auto" else f"think {terms.thinking}")

    def _was_full(self) -> None:
        """Something did not fit."""
        if self._screen.session.terms.overflow == "summarise":
            self._screen.call_later(self.compact)

    def compact(self, keep: int | None = None) -> None:
        """Have a summary written, and ask what to do with it. Nothing changes before it is accepted."""
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
                    preview.grow(text, part, parts)
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
            screen.session.begin_anew(compacted(compaction.said, compaction.start, summary))
            await screen.presenter.show_chat(screen.session.messages)
            screen.status.set_context(compaction.taken, screen.status.stats.context_size)
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
        self.follow()
        return self._screen.session.terms.unread
