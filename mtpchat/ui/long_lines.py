"""Bounds what of a very long line is shown: wrapping a megabyte would keep the screen waiting, and nobody reads it.

Copies, searches, exports and the model have all of it.
"""

from __future__ import annotations

MOST = 20_000
"""Characters of one line that are shown: about ten screens."""


def bounded(text: str, most: int = MOST) -> str:
    """`text` with what is beyond `most` characters of a line replaced by how much it is."""
    if len(text) <= most:
        return text
    lines = text.split("\n")
    if all(len(line) <= most for line in lines):
        return text
    return "\n".join(_bounded_line(line, most) for line in lines)


def _bounded_line(line: str, most: int) -> str:
    return line if len(line) <= most else f"{line[:most]} … {len(line) - most:,} more characters"
