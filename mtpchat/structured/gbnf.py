"""Pieces of GBNF, llama.cpp's notation for grammars, written so that they mean exactly what was meant."""

from __future__ import annotations

MOST_REPEATED = 2000
"""More repetitions llama.cpp takes for "without end", and does not say so."""
_ESCAPED = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_ASCII_END = 0x7F


def literal(text: str) -> str:
    """A terminal that is exactly `text`."""
    return '"' + "".join(_letter(letter) for letter in text) + '"'


def _letter(letter: str) -> str:
    if letter in _ESCAPED:
        return _ESCAPED[letter]
    code = ord(letter)
    if letter >= " " and code < _ASCII_END:
        return letter
    return f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}"


def repeated(what: str, least: int, most: int | None) -> str:
    """`what`, an atom, so many times in a row; `most` None is without end."""
    if (least, most) == (1, 1):
        return what
    if (least, most) == (0, 1):
        return f"{what}?"
    if most is None:
        return f"{what}{'*' if least == 0 else '+' if least == 1 else f'{{{least},}}'}"
    return f"{what}{{{least}}}" if least == most else f"{what}{{{least},{most}}}"


def digits_between(low: int, high: int) -> list[str]:
    """Alternatives that together are exactly the whole numbers from `low` to `high`, without leading zeros.

    Args:
        low / high: 0 <= low <= high.
    """
    found: list[str] = []
    whole: list[int] = []  # sizes of which all numbers are meant
    for size in range(len(str(low)), len(str(high)) + 1):
        least, most = 10 ** (size - 1) if size > 1 else 0, 10**size - 1
        if size > 1 and low <= least and most <= high:
            whole.append(size - 1)
        else:
            found += _same_size(str(max(low, least)), str(min(high, most)))
    return found + ([f"[1-9] {repeated('[0-9]', whole[0], whole[-1])}"] if whole else [])


def _same_size(low: str, high: str) -> list[str]:
    """The same for numbers of equally many digits."""
    if low == high:
        return [literal(low)] if low else [""]
    if not low.strip("0") and not high.strip("9"):
        return [" ".join(["[0-9]"] * len(low))]
    if low[0] == high[0]:
        return [f'"{low[0]}" {rest}'.rstrip() for rest in _same_size(low[1:], high[1:])]
    if len(low) == 1:
        return [f"[{low}-{high}]"]
    first, last, rest = int(low[0]), int(high[0]), len(low) - 1
    found: list[str] = []
    if low[1:].strip("0"):
        found += [f'"{first}" {more}' for more in _same_size(low[1:], "9" * rest)]
        first += 1
    tail: list[str] = []
    if high[1:].strip("9"):
        tail = [f'"{last}" {more}' for more in _same_size("0" * rest, high[1:])]
        last -= 1
    if first <= last:
        found.append(f"[{first}-{last}] " + " ".join(["[0-9]"] * rest))
    return found + tail
