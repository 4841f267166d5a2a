"""A part of a file: `a.py:10-40`, `a.py:10` for one line, `a.py:10-` for all from there on. Lines count from 1."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from mtpchat.errors import AttachmentError

_BEHIND = re.compile(r":(?P<first>\d{1,9})(?P<to>-(?P<last>\d{1,9})?)?\Z")
_BEGUN = re.compile(r":(?:\d{1,9}(?:-\d{0,9})?)?\Z")


@dataclass(frozen=True, slots=True)
class Lines:
    """From one line to another, both included; `last` is None for the end of the file."""

    first: int
    last: int | None

    @property
    def suffix(self) -> str:
        """How it is written behind a path."""
        if self.last is None:
            return f":{self.first}-"
        return f":{self.first}" if self.first == self.last else f":{self.first}-{self.last}"

    def of(self, text: str, name: str, path: Path) -> str:
        """These lines of a text. Raises AttachmentError where there are none, or fewer."""
        if self.first < 1 or (self.last is not None and self.last < self.first):
            raise AttachmentError(
                f"{name}{self.suffix} names no lines", path=path, hint="They count from 1, the smaller number first."
            )
        lines = _split(text)
        if max(self.first, self.last or 0) > len(lines):
            whole = f"{len(lines):,} line{'' if len(lines) == 1 else 's'}"
            raise AttachmentError(
                f"{name} has {whole}, {self.suffix[1:]} goes beyond the end",
                path=path,
                hint=f":{self.first}- takes all from there on." if self.first <= len(lines) else "",
            )
        return "".join(lines[self.first - 1 : self.last])

    def share(self, whole: int) -> str:
        """`31 of 212 lines`, where there are so many in all."""
        return f"{(whole if self.last is None else self.last) - self.first + 1:,} of {whole:,} lines"


def count_lines(text: str) -> int:
    """How many lines a text has; a line end at its end begins no other."""
    return text.count("\n") + (0 if text.endswith("\n") or not text else 1)


def split_lines(typed: str) -> tuple[str, Lines] | None:
    """A path and the lines behind it, or None where none are named."""
    match = _BEHIND.search(typed)
    if match is None or match.start() == 0:
        return None
    first = int(match["first"])
    last = (int(match["last"]) if match["last"] else None) if match["to"] else first
    return typed[: match.start()], Lines(first, last)


def begun_lines(typed: str) -> tuple[str, str] | None:
    """A path behind which lines are being named, and what stands there of them: "", "10", "10-", "10-4"."""
    match = _BEGUN.search(typed)
    return (typed[: match.start()], match[0][1:]) if match is not None and match.start() else None


def _split(text: str) -> list[str]:
    """Lines with their ends, as editors count them: other signs that end lines for Python are letters here."""
    lines = [f"{line}\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]
