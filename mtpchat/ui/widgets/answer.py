"""An answer while it grows and when it is done.

Closed blocks become Markdown once; the open block is plain text; at the end the whole answer is rendered once more,
because only then are references, loose lists and tables certain. Painting is coalesced to about ten times a second,
and less often when a paint is dear, so that it takes at most an eighth of one core from the decoding threads.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Literal

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.timer import Timer

from mtpchat.events import Channel, FinishReason
from mtpchat.stats import TurnStats
from mtpchat.ui.blocks import BlockSplitter, code_parts, light_content
from mtpchat.ui.provenance import Marks, underline_piece
from mtpchat.ui.safe_text import safe_line, safe_text
from mtpchat.ui.widgets.markdown import ChatMarkdown, CodeHead
from mtpchat.ui.widgets.messages import Plain, Summary
from mtpchat.ui.widgets.thinking import Thinking

ThinkingView = Literal["collapsed", "open", "hidden"]
_PAINT_EVERY_S = 1 / 14
_PAINT_SHARE = 1 / 8


class OpenBlock(Vertical):
    """The block that still grows."""

    def compose(self) -> ComposeResult:
        yield CodeHead("")
        yield Plain(classes="open-text")

    def show(self, splitter: BlockSplitter, marks: Marks | None = None, offset: int = 0) -> None:
        """Paint the open end of the answer.

        Args:
            marks: guessed text to be marked.
            offset: where the open end begins in the answer.
        """

        def marked(content: Content) -> Content:
            return content if marks is None else underline_piece(content, text, offset, marks)

        text = splitter.open
        self.display = bool(text.strip())
        if not self.display:
            return
        in_code = splitter.in_code
        self.set_class(in_code, "-code")
        head, body = self.query_one(CodeHead), self.query_one(".open-text", Plain)
        head.display = in_code
        if not in_code:
            body.grow(marked(light_content(text)))
            return
        language, code = code_parts(text)
        head.show(safe_line(language))
        body.grow(marked(Content(code)))


class Answer(Vertical):
    """One answer of the model.

    Args:
        text / thinking: of an answer that is already there.
        view: how thinking is shown.
        clock: seconds, monotonic.
        marks: what of it had been guessed.
        shows_origin: whether that is shown.
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
    ) -> None:
        super().__init__(classes="entry")
        self.marks = marks or Marks()
        self._shows_origin = shows_origin
        self.text = text
        self._thinking_text = thinking
        self._view = view
        self._clock = clock
        self._incoming: list[str] = []
        self._splitter = BlockSplitter()
        self._blank = ""  # closed lines without text: they wait for some
        self._timer: Timer | None = None
        self._thinking_since: float | None = None
        self._answering = bool(text)
        self._paint_cost_s = 0.0
        self._painted_at = -1.0

    def compose(self) -> ComposeResult:
        if self._thinking_text.strip() and self._view != "hidden":
            yield Thinking(self._thinking_text, expanded=self._view == "open")
        document = ChatMarkdown(safe_text(self.text))
        document.marks = self._shown_marks
        yield document
        yield OpenBlock()

    def on_mount(self) -> None:
        self.query_one(OpenBlock).display = False

    @property
    def thinking(self) -> Thinking | None:
        """The line of the thinking, once there is any."""
        return next(iter(self.query(Thinking)), None)

    async def write(self, text: str, channel: Channel, drafted: str = "") -> None:
        """Add text, guessed by the drafter `drafted` or by none. It is painted soon."""
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
        self._incoming.clear()
        self._splitter, self._blank = BlockSplitter(), ""
        self._begin_answer()
        self.text = text
        document = self.query_one(ChatMarkdown)
        document.marks = self._shown_marks
        with self.app.batch_update():
            await document.update(safe_text(text))
            self.query_one(OpenBlock).display = False
            await self.query(Summary).remove()
            if stats is not None:
                await self.mount(Summary(stats, reason))

    async def reopen(self) -> None:
        """Get ready to carry on: the old end becomes the open block again."""
        await self.query(Summary).remove()
        self._answering = True
        self._splitter = BlockSplitter()
        closed = self._splitter.feed(safe_text(self.text))
        with self.app.batch_update():
            await self.query_one(ChatMarkdown).update(closed)
            self._show_open()

    async def show_origin(self, shows: bool) -> None:
        """Mark guessed text from now on, or no longer."""
        self._shows_origin = shows
        if self.thinking is not None:
            self.thinking.show_origin(shows)
        document = self.query_one(ChatMarkdown)
        if document.marks is self._shown_marks or not self.marks:
            return
        document.marks = self._shown_marks
        await document.update(document.source)
        self._show_open()

    @property
    def _shown_marks(self) -> Marks | None:
        return self.marks if self._shows_origin else None

    def _show_open(self) -> None:
        offset = len(self.query_one(ChatMarkdown).source) + len(self._blank)
        self.query_one(OpenBlock).show(self._splitter, self._shown_marks, offset)

    async def _write_thinking(self, text: str, drafted: str) -> None:
        self._thinking_text += text
        if self._view == "hidden":
            return
        line = self.thinking
        if line is None:
            line = Thinking(expanded=self._view == "open")
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
        if not self._answering and self.thinking is not None:
            self.thinking.paint()
        text = safe_text("".join(self._incoming))
        self._incoming.clear()
        with self.app.batch_update():
            closed = self._splitter.feed(text)
            self._blank += closed
            if closed.strip():
                closed, self._blank = self._blank, ""
                document = self.query_one(ChatMarkdown)
                document.marks = self._shown_marks
                await document.append(closed)
            self._show_open()
        self._painted_at = self._clock()
        self._paint_cost_s = 0.7 * self._paint_cost_s + 0.3 * (self._painted_at - begun)
