"""Texts of files and of people, cut to what a line of a message, menu or table can hold."""

from __future__ import annotations

_MOST = 100


def short(text: str, most: int = _MOST) -> str:
    """A text in one line of at most `most` characters."""
    line = " ".join(text[: 4 * most].split())
    return line if len(line) <= most else line[: most - 1] + "…"
