"""Where a stretch of a message's source stands on the screen: which widget shows it, and which characters of that.

Markdown drops signs and changes spaces, so shown text is aligned with its source; where that fails, the same words are
looked for in what is shown.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from textual.content import Content
from textual.geometry import Offset
from textual.selection import Selection
from textual.widget import Widget
from textual.widgets._markdown import MarkdownBlock

from mtpchat.ui.provenance import places
from mtpchat.ui.safe_text import safe_text
from mtpchat.ui.widgets.answer import Answer
from mtpchat.ui.widgets.entry import Entry
from mtpchat.ui.widgets.growing import GrowingText
from mtpchat.ui.widgets.markdown import CodeBlock, CodeText
from mtpchat.ui.widgets.table import TableText


@dataclass(frozen=True, slots=True)
class Place:
    """Where something is shown.

    Attributes:
        widget: what shows it.
        selection: which characters of the widget's text.
        row: how many rows of the widget's text are above it.
    """

    widget: Widget
    selection: Selection
    row: int


def searchable(entry: Entry) -> str:
    """The source of a message as it is searched; `locate` takes places in it."""
    return safe_text(entry.source)


def locate(entry: Entry, start: int, end: int) -> Place | None:
    """Where characters `start` to `end` of `searchable(entry)` are shown; None if they are not."""
    source = searchable(entry)
    if not isinstance(entry, Answer):
        widget = entry.query_one(".said")
        shown = shown_text(widget)
        return _place(widget, shown, start, end) if shown[start:end] == source[start:end] else None
    if not entry.grows:
        place = _aligned(entry, source, start, end)
        if place is not None:
            return place
    return _same_words(entry, source, start, end)


def shown_text(widget: Widget) -> str:
    """The text that a widget shows."""
    content = widget.render()
    return content.plain if isinstance(content, Content) else str(content)


def _aligned(answer: Answer, source: str, start: int, end: int) -> Place | None:
    """Look into the block whose lines of the source it is."""
    line = source.count("\n", 0, start)
    lines = source.split("\n")
    for block in answer.document.children:
        if not isinstance(block, MarkdownBlock) or not block.source_range[0] <= line < block.source_range[1]:
            continue
        first, last = block.source_range
        offset = sum(len(text) + 1 for text in lines[:first])
        return _in_block(block, "\n".join(lines[first:last]), start - offset, end - offset)
    return None


def _in_block(block: MarkdownBlock, source: str, start: int, end: int) -> Place | None:
    at = 0
    for leaf in _leaves(block):
        shown = shown_text(leaf)
        if isinstance(leaf, CodeText) and source[at:].lstrip(" >").startswith(("```", "~~~")):
            at = source.find("\n", at) + 1
        found = places(shown, source, at)
        inside = [index for index, place in enumerate(found) if start <= place < end]
        if inside:
            return _place(leaf, shown, inside[0], inside[-1] + 1)
        at = max([at, *(place + 1 for place in found)])
    return None


def _same_words(entry: Entry, source: str, start: int, end: int) -> Place | None:
    """The same words on the screen: as many of them come before as in the source."""
    words = source[start:end]
    before = source.count(words, 0, start)
    last: Place | None = None
    for leaf in _leaves(entry):
        shown = shown_text(leaf)
        at = shown.find(words)
        while at >= 0:
            last = _place(leaf, shown, at, at + len(words))
            if before == 0:
                return last
            before -= 1
            at = shown.find(words, at + 1)
    return last


def _leaves(within: Widget) -> Iterator[Widget]:
    """Widgets that show text of the message themselves, in its order."""
    for widget in within.walk_children(Widget, with_self=True):
        match widget:
            case CodeText() | TableText():
                yield widget
            case GrowingText() if "thoughts" not in widget.classes:
                yield widget
            case MarkdownBlock() if widget._content.plain and not isinstance(widget, CodeBlock):
                yield widget
            case _:
                continue


def _place(widget: Widget, shown: str, start: int, end: int) -> Place | None:
    if end > len(shown):
        return None
    selection = Selection.from_offsets(_offset(shown, start), _offset(shown, end))
    above = shown[: start + 1]
    cut = isinstance(widget, (CodeText, TableText))  # its lines take one row each
    rows = above.count("\n") if cut else len(Content(above).wrap(max(widget.content_size.width, 1))) - 1
    return Place(widget, selection, rows)


def _offset(text: str, at: int) -> Offset:
    line_start = text.rfind("\n", 0, at) + 1
    return Offset(at - line_start, text.count("\n", 0, at))
