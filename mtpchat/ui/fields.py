"""Places in a prompt that are still to be filled in: `{topic}`, as prompt templates leave them."""

from __future__ import annotations

import re
from collections.abc import Collection


def next_field(text: str, names: Collection[str], start: int = 0) -> tuple[int, int] | None:
    """The first of these fields at or behind `start`, else the first of all: where it begins and ends in `text`."""
    if not names:
        return None
    pattern = re.compile("|".join(re.escape(f"{{{name}}}") for name in names))
    match = pattern.search(text, start) or pattern.search(text)
    return match.span() if match else None


def index_of(text: str, location: tuple[int, int]) -> int:
    """Place in `text` of a row and a column."""
    row, column = location
    return sum(len(line) + 1 for line in text.split("\n")[:row]) + column


def location_of(text: str, index: int) -> tuple[int, int]:
    """Row and column of a place in `text`."""
    before = text[:index]
    return before.count("\n"), index - (before.rfind("\n") + 1)
