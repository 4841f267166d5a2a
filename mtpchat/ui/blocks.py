"""Splits an answer that is still growing into closed blocks and the open one.

A closed block is turned into Markdown once. The open one is shown as plain text with a light hand, because parsing it
again with every token would cost a fifth of the decode speed on a small machine.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from textual.content import Content, Span

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)$")
_HEADING = re.compile(r" {0,3}#{1,6} +(.*?)[ #]*$")
_BULLET = re.compile(r"^([ \t]*)[-*+] +", re.MULTILINE)
_NUMBER = re.compile(r"^(\d{1,9}[.)] )", re.MULTILINE)
_INLINE = re.compile(r"\*\*(?P<strong>[^*\n]+)\*\*|`(?P<code>[^`\n]+)`|(?<![*\w])\*(?P<em>[^*\s][^*\n]*)\*(?!\w)")


@dataclass(slots=True)
class BlockSplitter:
    """Takes text as it comes and says what of it is finished. Concatenating all of it gives the text back."""

    open: str = ""
    _checked: int = 0
    _fence: str = field(default="")

    def feed(self, text: str) -> str:
        """Add text; returns what has just been closed, whole lines or ""."""
        self.open += text
        closed = 0
        while (end := self.open.find("\n", self._checked)) >= 0:
            line = self.open[self._checked : end]
            self._checked = end + 1
            if self._ends_block(line):
                closed = self._checked
        done, self.open = self.open[:closed], self.open[closed:]
        self._checked -= closed
        return done

    @property
    def in_code(self) -> bool:
        """Whether the open block is code."""
        return bool(self._fence) or _FENCE.match(self.open.partition("\n")[0]) is not None

    def _ends_block(self, line: str) -> bool:
        fence = _FENCE.match(line)
        if self._fence:
            if fence and fence[1].startswith(self._fence) and not fence[2].strip():
                self._fence = ""
                return True
            return False
        if fence and not (fence[1][0] == "`" and "`" in fence[2]):
            self._fence = fence[1]
            return False
        return not line.strip() or _HEADING.match(line) is not None


def code_parts(block: str) -> tuple[str, str]:
    """An open code block as (language, code)."""
    first, _, code = block.partition("\n")
    fence = _FENCE.match(first)
    language = fence[2].strip().split(" ")[0] if fence else ""
    return language, code.rstrip("\n")


def light_content(block: str) -> Content:
    """An open block of prose with its plainest marks applied: headings, bullets, bold, italics and inline code."""
    text = block.strip("\n")
    heading = _HEADING.fullmatch(text)
    if heading:
        return Content(heading[1]).stylize("bold")
    text = _NUMBER.sub(r" \1", _BULLET.sub(r"\1• ", text))
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
        spans.append(Span(start, length, {"strong": "bold", "em": "italic", "code": "$mt-code"}[kind]))
        position = match.end()
    parts.append(text[position:])
    return Content("".join(parts), spans=spans)
