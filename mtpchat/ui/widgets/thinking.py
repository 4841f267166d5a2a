"""What the model thinks before it answers: one dim line, opened with Enter or a click."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content

from mtpchat.ui import format as numbers
from mtpchat.ui.provenance import Marks, underlined
from mtpchat.ui.safe_text import safe_text
from mtpchat.ui.widgets.messages import Plain


class Thinking(Vertical, can_focus=True):
    """Folded thinking with a live counter.

    Args:
        expanded: whether the text shows, while it comes and afterwards.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter,space", "unfold", "Open or fold", show=False)]

    def __init__(self, text: str = "", *, expanded: bool = False) -> None:
        super().__init__(classes="thinking")
        self._text = text
        self._expanded = self._stays_open = expanded
        self._seconds: float | None = None
        self._tokens: int | None = None
        self._done = bool(text)
        self._dirty = True
        self._marks = Marks()
        self._shows_origin = False

    def compose(self) -> ComposeResult:
        yield Plain(self._line(), classes="fold")
        yield Plain(classes="thoughts")

    def on_mount(self) -> None:
        self._paint()

    @property
    def expanded(self) -> bool:
        """Whether the text shows."""
        return self._expanded

    def write(self, text: str, drafted: str = "") -> None:
        """Add text, guessed by the drafter `drafted` or by none; `paint` shows it."""
        self._marks.add(len(safe_text(text)), drafted)
        self._text += text
        self._dirty = True

    def show_origin(self, shows: bool) -> None:
        """Mark guessed text from now on, or no longer."""
        self._shows_origin, self._dirty = shows, True
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
        self.query_one(".fold", Plain).update(self._line())
        thoughts = self.query_one(".thoughts", Plain)
        thoughts.display = self._expanded and bool(self._text.strip())
        if thoughts.display and self._dirty:
            thoughts.update(self._thoughts())
            self._dirty = False

    def _thoughts(self) -> Content:
        text = safe_text(self._text)
        content = Content(text.strip("\n"))
        if not self._shows_origin or not self._marks:
            return content
        offset = len(text) - len(text.lstrip("\n"))
        return underlined(content, range(offset, offset + len(content.plain)), self._marks)

    def _line(self) -> str:
        words = "thought" if self._done else "thinking"
        if self._seconds is not None:
            words += f" {'for ' if self._done else ''}{numbers.whole_seconds(self._seconds)}"
        if self._tokens:
            words += f" · {self._tokens:,} tokens"
        return f"{'▾' if self._expanded else '▸'} {words}"
