"""A message on the screen as something to act on: it can be marked, has a place in the chat, and may have siblings.

The mark is painted into the empty column at the left, one cell wide: it moves with one painting of two columns, without
new styles and without a layout, however long the message is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from rich.segment import Segment
from textual.content import Content
from textual.geometry import Region, Size
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


@runtime_checkable
class Column(Protocol):
    """Where entries stand."""

    def place_of(self, entry: Widget) -> Region:
        """Rows that an entry takes there; empty before it is laid out."""
        ...


class Walked(TextualMessage):
    """The reader wants another alternative of `entry`: the one before (-1) or after (1)."""

    def __init__(self, entry: Entry, step: int) -> None:
        super().__init__()
        self.entry = entry
        self.step = step


class Entry(_Widget):
    """To be named before the kind of widget that it is mixed into.

    Far from the view it rests: it keeps its height and shows nothing. Farther away it is taken apart: most widgets in
    it are not there, or not yet. Its height is guessed from its text until it has been whole once.

    Attributes:
        index: place in the messages of the chat; None while it is not part of it.
        alternatives: its place among its alternatives, and how many there are.
    """

    index: int | None = None
    alternatives: Siblings = ALONE
    _marked = False
    _at_rest = False
    _whole = True
    _composed = True
    _making: asyncio.Lock | None = None
    _measured: tuple[int, int] | None = None  # width and rows when it was whole
    _guessed: tuple[int, int] | None = None

    @property
    def whole(self) -> bool:
        """Whether all widgets are there that show it."""
        return self._whole

    @property
    def height_is_guessed(self) -> bool:
        """Whether it may take other rows than it has when it is shown."""
        return not self._whole or self._at_rest

    @property
    def virtual_region(self) -> Region:
        """Where it stands in the column, near the view or not."""
        column = self.parent
        return column.place_of(self) if isinstance(column, Column) else super().virtual_region

    def begin_apart(self) -> None:
        """Before it is mounted: make its widgets later."""
        self._whole = self._composed = False

    async def make_whole(self) -> None:
        """Have all widgets there that show it; little by little, so that the screen is not kept waiting."""
        self._making = self._making or asyncio.Lock()
        async with self._making:
            if self._whole or not self.is_attached:
                return
            if not self._composed:
                self._composed = True
                await self.mount_all(self.parts())
            await self.fill()
            self._whole = True
            self.refresh(layout=True)

    def take_apart(self) -> None:
        """Let go of what takes memory, while it is far from the view."""

    def parts(self) -> Sequence[Widget]:
        """New widgets that show it."""
        raise NotImplementedError

    async def fill(self) -> None:
        """Make what is inside of its widgets, where that takes long."""

    def rest(self, at_rest: bool) -> None:
        """Keep its height and show nothing of it, or no longer."""
        if at_rest == self._at_rest:
            return
        self._at_rest = at_rest
        for child in self.children:
            child.display = not at_rest
        self.refresh(layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Rows at this width; while it rests or is not whole, those it had, or about as many as its text takes."""
        if self._whole and not self._at_rest:
            rows = super().get_content_height(container, viewport, width)
            self._measured = width, rows
            return rows
        if self._measured is not None and self._measured[0] == width:
            return self._measured[1]
        if self._guessed is None or self._guessed[0] != width:
            self._guessed = width, self._guess(width)
        return self._guessed[1]

    def _guess(self, width: int) -> int:
        text = self.source
        if self._measured is None or not self._measured[0]:
            return max(guessed_rows(text, width), 2)
        before, rows = self._measured
        return max(round(rows * guessed_rows(text, width) / max(guessed_rows(text, before), 1)), 2)

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


def guessed_rows(text: str, width: int) -> int:
    """About how many rows a text takes: wrapping thousands of messages to count them would take too long."""
    width = max(width, 1)
    return sum(max(-(-len(line) // width), 1) for line in text.split("\n"))


def set_awake(entry: Widget, awake: bool) -> None:
    """Lay out what is in an entry or in a part of one, or keep its height and show nothing of it."""
    if isinstance(entry, Entry):
        entry.rest(not awake)
        return
    if awake == (entry.styles.height is None or entry.styles.height.is_auto):
        return
    entry.styles.height = "auto" if awake else entry.outer_size.height
    for child in entry.children:
        child.display = awake
