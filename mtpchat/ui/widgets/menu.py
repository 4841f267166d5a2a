"""The list that opens upwards from the prompt: slash commands, their arguments, or earlier prompts."""

from __future__ import annotations

import re
from collections.abc import Sequence

from textual import events
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.widget import Widget

from mtpchat.commands.base import MenuRow
from mtpchat.ui.cells import padded
from mtpchat.ui.safe_text import safe_line

MAX_ROWS = 8


class Menu(Widget):
    """Rows with one of them marked. It never has the focus: the prompt moves the mark."""

    class Chosen(Message):
        """A row was clicked."""

        def __init__(self, row: MenuRow) -> None:
            super().__init__()
            self.row = row

    class Toggled(Message):
        """The list has opened or closed."""

    def __init__(self) -> None:
        super().__init__()
        self._rows: tuple[MenuRow, ...] = ()
        self._marked: int | None = 0
        self._top = 0
        self.display = False

    @property
    def is_open(self) -> bool:
        """Whether there is anything to choose from."""
        return bool(self._rows)

    @property
    def rows(self) -> tuple[MenuRow, ...]:
        """All rows, shown or not."""
        return self._rows

    @property
    def marked(self) -> MenuRow | None:
        """The row that Enter takes, or None while none is marked."""
        return self._rows[self._marked] if self._rows and self._marked is not None else None

    def show(self, rows: Sequence[MenuRow], mark: int | None = 0) -> None:
        """Open with `rows` and one of them marked, or close when there are none."""
        if tuple(rows) == self._rows:
            if mark is None or self._marked is None:
                self._marked = mark
                self.refresh()
            return
        if bool(rows) != self.is_open:
            self.post_message(self.Toggled())
        self._rows = tuple(rows)
        self._marked = mark
        self._top = 0
        self.display = bool(self._rows)
        self.refresh(layout=True)

    def close(self) -> None:
        """Take the list away."""
        self.show(())

    def move(self, by: int) -> None:
        """Move the mark, round the ends."""
        if not self._rows:
            return
        start = (-1 if by > 0 else 0) if self._marked is None else self._marked
        self._marked = (start + by) % len(self._rows)
        self._keep_mark_visible()
        self.refresh()

    def _keep_mark_visible(self) -> None:
        height = max(self.content_size.height, 1)
        if self._marked is not None:
            self._top = min(max(self._top, self._marked - height + 1), self._marked)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """As many lines as rows, eight at most, fewer on a low screen."""
        return max(1, min(len(self._rows), MAX_ROWS, viewport.height - 9))

    def on_resize(self) -> None:
        self._keep_mark_visible()

    def on_click(self, event: events.Click) -> None:
        event.stop()
        index = self._top + event.y - self.gutter.top
        if 0 <= index < len(self._rows):
            self.post_message(self.Chosen(self._rows[index]))

    def render(self) -> Content:
        """The visible rows."""
        width, height = self.content_size
        shown = self._rows[self._top : self._top + max(height, 1)]
        labels = [safe_line(row.label) for row in shown]
        column = min(max((Content(label).cell_length for label in labels), default=0) + 2, max(width // 2, 12))
        if not any(row.summary for row in shown):
            column = width
        lines = [self._line(row, index + self._top, column, width) for index, row in enumerate(shown)]
        return Content("\n").join(lines)

    def _line(self, row: MenuRow, index: int, column: int, width: int) -> Content:
        name = padded(Content(safe_line(row.label)).truncate(max(column - 1, 1), ellipsis=True), column)
        room = max(width - name.cell_length - 4, 0)
        summary = Content(safe_line(row.summary)).truncate(room, ellipsis=True) if room > 6 else Content()
        marked = index == self._marked
        more = self._more(index)
        name = name.stylize("bold $foreground" if marked else "$foreground")
        if row.found:
            for match in re.finditer("|".join(map(re.escape, row.found)), name.plain, re.IGNORECASE):
                name = name.stylize("bold $accent underline", *match.span())
        line = Content.assemble(
            Content.styled("› " if marked else "  ", "$accent"),
            name,
            summary.stylize("$foreground" if marked else "$mt-muted"),
        )
        line = padded(line, width - 1)
        line = Content.assemble(line, Content.styled(more, "$mt-muted"))
        return line.stylize("on $mt-raised") if marked else line

    def _more(self, index: int) -> str:
        """A sign at the end of the first and last visible row when the list goes on there."""
        height = max(self.content_size.height, 1)
        if index == self._top and self._top > 0:
            return "↑"
        return "↓" if index == self._top + height - 1 and index < len(self._rows) - 1 else " "
