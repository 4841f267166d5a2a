"""A Markdown table as one quiet piece of text: bold heads, one rule, columns that share the width there is.

Textual's own table draws a box for every cell and reads the cells' text as markup in its tooltips; an answer with a
stray bracket would end the app.
"""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.content import Content
from textual.geometry import Size
from textual.widget import Widget
from textual.widgets._markdown import MarkdownBlock, MarkdownTable, MarkdownTD, MarkdownTH, MarkdownTR

from mtpchat.ui.cells import padded

_GAP = 3
_NARROWEST = 6
_MOST_COLUMNS = 100
"""More do not fit on any screen."""


def column_widths(natural: Sequence[int], room: int) -> list[int]:
    """Widths that fit into `room` cells: the widest give way first, none below six cells if possible."""
    # Nothing wider than all of the room can come of it, and the widest lose one cell at a time.
    widths = [min(max(width, 1), max(room, _NARROWEST)) for width in natural]
    free = room - _GAP * (len(widths) - 1)
    if free < _NARROWEST * len(widths):
        return [min(width, _NARROWEST) for width in widths]
    while sum(widths) > free and max(widths, default=0) > _NARROWEST:
        widths[widths.index(max(widths))] -= 1
    return widths


def table_content(heads: Sequence[Content], rows: Sequence[Sequence[Content]], width: int) -> Content:
    """The table, wrapped into `width` cells."""
    columns = max([len(heads), *(len(row) for row in rows)])
    natural = [_natural([heads, *rows], column) for column in range(columns)]
    widths = column_widths(natural, width)
    lines = _row([head.stylize("bold") for head in heads], widths)
    lines.append(Content.styled("─" * min(sum(widths) + _GAP * (columns - 1), width), "$mt-line"))
    for row in rows:
        lines += _row(row, widths)
    return Content("\n").join(lines)


def _natural(rows: Sequence[Sequence[Content]], column: int) -> int:
    return max((row[column].cell_length for row in rows if column < len(row)), default=1)


def _row(cells: Sequence[Content], widths: Sequence[int]) -> list[Content]:
    """One row as lines; a long cell takes several."""
    wrapped = [
        (cells[column].wrap(width) if column < len(cells) and cells[column].plain else [Content()])
        for column, width in enumerate(widths)
    ]
    lines: list[Content] = []
    for number in range(max(len(cell) for cell in wrapped)):
        parts: list[Content] = []
        for cell, width in zip(wrapped, widths, strict=True):
            text = cell[number].rstrip() if number < len(cell) else Content()
            parts.append(padded(text, width))
        lines.append(Content(" " * _GAP).join(parts).rstrip())
    return lines


class TableText(Widget):
    """Paints a table for the width there is."""

    def __init__(self, heads: Sequence[Content], rows: Sequence[Sequence[Content]]) -> None:
        super().__init__()
        self._heads = heads[:_MOST_COLUMNS]
        self._body = [row[:_MOST_COLUMNS] for row in rows]
        self._made: tuple[int, Content] | None = None

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Lines at this width."""
        return self._content(width).plain.count("\n") + 1

    def render(self) -> Content:
        """The table."""
        return self._content(self.content_size.width)

    def _content(self, width: int) -> Content:
        """Made once for each width: a long table takes a second."""
        if self._made is None or self._made[0] != width:
            self._made = width, table_content(self._heads, self._body, width)
        return self._made[1]


class ChatTable(MarkdownTable):
    """A table of an answer."""

    def compose(self) -> ComposeResult:
        heads: list[Content] = []
        rows: list[list[Content]] = []
        for block in inner_blocks(self):
            match block:
                case MarkdownTH():
                    heads.append(block._content)
                case MarkdownTR():
                    rows.append([])
                case MarkdownTD() if rows:
                    rows[-1].append(block._content)
                case _:
                    continue
        self._blocks.clear()
        yield TableText(heads, [row for row in rows if row])

    async def _update_from_block(self, block: MarkdownBlock) -> None:
        await MarkdownBlock._update_from_block(self, block)


def inner_blocks(block: MarkdownBlock) -> list[MarkdownBlock]:
    """Every block inside one that is not on the screen yet, in the order of the text."""
    found: list[MarkdownBlock] = []
    for child in block._blocks:
        found.append(child)
        found += inner_blocks(child)
    return found
