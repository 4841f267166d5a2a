"""Pieces of Markdown pages in which names and texts of the outside world stay plain text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence


def plain(text: str) -> str:
    """`text` so that Markdown shows it as it is, on one line and inside a table."""
    return re.sub(r"([\\`*_{}\[\]<>#+!|~&])", r"\\\1", " ".join(text.split()))


def code(text: str) -> str:
    """`text` as a code span, on one line and inside a table."""
    one_line = " ".join(text.split()).replace("|", "\\|")
    longest = max((len(run) for run in re.findall(r"`+", one_line)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if longest else ""
    return f"{fence}{pad}{one_line}{pad}{fence}"


def fenced(text: str, language: str = "") -> str:
    """`text` as a code block, whatever fences it contains."""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def table(head: Sequence[str], body: Iterable[Sequence[str]]) -> str:
    """A table whose cells are Markdown without line breaks."""
    lines = [head, ["---"] * len(head), *body]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
