"""Where a text occurs in the messages of a chat. Pure: it looks at what was written, not at what is on the screen."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

MOST = 9999
"""Matches that are counted; nobody walks through more."""


@dataclass(frozen=True, slots=True)
class Match:
    """One occurrence.

    Attributes:
        entry: which message, from 0.
        start, end: characters of it.
    """

    entry: int
    start: int
    end: int


def pattern_of(query: str) -> re.Pattern[str] | None:
    """What is looked for: the words as they are, any white space between them; None for nothing.

    Capitals matter only if some are typed.
    """
    words = query.split()
    if not words:
        return None
    smart = query == query.lower()
    return re.compile(r"\s+".join(map(re.escape, words)), re.IGNORECASE if smart else 0)


def find(texts: Sequence[str], query: str) -> list[Match]:
    """All matches, in the order of the messages; at most `MOST`."""
    pattern = pattern_of(query)
    if pattern is None:
        return []
    matches: list[Match] = []
    for number, text in enumerate(texts):
        for found in pattern.finditer(text):
            matches.append(Match(number, found.start(), found.end()))
            if len(matches) == MOST:
                return matches
    return matches


def nearest_from(matches: Sequence[Match], entry: int) -> int:
    """The first match in this message or below it; if there is none, the first of all. `matches` is not empty."""
    return next((at for at, match in enumerate(matches) if match.entry >= entry), 0)
