"""What the model thinks before it answers: one dim line, opened with Enter or a click."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content

from mtpchat.ui import format as numbers
from mtpchat.ui.light import RawLines
from mtpchat.ui.provenance import Marks
from mtpchat.ui.safe_text import safe_text
from mtpchat.ui.widgets.growing import GrowingText, GrowingVertical
from mtpchat.ui.widgets.messages import Plain


class Thinking(GrowingVertical, can_focus=True):
    """Folded thinking with a live counter.

    Args:
        expanded: whether the text shows, while it comes and afterwards.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter,space", "unfold", "Open or fold", show=False)]

    def __init__(self, text: str = "", *, expanded: bool = False) -> None:
        super().__init__(classes="thinking")
        self._text = safe_text(text)
        self._shown = 0  # characters of whole lines that are shown
        self._thoughts = GrowingText(RawLines(from_text=True), classes="thoughts")
        self._expanded = self._stays_open = expanded
        self._seconds: float | None = None
        self._tokens: int | None = None
        self._done = bool(text)
        self._dirty = True
        self._marks = Marks()
        self._shows_origin = False

    def compose(self) -> ComposeResult:
        yield Plain(self._line(), classes="fold")
        yield self._thoughts

    def on_mount(self) -> None:
        self._paint()

    @property
    def expanded(self) -> bool:
        """Whether the text shows."""
        return self._expanded

    def write(self, text: str, drafted: str = "") -> None:
        """Add text, guessed by the drafter `drafted` or by none; `paint` shows it."""
        text = safe_text(text)
        self._marks.add(len(text), drafted)
        self._text += text
        self._dirty = True

    def show_origin(self, shows: bool) -> None:
        """Mark guessed text from now on, or no longer."""
        if shows == self._shows_origin:
            return
        self._shows_origin, self._dirty, self._shown = shows, True, 0
        self._thoughts.restart(RawLines(0, self._marks if shows else None, from_text=True))
        self.paint()

    def count(self, seconds: float, tokens: int | None = None) -> None:
        """Tell the counter how long it has been, and how many tokens if that is known."""
        self._seconds = seconds
        self._tokens = self._tokens if tokens is None else tokens

    def fold(self) -> None:
        """The thinking is over: the line says so, and the text is folded away unless it is wanted open."""
        self._done = True
        self._expanded = self._stays_open
        self._paint()

    def paint(self) -> None:
        """Show what has come."""
        if self.is_mounted:
            self._paint()

    def action_unfold(self) -> None:
        """Open or fold."""
        self._expanded = not self._expanded
        self._paint()

    def on_click(self, event: events.Click) -> None:
        event.stop()
        self.action_unfold()

    def _paint(self) -> None:
        self.query_one(".fold", Plain).grow(Content(self._line()))
        self._thoughts.display = self._expanded and bool(self._text.strip())
        if self._thoughts.display and self._dirty:
            end = self._text.rfind("\n", self._shown) + 1 or self._shown
            self._thoughts.write(self._text[self._shown : end], self._text[end:])
            self._shown, self._dirty = end, False

    def _line(self) -> str:
        words = "thought" if self._done else "thinking"
        if self._seconds is not None:
            words += f" {'for ' if self._done else ''}{numbers.whole_seconds(self._seconds)}"
        if self._tokens:
            words += f" · {self._tokens:,} tokens"
        return f"{'▾' if self._expanded else '▸'} {words}"
