"""A text area whose cursor never stands inside of what is seen as one character."""

from __future__ import annotations

from rich.cells import cell_len
from textual.events import MouseEvent
from textual.widgets import TextArea
from textual.widgets.text_area import Location

from mtpchat.ui.clusters import after, before, borders, snapped


class ClusterArea(TextArea):
    """Left, Right, Backspace, Delete and clicks go by whole characters: emoji of several parts, flags, marks."""

    def get_cursor_left_location(self) -> Location:
        """See TextArea."""
        row, column = self.cursor_location
        return (row, before(self.document.get_line(row), column)) if column else super().get_cursor_left_location()

    def get_cursor_right_location(self) -> Location:
        """See TextArea."""
        row, column = self.cursor_location
        line = self.document.get_line(row)
        return (row, after(line, column)) if column < len(line) else super().get_cursor_right_location()

    def move_cursor(
        self, location: Location, select: bool = False, center: bool = False, record_width: bool = True
    ) -> None:
        """See TextArea; a place inside of a character becomes its beginning."""
        row, column = location
        if 0 <= row < self.document.line_count:
            location = (row, snapped(self.document.get_line(row), column))
        super().move_cursor(location, select, center, record_width)

    def get_target_document_location(self, event: MouseEvent) -> Location:
        """See TextArea, which adds up the widths of parts where a whole is narrower."""
        row, column = super().get_target_document_location(event)
        line = self.document.get_line(row)
        if line.isascii() or "\t" in line:
            return row, column
        x = event.x - self.gutter.left - self.gutter_width + self.scroll_offset.x
        y = event.y - self.gutter.top + self.scroll_offset.y
        start, end = self._section(row, line, y)
        places = [place for place in borders(line) if start <= place <= end]
        inside = [place for place in places if cell_len(line[start:place]) <= max(x, 0)]
        return row, inside[-1] if inside else start

    def _section(self, row: int, line: str, y: int) -> tuple[int, int]:
        """Where the wrapped part of a line begins and ends that is shown in row `y` of the whole text."""
        top = self.wrapped_document.location_to_offset((row, 0)).y
        breaks = [0, *self.wrapped_document.get_offsets(row), len(line)]
        at = min(max(y - top, 0), len(breaks) - 2)
        return breaks[at], breaks[at + 1]
