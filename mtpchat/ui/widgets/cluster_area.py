"""A text area whose cursor never stands inside of what is seen as one character."""

from __future__ import annotations

from collections.abc import Sequence

from textual import events
from textual.events import MouseEvent
from textual.geometry import Offset
from textual.widgets import TextArea
from textual.widgets.text_area import EditResult, Location

from mtpchat.ui.clusters import after, at_cell, before, borders, outside, snapped, widened
from mtpchat.ui.widgets.key_order import act_at_once


class ClusterArea(TextArea):
    """Keys and clicks go by whole characters: emoji of several parts, flags, letters with marks."""

    def stretches(self, line: str) -> Sequence[tuple[int, int]]:
        """Parts of a line (start, end) that count as one character."""
        return ()

    async def _on_key(self, event: events.Key) -> None:
        await act_at_once(self, event)

    def _places(self, row: int) -> list[int]:
        line = self.document.get_line(row)
        return outside(borders(line), self.stretches(line))

    def get_cursor_left_location(self) -> Location:
        """See TextArea."""
        row, column = self.cursor_location
        return (row, before(self._places(row), column)) if column else super().get_cursor_left_location()

    def get_cursor_right_location(self) -> Location:
        """See TextArea."""
        row, column = self.cursor_location
        at_end = column >= len(self.document.get_line(row))
        return super().get_cursor_right_location() if at_end else (row, after(self._places(row), column))

    def get_cursor_word_right_location(self) -> Location:
        """See TextArea; a place inside of a character becomes its end."""
        row, column = super().get_cursor_word_right_location()
        place = snapped(self._places(row), column)
        return row, place if place == column else after(self._places(row), column)

    def move_cursor(
        self, location: Location, select: bool = False, center: bool = False, record_width: bool = True
    ) -> None:
        """See TextArea; a place inside of a character becomes its beginning."""
        row, column = location
        if 0 <= row < self.document.line_count:
            location = (row, snapped(self._places(row), column))
        super().move_cursor(location, select, center, record_width)

    def delete(self, start: Location, end: Location, *, maintain_selection_offset: bool = True) -> EditResult:
        """See TextArea; what is deleted in part is deleted."""
        (row, column), (last_row, last_column) = sorted((start, end))
        if row == last_row:
            column, last_column = widened(self._places(row), column, last_column)
        return super().delete(
            (row, column), (last_row, last_column), maintain_selection_offset=maintain_selection_offset
        )

    def scroll_cursor_visible(self, center: bool = False, animate: bool = False) -> Offset:
        """See TextArea, which asks for it while it takes lines away, before the cursor has left them."""
        row, _column = self.cursor_location
        return super().scroll_cursor_visible(center, animate) if row < self.document.line_count else Offset(0, 0)

    def get_target_document_location(self, event: MouseEvent) -> Location:
        """See TextArea, which adds up the widths of parts where a whole is narrower."""
        row, column = super().get_target_document_location(event)
        line = self.document.get_line(row)
        if "\t" in line or (line.isascii() and not self.stretches(line)):
            return row, column
        x = event.x - self.gutter.left - self.gutter_width + self.scroll_offset.x
        y = event.y - self.gutter.top + self.scroll_offset.y
        start, end = self._section(row, line, y)
        places = [place - start for place in self._places(row) if start <= place <= end]
        return row, start + (at_cell(line[start:end], places, max(x, 0)) if places else 0)

    def _section(self, row: int, line: str, y: int) -> tuple[int, int]:
        """Where the wrapped part of a line begins and ends that is shown in row `y` of the whole text."""
        top = self.wrapped_document.location_to_offset((row, 0)).y
        breaks = [0, *self.wrapped_document.get_offsets(row), len(line)]
        at = min(max(y - top, 0), len(breaks) - 2)
        return breaks[at], breaks[at + 1]
