"""The light form of text while it grows: each line by itself, with its plainest marks.

It is made once per line, whatever comes after it, and stands where the full rendering will put it at the end: blank
lines, bullets and indents are those of the rendered Markdown. What it does not know (links to notes, lists with more
than nine numbers, emphasis over two lines) changes its look at the end.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from copy import copy
from dataclasses import dataclass
from typing import Literal, Protocol

from textual.content import Content, Span

from mtpchat.ui.long_lines import bounded
from mtpchat.ui.provenance import Marks, underline_piece, underlined

_HEADING = re.compile(r" {0,3}(#{1,6})(?: (.*)|)$")
_RULE = re.compile(r" {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})$")
_UNDERLINED = re.compile(r" {0,3}(?:=+|-+)[ \t]*$")
_QUOTE = re.compile(r"(?: {0,3}> ?)+")
_ITEM = re.compile(r"([ \t]*)([-*+]|\d{1,9}[.)])(?:[ \t]+(.*)|)$")
_INNER_FENCE = re.compile(r"([ \t]{4,})(`{3,}|~{3,})[ \t]*(\S*)[ \t]*$")
_INLINE = re.compile(
    r"\\(?P<escaped>[!-/:-@\[-`{-~])"
    r"|\*\*(?P<strong>[^*\n]+)\*\*|`(?P<code>[^`\n]+)`|(?<![*\w])\*(?P<em>[^*\s][^*\n]*)\*(?!\w)"
)
_STYLES = {"strong": "bold", "em": "italic", "code": "$mt-code"}
_BULLETS = ("• ", "◦ ", "▪ ")
_TAB = 8


@dataclass(frozen=True, slots=True)
class Line:
    """One line of text, of any length.

    Attributes:
        text: what is shown, with the sign at its beginning.
        lead: cells of that sign; where the text takes several rows, the others are indented by as much.
        again: every row begins with the sign.
        rule: a line from edge to edge instead.
        cut: what does not fit into one row is not shown.
    """

    text: Content
    lead: int = 0
    again: bool = False
    rule: bool = False
    cut: bool = False


class LineMaker(Protocol):
    """Makes lines of text that comes bit by bit."""

    def settle(self, text: str) -> list[Line]:
        """More whole lines, for good."""
        ...

    def preview(self, text: str) -> list[Line]:
        """What would come of `text` if it was next; nothing is kept."""
        ...


class _LineByLine(ABC):
    """A LineMaker that makes each line of the one before it and of its own.

    Args:
        offset: where the text begins in what `marks` are about.
        marks: guessed text to be marked.
    """

    def __init__(self, offset: int, marks: Marks | None) -> None:
        self._offset = offset
        self._marks = marks

    def settle(self, text: str) -> list[Line]:
        """See LineMaker."""
        lines: list[Line] = []
        for line in _lines(text):
            lines += self._line(bounded(line))
            self._offset += len(line) + 1
        return lines

    def preview(self, text: str) -> list[Line]:
        """See LineMaker."""
        return copy(self).settle(text)

    @abstractmethod
    def _line(self, source: str) -> Iterable[Line]:
        """What a line of the text is shown as; blank ones may wait for text after them."""


class RawLines(_LineByLine):
    """Text as it is: code and thoughts.

    Args:
        offset: where the text begins in what `marks` are about.
        marks: guessed text to be marked.
        from_text: leave out blank lines at the beginning.
        cut: show of each line what fits into one row.
    """

    def __init__(
        self, offset: int = 0, marks: Marks | None = None, *, from_text: bool = False, cut: bool = False
    ) -> None:
        super().__init__(offset, marks)
        self._skips = from_text
        self._cut = cut
        self._blanks = 0

    def _line(self, source: str) -> list[Line]:
        if not source.strip():
            self._blanks += not self._skips
            return []
        lines = [Line(Content())] * self._blanks
        self._skips, self._blanks = False, 0
        content = Content(source)
        if self._marks is not None:
            content = underlined(content, range(self._offset, self._offset + len(source)), self._marks)
        return [*lines, Line(_without_tabs(content), cut=self._cut)]


@dataclass(frozen=True, slots=True)
class _Item:
    """A list item that text may still belong to: columns in the source and on the screen where its text begins."""

    inside: int
    column: int
    sign: str
    number: int


class LightLines(_LineByLine):
    """Prose with headings, lists, quotes, rules and the plainest inline marks.

    Args:
        offset: where the text begins in what `marks` are about.
        marks: guessed text to be marked.
    """

    def __init__(self, offset: int = 0, marks: Marks | None = None) -> None:
        super().__init__(offset, marks)
        self._after: Literal["start", "text", "item", "quote", "block"] = "start"
        self._blank = False
        self._items: tuple[_Item, ...] = ()
        self._fence: re.Match[str] | None = None

    def _line(self, source: str) -> Iterator[Line]:
        if self._fence is not None:
            yield from self._code(source)
            return
        if not source.strip():
            self._blank = True
            return
        after, blank = self._after, self._blank
        if after == "text" and not blank and _UNDERLINED.match(source):
            self._after = "block"
            return  # the line above is a heading; at the end it will look like one
        self._blank = False
        self._fence = _INNER_FENCE.match(source) if self._items else None
        line, gap = self._made(source, after, blank)
        if gap and after != "start":
            yield Line(Content())
        if line.rule:
            yield Line(Content())
        yield line

    def _code(self, source: str) -> Iterator[Line]:
        """A line of code inside a list."""
        fence = self._fence
        if fence is None or source.strip() == fence[2]:
            self._fence, self._after = None, "block"
            return
        shown = Content.styled(source.expandtabs(4)[len(fence[1].expandtabs(4)) :], "$mt-code")
        column = self._items[-1].column if self._items else 0
        yield Line(Content.assemble(" " * column, self._marked(shown, source)), column)

    def _made(self, source: str, after: str, blank: bool) -> tuple[Line, bool]:
        """The line, and whether a blank one belongs before it."""
        if heading := _HEADING.match(source):
            self._after, self._items = "block", ()
            style = "bold underline" if heading[1] == "#" else "bold"
            return Line(self._inline(_without_closing(heading[2] or ""), source).stylize_before(style)), True
        if _RULE.match(source):
            self._after, self._items = "block", ()
            return Line(Content("───"), rule=True), True
        if quote := _QUOTE.match(source):
            self._after, self._items = "quote", ()
            return self._quoted(source[quote.end() :], source, quote[0].count(">")), after != "quote" or blank
        item = _ITEM.match(source)
        if item and self._may_begin(item, after, blank):
            return self._item(item, source)
        if after == "quote" and not blank:
            return self._quoted(source.strip(), source, 1), False
        return self._text(source, after, blank)

    def _may_begin(self, item: re.Match[str], after: str, blank: bool) -> bool:
        """Only the number 1 and bullets may break into a paragraph."""
        in_paragraph = after == "text" and not blank and not self._items
        return not in_paragraph or (bool(item[3]) and item[2] in ("-", "*", "+", "1.", "1)"))

    def _item(self, item: re.Match[str], source: str) -> tuple[Line, bool]:
        indent = len(item[1].expandtabs(4))
        left: _Item | None = None
        while self._items and indent < self._items[-1].inside:
            left, self._items = self._items[-1], self._items[:-1]
        sign = item[2] if item[2] in "-*+" else item[2][-1]
        carries_on = left is not None and left.sign == sign
        begun = self._items[-1].column if self._items else 0
        number = left.number + 1 if left is not None and carries_on else int(item[2][:-1] or 0)
        depth = sum(one.sign in "-*+" for one in self._items)
        shown = _BULLETS[depth % len(_BULLETS)] if sign in "-*+" else f" {number}. "
        column = begun + len(shown)
        self._items += (_Item(indent + len(item[2]) + 1, column, sign, number),)
        self._after = "item"
        body = self._inline((item[3] or "").strip(), source)
        lead = Content.styled(" " * begun + shown, "$mt-muted")
        return Line(Content.assemble(lead, body), column), not carries_on and not begun

    def _text(self, source: str, after: str, blank: bool) -> tuple[Line, bool]:
        indent = len(source.expandtabs(4)) - len(source.expandtabs(4).lstrip())
        if blank or after == "block":
            while self._items and indent < self._items[-1].inside:
                self._items = self._items[:-1]
        self._after = "item" if self._items else "text"
        column = self._items[-1].column if self._items else 0
        if self._fence is not None:
            body = Content.styled(self._fence[3] or "text", "$mt-muted")
        else:
            body = self._inline(source.strip(), source)
        line = Line(Content.assemble(" " * column, body) if column else body, column)
        return line, blank or after in ("block", "quote")

    def _quoted(self, text: str, source: str, depth: int) -> Line:
        body = self._inline(text.strip(), source).stylize_before("$mt-muted")
        return Line(Content.assemble(Content.styled("▌ " * depth, "$mt-line"), body), 2 * depth, again=True)

    def _inline(self, text: str, source: str) -> Content:
        return self._marked(_without_tabs(light_content(text)), source)

    def _marked(self, content: Content, source: str) -> Content:
        return content if self._marks is None else underline_piece(content, source, self._offset, self._marks)


def _lines(text: str) -> list[str]:
    """Lines without their ends; the last one may have had none."""
    if not text:
        return []
    return (text[:-1] if text.endswith("\n") else text).split("\n")


def _without_closing(heading: str) -> str:
    """Words of a heading without the signs that may close it."""
    words = heading.strip(" \t")
    open_end = words.rstrip("#")
    return open_end.rstrip(" \t") if not open_end or open_end[-1] in " \t" else words


def _without_tabs(content: Content) -> Content:
    return content.expand_tabs(_TAB) if "\t" in content.plain else content


def light_content(text: str) -> Content:
    """A line of prose with its plainest marks applied: bold, italics and inline code."""
    parts: list[str] = []
    spans: list[Span] = []
    position = length = 0
    for match in _INLINE.finditer(text):
        before = text[position : match.start()]
        kind = match.lastgroup or "em"
        inner = match[kind]
        parts += [before, inner]
        start = length + len(before)
        length = start + len(inner)
        if kind in _STYLES:
            spans.append(Span(start, length, _STYLES[kind]))
        position = match.end()
    parts.append(text[position:])
    return Content("".join(parts), spans=spans)
