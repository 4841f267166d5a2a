"""Splits an answer that is still growing: prose, line by line, and what is shown as a whole when it is complete.

Prose is shown in a light form while it grows (`mtpchat.ui.light`), because turning it into Markdown costs a small
machine a fifth of its decode speed. Only code and tables are laid out when they close.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)$")
_HEADING = re.compile(r" {0,3}#{1,6}(?: |$)")
_DELIMITER = re.compile(r" {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")
_DELIMITER_SIGNS = frozenset("|:- \t")

Kind = Literal["prose", "code", "table"]


@dataclass(frozen=True, slots=True)
class Piece:
    """Whole lines of an answer that will not change any more."""

    kind: Kind
    text: str


@dataclass(slots=True)
class BlockSplitter:
    """Takes text as it comes and says what of it is finished. Concatenating all of it gives the text back.

    Attributes:
        open: what is not finished: part of a line, code or a table, or a line that may be the head of a table.
        begun: where the last block begins in all of the text: after a blank line, a heading, code or a table.
    """

    open: str = ""
    begun: int = 0
    _closed: int = 0
    _checked: int = 0
    _fence: str = ""
    _in_table: bool = False

    def feed(self, text: str) -> list[Piece]:
        """Add text; returns what has just been finished, never two pieces of prose in a row."""
        self.open += text
        pieces: list[Piece] = []
        while (end := self.open.find("\n", self._checked)) >= 0:
            line, start = self.open[self._checked : end], self._checked
            self._checked = end + 1
            self._take(line, start, pieces)
        return pieces

    @property
    def in_code(self) -> bool:
        """Whether the open end is code."""
        return bool(self._fence) or _opening(self.open.partition("\n")[0]) is not None

    def _take(self, line: str, start: int, pieces: list[Piece]) -> None:
        """Look at a line that is complete; it begins at `start` of the open end."""
        if self._fence:
            if _closes(line, self._fence):
                self._fence = ""
                self._close(self._checked, "code", pieces)
                self.begun = self._closed
            return
        starts_block = _opening(line) is not None or _HEADING.match(line) is not None
        if self._in_table:
            if line.strip() and not starts_block:
                return
            self._in_table = False
            start = self._close(start, "table", pieces)
            self.begun = self._closed
        if start:
            if _is_delimiter(line, self.open[:start]):
                self._in_table, self.begun = True, self._closed
                return
            start = self._close(start, "prose", pieces)
        self._take_prose(line, pieces)

    def _take_prose(self, line: str, pieces: list[Piece]) -> None:
        fence = _opening(line)
        if fence is not None:
            self._fence, self.begun = fence, self._closed
            return
        if "|" in line:
            return  # the next line tells whether it is the head of a table
        self._close(self._checked, "prose", pieces)
        if not line.strip() or _HEADING.match(line):
            self.begun = self._closed

    def _close(self, length: int, kind: Kind, pieces: list[Piece]) -> int:
        """Finish so much of the open end. Returns where the line in question begins now: at its beginning."""
        text, self.open = self.open[:length], self.open[length:]
        self._closed += length
        self._checked -= length
        if kind == "prose" and pieces and pieces[-1].kind == "prose":
            pieces[-1] = Piece("prose", pieces[-1].text + text)
        else:
            pieces.append(Piece(kind, text))
        return 0


def last_block(text: str) -> int:
    """Where the last block of a text begins."""
    splitter = BlockSplitter()
    splitter.feed(text)
    return splitter.begun


def code_parts(block: str) -> tuple[str, str]:
    """An open code block as (language, code so far)."""
    first, _, code = block.partition("\n")
    fence = _FENCE.match(first)
    language = fence[2].strip().split(" ")[0] if fence else ""
    return language, code


def _opening(line: str) -> str | None:
    """The fence that a line opens."""
    fence = _FENCE.match(line)
    if fence is None or (fence[1][0] == "`" and "`" in fence[2]):
        return None
    return fence[1]


def _closes(line: str, fence: str) -> bool:
    found = _FENCE.match(line)
    return found is not None and found[1].startswith(fence) and not found[2].strip()


def _is_delimiter(line: str, head: str) -> bool:
    """Whether a line under `head` makes a table of both."""
    if "|" not in line or not _DELIMITER_SIGNS.issuperset(line):  # the pattern alone takes long for a long line
        return False
    return _columns(line) == _columns(head) and _DELIMITER.match(line) is not None


def _columns(line: str) -> int:
    return line.strip().strip("|").replace("\\|", "").count("|") + 1
