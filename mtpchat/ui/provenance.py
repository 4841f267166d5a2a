"""Which text had been guessed, and by whom: kept beside an answer, never inside it, so that copies stay clean.

Marks are kept in positions of the text as it came. Markdown drops signs and changes spaces, so what is shown is aligned
with its source again when the view is on: character by character, and where that fails a piece stays unmarked.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from textual.content import Content, Span

KINDS = ("mtp", "draft", "eagle3", "ngram")
_OTHER = "ngram"
_AHEAD, _NEAR, _KEY = 300, 8, 4
"""How far to look for the next few characters, how far for one alone, and how many those few are."""


def style_of(kind: str) -> str:
    """How text is shown that this kind of drafter had guessed."""
    return f"underline $mt-{kind if kind in KINDS else _OTHER}"


class Marks:
    """Runs of guessed text in an answer that grows at its end."""

    def __init__(self) -> None:
        self._length = 0
        self._starts: list[int] = []
        self._runs: list[tuple[int, str]] = []

    def __bool__(self) -> bool:
        return bool(self._runs)

    def add(self, length: int, kind: str) -> None:
        """So many more characters came; `kind` is "" for the model's own."""
        start, self._length = self._length, self._length + length
        if not kind or not length:
            return
        if self._runs and self._runs[-1] == (start, kind):
            self._runs[-1] = (self._length, kind)
            return
        self._starts.append(start)
        self._runs.append((self._length, kind))

    def at(self, position: int) -> str:
        """Who had guessed this character, or ""."""
        run = bisect_right(self._starts, position) - 1
        if run < 0:
            return ""
        end, kind = self._runs[run]
        return kind if position < end else ""


def places(shown: str, source: str, start: int = 0) -> list[int]:
    """Where each character of `shown` stands in `source`, looking from `start` on; -1 where that is not certain."""
    found: list[int] = []
    at = start
    for index, character in enumerate(shown):
        place = at if source.startswith(character, at) else source.find(shown[index : index + _KEY], at, at + _AHEAD)
        if place < 0:
            place = source.find(character, at, at + _NEAR)
        found.append(place)
        if place >= 0:
            at = place + 1
    return found


def underlined(content: Content, where: Sequence[int], marks: Marks) -> Content:
    """`content` with guessed text marked; `where` has the position of each character in the answer, or -1."""
    kinds = [marks.at(place) if place >= 0 else "" for place in where]
    spans = list(content.spans)
    start = 0
    for end in range(1, len(kinds) + 1):
        if end < len(kinds) and kinds[end] == kinds[start]:
            continue
        if kinds[start]:
            run = content.plain[start:end]
            begin = start + len(run) - len(run.lstrip())
            if begin < end:
                spans.append(Span(begin, end, style_of(kinds[start])))
        start = end
    return Content(content.plain, spans=spans)


def underline_piece(content: Content, source: str, offset: int, marks: Marks) -> Content:
    """`underlined` for a piece whose source begins at `offset` of the answer."""
    where = [place + offset if place >= 0 else -1 for place in places(content.plain, source)]
    return underlined(content, where, marks)
