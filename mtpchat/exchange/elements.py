"""The objects of a JSON file, one after the other, without reading the file into memory.

A file may be one object, one array of them, one object a line, or objects behind one another; only where each begins
and ends is looked for, and what stands there is read when it is its turn.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from mmap import mmap
from typing import Any

from mtpchat.exchange.values import encodable

Data = bytes | mmap
_SIGNS = re.compile(rb'\\.|["\[\]{}]', re.DOTALL)
_BETWEEN = b" \t\r\n,"
_MARK = b"\xef\xbb\xbf"
_LINES = 1 << 20
_GAP = 1 << 16


class Damaged(Exception):
    """The file is no JSON from a place on. `line` counts from 1; `what` is a clause."""

    def __init__(self, line: int, what: str) -> None:
        super().__init__(what)
        self.line = line
        self.what = what


@dataclass(frozen=True, slots=True)
class Element:
    """Bytes from `begin` to `end` are one object or array; `array` numbers the outer array it stands in, 0 for none."""

    begin: int
    end: int
    array: int = 0


def elements(data: Data) -> Iterator[Element]:
    """The objects of a file, and the arrays within an outermost array, in order. Raises Damaged."""
    begin = done = len(_MARK) if data[: len(_MARK)] == _MARK else 0
    depth, outer, arrays, in_text = 0, 0, 0, False
    for found in _SIGNS.finditer(data, done):
        sign = found[0]
        if in_text:
            in_text = sign != b'"'
        elif sign in (b"{", b"["):
            if depth == outer:
                _check_gap(data, done, found.start())
                begin = found.start()
            depth += 1
            if depth == 1 and sign == b"[":
                outer, arrays, done = 1, arrays + 1, found.end()
        elif sign == b'"' and depth > outer:
            in_text = True
        elif sign in (b"}", b"]") and depth:
            if depth == outer:
                _check_gap(data, done, found.start())
                outer = 0
            depth -= 1
            if depth == outer and done <= begin < found.start():
                yield Element(begin, found.end(), arrays if outer else 0)
            if depth <= outer:
                done = found.end()
        else:
            raise Damaged(line_of(data, found.start()), "what stands there is no object of JSON")
    if depth or in_text:
        raise Damaged(line_of(data, begin), "what begins there has no end: the file was cut off")
    _check_gap(data, done, len(data))


def _check_gap(data: Data, begin: int, end: int) -> None:
    for start in range(begin, end, _GAP):
        piece = data[start : min(start + _GAP, end)]
        rest = piece.lstrip(_BETWEEN)
        if rest:
            raise Damaged(line_of(data, start + len(piece) - len(rest)), "what stands there is no object of JSON")


def read(data: Data, element: Element, lines: Lines) -> Any:
    """The value of an element. Raises Damaged."""
    raw = data[element.begin : element.end]
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Damaged(lines.of(element.begin + error.start), "that is not UTF-8") from error
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        place = element.begin + len(text[: error.pos].encode("utf-8"))
        raise Damaged(lines.of(place), f"that is no JSON ({error.msg})") from error
    except RecursionError as error:
        raise Damaged(lines.of(element.begin), "it is nested too deeply") from error
    except ValueError as error:  # a number of very many digits
        raise Damaged(lines.of(element.begin), f"that cannot be read ({error})") from error
    return encodable(value) if "\\ud" in text or "\\uD" in text else value


def line_of(data: Data, place: int, begin: int = 0) -> int:
    """Number of the line of a place, from 1; lines are counted from `begin` on."""
    return 1 + sum(data[at : min(at + _LINES, place)].count(b"\n") for at in range(begin, place, _LINES))


class Lines:
    """Numbers of lines of places that come in order, without counting from the beginning for each of them."""

    def __init__(self, data: Data) -> None:
        self._data = data
        self._place, self._line = 0, 1

    def of(self, place: int) -> int:
        """Number of the line of a place, from 1."""
        if place < self._place:
            return line_of(self._data, place)
        self._line += line_of(self._data, place, self._place) - 1
        self._place = place
        return self._line
