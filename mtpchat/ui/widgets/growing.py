"""Text that grows at its end, at a price that depends on what is new and not on what is there.

Rows are made once and stay; with them stays everything that Textual keeps about a row to paint it again elsewhere. When
the text takes more rows the screen is laid out once: a widget of Textual's own asks for a second layout each time that
its size has changed, in case scrollbars came or went, and painting an answer cost twice as much.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from rich._wrap import divide_line
from rich.segment import Segment
from textual.containers import Vertical
from textual.content import Content, Span
from textual.geometry import Region, Size
from textual.selection import Selection
from textual.strip import Strip
from textual.style import Style
from textual.widget import Widget

from mtpchat.ui.light import Line, LineMaker

if TYPE_CHECKING:
    _Widget = Widget
else:
    _Widget = object  # Textual takes rules of style from the first base that is a widget

_RowKey = tuple[int, int, str, tuple[Span, ...]]
"""Number of the line, place in the line, text and styles: what a row is made of."""


class Growing(_Widget):
    """Becomes longer and has no scrollbars: its new height changes nothing else, and what stood is not painted anew.

    It must have neither a border nor padding below. To be named before the kind of widget that it is mixed into.
    """

    def _size_updated(self, size: Size, virtual_size: Size, container_size: Size, layout: bool = True) -> bool:
        if size.width != self._size.width:
            return super()._size_updated(size, virtual_size, container_size, layout=False)
        self._layout_cache.clear()
        changed = (size, virtual_size, container_size) != (self._size, self.virtual_size, self._container_size)
        self._size, self._container_size = size, container_size
        self.set_reactive(Widget.virtual_size, virtual_size)
        return changed


class GrowingVertical(Growing, Vertical):
    """A column of which the last one grows."""


class GrowingText(Growing, Widget):
    """Lines that stand, and an open end that is made anew each time.

    Args:
        maker: makes lines of what is written.
    """

    DEFAULT_CSS = "GrowingText { width: 100%; height: auto; }"

    def __init__(self, maker: LineMaker, *, classes: str | None = None) -> None:
        super().__init__(classes=classes)
        self.set_reactive(Widget.auto_links, False)
        self._maker = maker
        self._settled: list[Line] = []
        self._open: list[Line] = []
        self._starts: list[int] = []  # the first row of each line
        self._rows: list[Strip] = []
        self._keys: list[_RowKey] = []
        self._made_for: tuple[int, Style, str] | None = None

    @property
    def has_lines(self) -> bool:
        """Whether anything stands here for good."""
        return bool(self._settled)

    def write(self, settled: str, open_end: str = "") -> None:
        """Add whole lines, and show what comes after them for the time being."""
        first = len(self._settled)
        self._settled += self._maker.settle(settled)
        self._open = self._maker.preview(open_end)
        self._show_from(first)

    def end(self) -> None:
        """Something else follows: drop the open end and leave a blank line."""
        first = len(self._settled)
        self._settled.append(Line(Content()))
        self._open = []
        self._show_from(first)

    def restart(self, maker: LineMaker) -> None:
        """Begin anew, empty."""
        self._maker = maker
        self._settled, self._open = [], []
        self._show_from(0)

    def render(self) -> Content:
        """All of the text; this is what a selection is cut from."""
        return Content("\n").join([line.text for line in (*self._settled, *self._open)])

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Rows at this width."""
        self._make_for(width)
        return len(self._rows)

    def render_line(self, y: int) -> Strip:
        """One row."""
        self._make_for(self.content_size.width)
        if y >= len(self._rows):
            return Strip.blank(self.content_size.width, self.visual_style.rich_style)
        selection = self.text_selection
        if selection is None:
            return self._rows[y]
        number = bisect_right(self._starts, y) - 1
        line = (*self._settled, *self._open)[number]
        parts = self._divided(self._selected(line, number, selection), self.content_size.width)
        row = y - self._starts[number]
        return self._strip(line, number, row, *parts[row])

    def notify_style_update(self) -> None:
        super().notify_style_update()
        if self._made_for is not None:
            self.refresh()

    def _show_from(self, first: int) -> None:
        """Lines from the one numbered `first` on are other ones."""
        if self._made_for is None:
            self.refresh(layout=True)
            return
        width, rows = self._made_for[0], len(self._rows)
        row = self._make_from(first)
        # Rows below the old end are not there yet: the layout brings them.
        changed = Region(0, row, width, max(rows, len(self._rows)) - row)
        if changed:
            self.refresh(changed, layout=rows != len(self._rows))

    def _make_for(self, width: int) -> None:
        key = (width, self.visual_style, self.app.theme)
        if width and key != self._made_for:
            self._made_for = key
            self._starts, self._rows, self._keys = [], [], []
            self._make_from(0)

    def _make_from(self, first: int) -> int:
        """Make the rows of all lines from one on. Returns the first row that is another one."""
        width = self._made_for[0] if self._made_for is not None else 0
        start = self._starts[first] if first < len(self._starts) else len(self._rows)
        old, old_keys = self._rows[start:], self._keys[start:]
        del self._starts[first:], self._rows[start:], self._keys[start:]
        same = 0
        for number, line in enumerate((*self._settled[first:], *self._open), first):
            self._starts.append(len(self._rows))
            for row, (part, at) in enumerate(self._divided(line, width)):
                key = (number, at, part.plain, tuple(part.spans))
                if same == len(self._rows) - start and same < len(old) and key == old_keys[same]:
                    self._rows.append(old[same])
                    same += 1
                else:
                    self._rows.append(self._strip(line, number, row, part, at))
                self._keys.append(key)
        return start + same

    def _divided(self, line: Line, width: int) -> list[tuple[Content, int]]:
        """What fits into one row each, and where in the line it begins."""
        if line.rule:
            return [(Content.styled("─" * width, "$mt-line"), 0)]
        if line.cut:
            return [(line.text.truncate(width), 0)]
        lead, plain = line.lead, line.text.plain
        room = max(width - lead, 1)
        cuts = [lead + cut for cut in divide_line(plain[lead:], room)]
        if not cuts:
            return [(line.text, 0)]
        parts = line.text.divide(cuts)
        return [(part.rstrip(), at) for part, at in zip(parts, (0, *cuts), strict=True)]

    def _strip(self, line: Line, number: int, row: int, part: Content, at: int) -> Strip:
        """A row; each piece carries its place in the text, by which the mouse selects."""
        base = self.visual_style
        segments: list[Segment] = []
        if row and line.lead:
            sign = line.text[: line.lead] if line.again else Content(" " * line.lead)
            segments += [Segment(text, (base + style).rich_style) for text, style in self._styled(sign, base)]
        for text, style in self._styled(part, base):
            segments.append(Segment(text, (base + style).rich_style_with_offset(at, number)))
            at += len(text)
        return Strip(segments)

    def _styled(self, content: Content, base: Style) -> list[tuple[str, Style]]:
        return list(content.render(base, end="", parse_style=self._get_style))

    def _selected(self, line: Line, number: int, selection: Selection) -> Line:
        span = selection.get_span(number)
        if span is None or line.rule:
            return line
        start, end = span
        style = Style.from_styles(self.screen.get_component_styles("screen--selection"))
        text = line.text.stylize(style, start, len(line.text) if end == -1 else end)
        return Line(text, line.lead, line.again, cut=line.cut)
