"""A message on the screen as something to act on: it can be marked, has a place in the chat, and may have siblings.

The mark is painted into the empty column at the left, one cell wide: it moves with one painting of two columns, without
new styles and without a layout, however long the message is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.segment import Segment
from textual.content import Content
from textual.geometry import Region
from textual.message import Message as TextualMessage
from textual.strip import Strip
from textual.style import Style
from textual.widget import Widget

from mtpchat.messages import Message

if TYPE_CHECKING:
    _Widget = Widget
else:
    _Widget = object  # Textual takes rules of style from the first base that is a widget

Siblings = tuple[int, int]
"""Place of a message among its alternatives, from 1, and how many there are."""
ALONE: Siblings = (1, 1)
_BAR = "▎"


class Walked(TextualMessage):
    """The reader wants another alternative of `entry`: the one before (-1) or after (1)."""

    def __init__(self, entry: Entry, step: int) -> None:
        super().__init__()
        self.entry = entry
        self.step = step


class Entry(_Widget):
    """To be named before the kind of widget that it is mixed into.

    Attributes:
        index: place in the messages of the chat; None while it is not part of it.
        alternatives: its place among its alternatives, and how many there are.
    """

    index: int | None = None
    alternatives: Siblings = ALONE
    _marked = False

    @property
    def marked(self) -> bool:
        """Whether keys act on it."""
        return self._marked

    @property
    def source(self) -> str:
        """Its text as it was written."""
        raise NotImplementedError

    @property
    def grows(self) -> bool:
        """Whether more may come."""
        raise NotImplementedError

    @property
    def folded(self) -> bool:
        """Whether part of it is hidden."""
        raise NotImplementedError

    def fold(self) -> bool:
        """Hide most of it, or show all; False when it is too short for that."""
        raise NotImplementedError

    def reveal(self, end: int) -> None:
        """Show all of it if its source is not shown up to `end`."""
        raise NotImplementedError

    def shows(self, message: Message) -> bool:
        """Whether it is this message, complete, as the chat has it."""
        raise NotImplementedError

    def set_siblings(self, siblings: Siblings) -> None:
        """Tell it how many alternatives there are."""
        if siblings != self.alternatives:
            self.alternatives = siblings
            if self.is_mounted:
                self.show_siblings()

    def show_siblings(self) -> None:
        """Bring the line up to date that shows them."""
        raise NotImplementedError

    def set_marked(self, marked: bool) -> None:
        """Put the bar beside it, or take it away."""
        if marked != self._marked:
            self._marked = marked
            inner = self.content_offset  # places to be painted are counted from there
            self.refresh(Region(-inner.x, -inner.y, 1, self.outer_size.height))

    def render_lines(self, crop: Region) -> list[Strip]:
        strips = super().render_lines(crop)
        if not self._marked or crop.x > 0 or not crop.width:
            return strips
        style = (self.visual_style + self._get_style("$accent")).rich_style
        bar = Strip([Segment(_BAR, style)], 1)
        for line_filter in self.get_line_filters():  # the lines above have been through them already
            bar = bar.apply_filter(line_filter, self.background_colors[1])
        return [Strip.join([bar, strip.crop(1, crop.width)]) for strip in strips]


def siblings_content(siblings: Siblings) -> Content:
    """`‹ 2/3 ›`, or nothing for a message without alternatives."""
    place, count = siblings
    if count < 2:
        return Content()
    before = Content.styled("‹ ", "$mt-muted" if place == 1 else "$foreground")
    after = Content.styled(" ›", "$mt-muted" if place == count else "$foreground")
    return Content.assemble(
        before.stylize(Style.from_meta({"@click": "walk(-1)"})),
        Content.styled(f"{place}/{count}", "$mt-muted"),
        after.stylize(Style.from_meta({"@click": "walk(1)"})),
    )


def set_awake(entry: Widget, awake: bool) -> None:
    """Lay out what is in an entry, or keep its height and show nothing of it."""
    if awake == (entry.styles.height is None or entry.styles.height.is_auto):
        return
    entry.styles.height = "auto" if awake else entry.outer_size.height
    for child in entry.children:
        child.display = awake
