"""Texts of files and of people, cut to what a line of a message, menu or table can hold."""

from __future__ import annotations

from collections.abc import Sequence

_MOST = 100


def short(text: str, most: int = _MOST) -> str:
    """A text in one line of at most `most` characters."""
    line = " ".join(text[: 4 * most].split())
    return line if len(line) <= most else line[: most - 1] + "…"


def common_start(texts: Sequence[str]) -> str:
    """The characters that all texts begin with; "" for none."""
    if not texts:
        return ""
    first, last = min(texts), max(texts)
    return next((first[:at] for at, letter in enumerate(first) if last[at : at + 1] != letter), first)
