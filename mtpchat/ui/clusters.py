"""What people take for one character: a letter with its marks, a family of four, a flag."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import pairwise

from rich.cells import cell_len, split_graphemes

_FLAG_LETTERS = range(0x1F1E6, 0x1F200)


def borders(text: str) -> list[int]:
    """The indices between characters, 0 and the end of the text among them."""
    if text.isascii():
        return list(range(len(text) + 1))
    found = [0]
    half_flag = False
    for start, end, _ in split_graphemes(text)[0]:
        is_letter = ord(text[start]) in _FLAG_LETTERS
        if half_flag and is_letter:  # two letters are one flag
            found[-1] = end
            half_flag = False
        else:
            found.append(end)
            half_flag = is_letter
    return found


def outside(places: Sequence[int], stretches: Sequence[tuple[int, int]]) -> list[int]:
    """Those of `places` that are not inside of a stretch (start, end)."""
    if not stretches:
        return list(places)
    return [place for place in places if not any(start < place < end for start, end in stretches)]


def before(places: Sequence[int], index: int) -> int:
    """The border before `index`: where the character begins that ends there, or that it is in."""
    return places[max(bisect_left(places, index) - 1, 0)]


def after(places: Sequence[int], index: int) -> int:
    """The border after `index`: where the character ends that begins there, or that it is in."""
    return places[min(bisect_right(places, index), len(places) - 1)]


def snapped(places: Sequence[int], index: int) -> int:
    """`index` if it is a border, else the beginning of the character that it is in."""
    return places[max(bisect_right(places, index) - 1, 0)]


def widened(places: Sequence[int], start: int, end: int) -> tuple[int, int]:
    """The stretch with the characters in full that it begins or ends in; an empty one stays so."""
    first = snapped(places, start)
    return first, after(places, end - 1) if end > start else first


def at_cell(text: str, places: Sequence[int], cell: int) -> int:
    """The border that is nearest before a cell, counted from the beginning of `text`."""
    found, width = places[0], 0
    for start, end in pairwise(places):
        width += cell_len(text[start:end])
        if width > cell:
            break
        found = end
    return found
