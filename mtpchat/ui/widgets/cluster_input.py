"""A field of one line whose cursor never stands inside of what is seen as one character."""

from __future__ import annotations

from textual import events
from textual.widgets import Input
from textual.widgets.input import Selection

from mtpchat.ui.clusters import after, at_cell, borders, snapped, widened
from mtpchat.ui.safe_text import safe_text
from mtpchat.ui.widgets.key_order import act_at_once


class ClusterInput(Input):
    """Keys and clicks go by whole characters, and nothing in the text is obeyed by the terminal."""

    async def _on_key(self, event: events.Key) -> None:
        await act_at_once(self, event)

    def validate_value(self, value: str) -> str:
        """Control characters are shown as signs; a line end becomes a space."""
        return safe_text(value).replace("\n", " ")

    def validate_selection(self, selection: Selection) -> Selection:
        """See Input; a place inside of a character becomes its beginning."""
        start, end = super().validate_selection(selection)
        places = borders(self.value)
        return Selection(snapped(places, start), snapped(places, end))

    def action_cursor_right(self, select: bool = False) -> None:
        """See Input."""
        start, end = self.selection
        if start != end and not select:
            self.cursor_position = max(start, end)
            return
        place = after(borders(self.value), end)
        self.selection = Selection(start if select else place, place)

    def delete(self, start: int, end: int) -> None:
        """See Input; what is deleted in part is deleted."""
        first, last = sorted((max(start, 0), min(end, len(self.value))))
        super().delete(*widened(borders(self.value), first, last))

    def _cell_offset_to_index(self, offset: int) -> int:
        """See Input, which adds up the widths of parts where a whole is narrower."""
        return at_cell(self.value, borders(self.value), max(offset + self.scroll_offset.x, 0))

    def _on_paste(self, event: events.Paste) -> None:
        """See Input, which lets everything through, and takes only the first line."""
        event.prevent_default()
        event.stop()
        line = " ".join(event.text.strip("\r\n").splitlines())
        if line:
            self.replace(line, *self.selection)
