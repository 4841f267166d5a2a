"""Folds a long answer to its first lines, with a line below that says how many are hidden."""

from __future__ import annotations

from textual import events
from textual.message import Message as TextualMessage
from textual.widget import Widget

from mtpchat.ui.widgets.messages import Plain

_SHOWN_ROWS = 8
_WORTH_IT = 4
"""Rows that must vanish at least."""


class Folded(Plain):
    """`… 42 more lines`; a click shows them."""

    class Opened(TextualMessage):
        """It was clicked."""

    def __init__(self) -> None:
        super().__init__(classes="folded")

    def say(self, rows: int) -> None:
        """So many rows are hidden."""
        self.update(f"… {rows:,} more line{'' if rows == 1 else 's'}", layout=False)

    def on_click(self, event: events.Click) -> None:
        event.stop()
        self.post_message(self.Opened())


class Folding:
    """Whether most of a document is hidden.

    Args:
        entry: where the line is put, below the document.
        document: what is cut off. It stays laid out as a whole, so that its rows can be counted.
    """

    def __init__(self, entry: Widget, document: Widget) -> None:
        self._entry = entry
        self._document = document
        self._line: Folded | None = None

    @property
    def folded(self) -> bool:
        """Whether part of it is hidden."""
        return self._line is not None

    def toggle(self) -> bool:
        """Hide most of it, or show all; False when it is too short for that."""
        if self._line is not None:
            self.open()
            return True
        if self._document.outer_size.height < _SHOWN_ROWS + _WORTH_IT:
            return False
        self._line = Folded()
        self._document.styles.max_height = _SHOWN_ROWS
        self._document.styles.overflow_y = "hidden"
        self._entry.mount(self._line, after=self._document)
        self.count()
        return True

    def open(self) -> None:
        """Show all of it."""
        line, self._line = self._line, None
        if line is not None:
            line.remove()
            self._document.styles.max_height = None

    def count(self) -> None:
        """Say how many rows are hidden, once they have been laid out for the width there is."""
        if self._line is not None:
            self._entry.call_after_refresh(self._count)

    def _count(self) -> None:
        if self._line is not None and self._line.is_mounted:
            self._line.say(max(self._document.virtual_size.height - self._document.size.height, 0))
