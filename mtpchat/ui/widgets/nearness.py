"""Keeps the price of a long chat that of what is near the view.

A chat of 100,000 tokens has thousands of widgets, and Textual visits every one that is displayed at each layout, and
all there are when a style changes. So only entries near the view are laid out; those a little away rest, and those far
away are taken apart, or are not made before the reader comes near.
"""

from __future__ import annotations

from collections.abc import Sequence

from textual.widget import Widget

from mtpchat.ui.widgets.entry import Entry, guessed_rows

AWAKE_PAGES = 1
"""Pages above and below the visible one whose entries are laid out: as far as one key scrolls."""
KEPT_PAGES = 5
"""Pages above and below the visible one whose entries stay whole: the reader may come back."""
AWAKE_ENTRIES = 2
"""Entries at the end that never rest: the answer that is read, and its prompt."""


def rest_far(entries: Sequence[Widget], top: float, page: int) -> list[Entry]:
    """Let entries rest that are far from the view, and wake those that are near.

    Args:
        top: first row in sight.
        page: rows in sight.

    Returns:
        Entries that are near and not whole, the nearest to the middle of the view first.
    """
    wanted: list[tuple[float, Entry]] = []
    never = set(entries[-AWAKE_ENTRIES:])
    for entry in entries:
        if not isinstance(entry, Entry) or entry.grows:
            continue
        region = entry.virtual_region
        if not region.height:
            continue
        away = max(region.y - (top + page), top - region.bottom, 0) if entry not in never else 0
        entry.rest(away > AWAKE_PAGES * page)
        if away > KEPT_PAGES * page:
            entry.take_apart()
        elif away <= AWAKE_PAGES * page and not entry.whole:
            wanted.append((abs((region.y + region.bottom) / 2 - top - page / 2), entry))
    return [entry for _distance, entry in sorted(wanted, key=lambda one: one[0])]


def first_whole(texts: Sequence[str], width: int, rows: int, at: int | None) -> range:
    """Which messages are to be whole from the beginning, about as many as two pages take.

    Args:
        texts: of all messages.
        width, rows: of the view.
        at: the message that is going to be read; None is the end.
    """
    centre = len(texts) - 1 if at is None else min(max(at, 0), len(texts) - 1)
    first, seen = centre, 0
    while first > 0 and seen < rows:
        seen += guessed_rows(texts[first], width)
        first -= 1
    last, seen = centre, 0
    while last < len(texts) - 1 and seen < rows:
        seen += guessed_rows(texts[last], width)
        last += 1
    return range(first, last + 1)
