"""A few choices of two lines each, one of them marked: for dialogs that wait for a decision."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.geometry import Region, Size
from textual.message import Message
from textual.widget import Widget

from mtpchat.ui.cells import fitted
from mtpchat.ui.safe_text import safe_line

LINES = 2


@dataclass(frozen=True, slots=True)
class ChoiceRow:
    """What a choice gives, what it needs in a word, and what it costs; plain text."""

    label: str
    needs: str
    detail: str


class ChoiceList(Widget, can_focus=True):
    """Arrows move the mark; Enter takes the marked row, a digit or a click takes one at once."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k,shift+tab", "move(-1)", show=False),
        Binding("down,j,tab", "move(1)", show=False),
        Binding("home,g", "mark(0)", show=False),
        Binding("end,G", "mark(-1)", show=False),
        Binding("enter", "take", show=False),
        *(Binding(str(number), f"choose({number - 1})", show=False) for number in range(1, 10)),
    ]

    class Chosen(Message):
        """The user has decided for the row of this number, from 0 on."""

        def __init__(self, index: int) -> None:
            super().__init__()
            self.index = index

    def __init__(self, rows: Sequence[ChoiceRow]) -> None:
        super().__init__()
        self._rows = tuple(rows)
        self._marked = 0

    @property
    def marked(self) -> int:
        """The row that Enter takes."""
        return self._marked

    def action_move(self, by: int) -> None:
        """Move the mark, round the ends."""
        self.action_mark((self._marked + by) % len(self._rows))

    def action_mark(self, index: int) -> None:
        """Mark a row; -1 is the last, one that does not exist changes nothing."""
        if not -1 <= index < len(self._rows):
            return
        self._marked = index % len(self._rows)
        self.refresh()
        place = Region(0, self.virtual_region.y + self._marked * LINES, self.size.width, LINES)
        if isinstance(self.parent, Widget):
            self.parent.scroll_to_region(place, animate=False)  # on a low screen

    def action_choose(self, index: int) -> None:
        """Decide for a row; one that does not exist changes nothing."""
        if index < len(self._rows):
            self.action_mark(index)
            self.action_take()

    def action_take(self) -> None:
        """Decide for the marked row."""
        self.post_message(self.Chosen(self._marked))

    def on_click(self, event: events.Click) -> None:
        event.stop()
        index = (event.y - self.gutter.top) // LINES
        if index >= 0:
            self.action_choose(index)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Two lines for each row."""
        return LINES * len(self._rows)

    def render(self) -> Content:
        """All rows."""
        width = self.content_size.width
        return Content("\n").join(
            line for index, row in enumerate(self._rows) for line in self._lines(index, row, width)
        )

    def _lines(self, index: int, row: ChoiceRow, width: int) -> list[Content]:
        marked = index == self._marked
        sign = Content.styled("› " if marked else "  ", "$accent")
        number = Content.styled(f"{index + 1} ", "$mt-muted")
        label = Content.styled(safe_line(row.label), "bold $foreground" if marked else "$foreground")
        needs = Content.styled(safe_line(row.needs), "$foreground" if marked else "$mt-muted")
        detail = Content.styled(f"    {safe_line(row.detail)}", "$foreground" if marked else "$mt-muted")
        room = max(width - needs.cell_length - 2, 1)
        head = Content.assemble(fitted(Content.assemble(sign, number, label), room), "  ", needs)
        lines = [fitted(line, width) for line in (head, detail)]
        return [line.stylize("on $mt-raised") for line in lines] if marked else lines
