"""What people take for one character: a letter with its marks, a family of four, a flag."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from rich.cells import split_graphemes

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


def before(text: str, index: int) -> int:
    """Where the character begins that ends at `index`, or that it is in."""
    places = borders(text)
    return places[max(bisect_left(places, index) - 1, 0)]


def after(text: str, index: int) -> int:
    """Where the character ends that begins at `index`, or that it is in."""
    places = borders(text)
    return places[min(bisect_right(places, index), len(places) - 1)]


def snapped(text: str, index: int) -> int:
    """`index`, or the beginning of the character that it is in."""
    places = borders(text)
    return places[max(bisect_right(places, index) - 1, 0)]
