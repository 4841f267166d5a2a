"""An answer while it grows and when it is done.

While it grows it is shown in a light form (`open_end`); at the end the whole of it is rendered once as Markdown,
because only then are references, loose lists and tables certain. Painting is coalesced to about ten times a second, and
less often when a paint is dear, so that it takes at most an eighth of one core from the decoding threads.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Literal

from textual.app import ComposeResult
from textual.content import Content
from textual.timer import Timer
from textual.widget import Widget

from mtpchat.events import Channel, FinishReason
from mtpchat.messages import Message
from mtpchat.stats import TurnStats
from mtpchat.ui.blocks import last_block
from mtpchat.ui.long_lines import bounded
from mtpchat.ui.provenance import Marks
from mtpchat.ui.safe_text import safe_text
from mtpchat.ui.widgets.entry import Entry
from mtpchat.ui.widgets.folding import Folding
from mtpchat.ui.widgets.growing import GrowingVertical
from mtpchat.ui.widgets.markdown import ChatMarkdown
from mtpchat.ui.widgets.messages import Summary, summary_content
from mtpchat.ui.widgets.open_end import OpenEnd
from mtpchat.ui.widgets.thinking import Thinking

ThinkingView = Literal["collapsed", "open", "hidden"]
_PAINT_EVERY_S = 1 / 14
_PAINT_SHARE = 1 / 8


class Answer(Entry, GrowingVertical):
    """One answer of the model.

    Args:
        text / thinking: of an answer that is already there.
        view: how thinking is shown.
        clock: seconds, monotonic.
        marks: what of it had been guessed.
        shows_origin: whether that is shown.
        figures: the line under an answer that is already there.
        apart: whether its widgets are made later.
    """

    def __init__(
        self,
        text: str = "",
        thinking: str = "",
        *,
        view: ThinkingView = "collapsed",
        clock: Callable[[], float] = time.monotonic,
        marks: Marks | None = None,
        shows_origin: bool = False,
        figures: Content | None = None,
        apart: bool = False,
    ) -> None:
        super().__init__(classes="entry")
        if apart:
            self.begin_apart()
        self.marks = marks or Marks()
        self._shows_origin = shows_origin
        self.text = text
        self._thinking_text = thinking
        self._view = view
        self._clock = clock
        self._incoming: list[str] = []
        self._document = ChatMarkdown(None if apart else bounded(safe_text(text)))
        self._folding = Folding(self, self._document)
        self._figures = figures or Content()
        self._open_end = OpenEnd(self)
        self._thinking: Thinking | None = None
        self._grows = False
        self._timer: Timer | None = None
        self._thinking_since: float | None = None
        self._answering = bool(text)
        self._paint_cost_s = 0.0
        self._painted_at = -1.0
        # A timer paints, keys change the marks, the turn ends the answer; whenever one of them mounts a part or takes
        # it away, another could go on with what is not whole.
        self._turn = asyncio.Lock()

    def compose(self) -> ComposeResult:
        if self.whole:
            yield from self.parts()

    def parts(self) -> list[Widget]:
        """See Entry."""
        parts: list[Widget] = []
        if self._thinking_text.strip() and self._view != "hidden":
            self._thinking = Thinking(self._thinking_text, expanded=self._view == "open")
            parts.append(self._thinking)
        self._document.marks = self._shown_marks
        parts.append(self._document)
        if self._figures.plain or self.alternatives[1] > 1:
            parts.append(Summary(self._figures, self.alternatives))
        return parts

    async def fill(self) -> None:
        """See Entry."""
        self._document.marks = self._shown_marks
        await self._document.fill(bounded(safe_text(self.text)))

    def take_apart(self) -> None:
        """See Entry. What was folded would have to be measured anew, so it stays."""
        if self._whole and not self._grows and not self.folded and self._document.children:
            self._whole = False
            self._document.empty()

    @property
    def thinking(self) -> Thinking | None:
        """The line of the thinking, once there is any."""
        return self._thinking

    @property
    def grows(self) -> bool:
        """Whether more may come."""
        return self._grows

    @property
    def source(self) -> str:
        """Its text as it was written."""
        return self.text

    @property
    def document(self) -> ChatMarkdown:
        """What of it is rendered in full."""
        return self._document

    @property
    def folded(self) -> bool:
        """Whether part of it is hidden."""
        return self._folding.folded

    def fold(self) -> bool:
        """Hide all but the first lines, or show them again; False when it is too short for that."""
        return not self._grows and self._folding.toggle()

    def reveal(self, end: int) -> None:
        """Show all of it."""
        self._folding.open()

    def shows(self, message: Message) -> bool:
        """Whether it is this message, complete."""
        says = message.content == self.text and message.thinking.strip() == self._thinking_text.strip()
        return message.role == "assistant" and says and not self._grows

    def on_resize(self) -> None:
        self._folding.count()

    def set_figures(self, figures: Content) -> None:
        """What was counted when it was made: the same words may stand in another chat."""
        if figures.plain != self._figures.plain and not self._grows:
            self._figures = figures
            self.show_siblings()

    def show_siblings(self) -> None:
        """Bring the line below up to date."""
        if not self._composed:
            return
        below, wanted = self.query(Summary), bool(self._figures.plain or self.alternatives[1] > 1)
        if below and wanted:
            below.last().show(self._figures, self.alternatives)
        elif below:
            below.remove()
        elif wanted:
            self.mount(Summary(self._figures, self.alternatives))

    @property
    def blocks_above_end(self) -> list[ChatMarkdown]:
        """Code and tables that are complete, while the answer grows."""
        return self._open_end.blocks

    async def write(self, text: str, channel: Channel, drafted: str = "") -> None:
        """Add text, guessed by the drafter `drafted` or by none. It is painted soon."""
        self._grows = True
        if channel == "thinking":
            await self._write_thinking(text, drafted)
        else:
            self._begin_answer()
            self.marks.add(len(safe_text(text)), drafted)
            self.text += text
            self._incoming.append(text)
        if self._timer is not None:
            return
        due = self._next_paint_in()
        if due > 0:
            self._timer = self.set_timer(due, self._paint)
        else:
            await self._paint()  # together with the numbers that came along: one painting of the screen for both

    def _next_paint_in(self) -> float:
        pause = max(_PAINT_EVERY_S, self._paint_cost_s / _PAINT_SHARE)
        return self._painted_at + pause - self._clock()

    def count_tokens(self, tokens: int) -> None:
        """Tokens generated so far; they count as thinking until the answer begins."""
        if self._thinking_since is not None and not self._answering and self.thinking:
            self.thinking.count(self._clock() - self._thinking_since, tokens)
            if self._timer is None:
                self._timer = self.set_timer(max(self._next_paint_in(), 0.001), self._paint)

    async def finish(self, text: str, stats: TurnStats | None, reason: FinishReason) -> None:
        """The one full rendering at the end.

        Args:
            text: the whole answer as it was stored.
            stats: for the line under it; None leaves it away.
        """
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        self._begin_answer()
        self._grows = False
        self.text = text
        async with self._turn:
            await self._show_whole(text, stats, reason)

    async def _show_whole(self, text: str, stats: TurnStats | None, reason: FinishReason) -> None:
        self._incoming.clear()
        self._document.marks = self._shown_marks
        with self.app.batch_update():
            await self._document.update(bounded(safe_text(text)))
            await self._open_end.clear()
            await self.query(Summary).remove()
            self._figures = summary_content(stats, reason) if stats is not None else Content()
            if stats is not None or self.alternatives[1] > 1:
                await self.mount(Summary(self._figures, self.alternatives))

    async def reopen(self) -> None:
        """Get ready to carry on: the old end becomes the open block again."""
        await self.make_whole()
        self._folding.open()
        await self.query(Summary).remove()
        self._answering = self._grows = True
        text = safe_text(self.text)
        cut = last_block(text)
        async with self._turn:
            with self.app.batch_update():
                await self._document.update(text[:cut])
                self._open_end.begin(cut)
                await self._open_end.write(text[cut:], self._shown_marks)

    async def show_origin(self, shows: bool) -> None:
        """Mark guessed text from now on, or no longer."""
        self._shows_origin = shows
        if self.thinking is not None:
            self.thinking.show_origin(shows)
        if self._document.marks is self._shown_marks or not self.marks:
            return
        if not self.whole:
            return
        async with self._turn:
            self._document.marks = self._shown_marks
            with self.app.batch_update():
                await self._document.update(self._document.source)
                await self._open_end.show_anew(self._shown_marks)

    @property
    def _shown_marks(self) -> Marks | None:
        return self.marks if self._shows_origin else None

    async def _write_thinking(self, text: str, drafted: str) -> None:
        self._thinking_text += text
        if self._view == "hidden":
            return
        line = self._thinking
        if line is None:
            line = self._thinking = Thinking(expanded=self._view == "open")
            line.show_origin(self._shows_origin)
            await self.mount(line, before=0)
            self._thinking_since = self._clock()
        line.write(text, drafted)
        if self._thinking_since is not None:
            line.count(self._clock() - self._thinking_since)

    def _begin_answer(self) -> None:
        if self._answering:
            return
        self._answering = True
        if self.thinking is not None:
            self.thinking.fold()

    async def _paint(self) -> None:
        self._timer = None
        begun = self._clock()
        if not self._answering and self._thinking is not None:
            self._thinking.paint()
        async with self._turn:
            text = safe_text("".join(self._incoming))
            self._incoming.clear()
            with self.app.batch_update():
                await self._open_end.write(text, self._shown_marks)
        self._painted_at = self._clock()
        self._paint_cost_s = 0.7 * self._paint_cost_s + 0.3 * (self._painted_at - begun)
