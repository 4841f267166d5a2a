"""Texts with very long runs of signs, of words or of white space, in pieces that the tokenizer survives.

llama.cpp splits texts for many vocabularies of byte pairs with std::regex, which calls itself once for each sign that a
match takes: 30,000 letters, spaces or equals signs in a row end the process on a stack of 8 MB, and for one splitter so
do words without a mark between them. Another looks from each digit of a number to its end. So such a run is given to
it in parts. The cuts lie at fixed distances from where a run begins, so that a text that grows keeps its tokens; never
near the end of one, where something else may begin; and never inside the text of a control token.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

LONGEST_SPACE, LONGEST_NUMBER, LONGEST_SIGNS, LONGEST_WORDS = 1_000, 300, 4_000, 8_000
"""Letters in a row that are given to the tokenizer as one: far above what texts have, far below what it survives."""
LONGEST_MARK = 128
"""Letters of the longest thing that is kept whole."""
_WORDS = r"[^\x00-\x1F!-@\[-`{-\x7F]"
RUNS = tuple(
    (re.compile(rf"(?<!{sign}){sign}{{{longest},}}+"), longest)
    for sign, longest in (
        (r"\s", LONGEST_SPACE),
        ("[0-9]", LONGEST_NUMBER),
        (r"\S", LONGEST_SIGNS),
        (_WORDS, LONGEST_WORDS),
    )
)
"""Each kind of run, from its length on, and in parts of which size it is given."""


def pieces(text: str, whole: Callable[[], re.Pattern[str]]) -> Iterator[str]:
    """`text` in order; one piece if nothing in it is too long.

    Args:
        whole: what must not be cut, at most LONGEST_MARK letters each; asked for only where there is something to cut.
    """
    begin = 0
    for cut in sorted({_beside(text, place, whole()) for place in _places(text)}):
        if cut > begin:
            yield text[begin:cut]
            begin = cut
    yield text[begin:]


def _places(text: str) -> Iterator[int]:
    """Where runs are cut; words before a space, where there is one."""
    if len(text) < min(longest for _run, longest in RUNS):
        return
    for kind, longest in RUNS:
        for run in kind.finditer(text):
            for place in range(run.start() + longest, run.end() - 2 * LONGEST_MARK, longest):
                space = text.find(" ", place, place + LONGEST_MARK) if longest == LONGEST_WORDS else place
                yield space if space > 0 else place


def _beside(text: str, place: int, whole: re.Pattern[str]) -> int:
    """The place itself, or where the thing begins that must not be cut there."""
    for match in whole.finditer(text, place - LONGEST_MARK, place + LONGEST_MARK):
        if match.start() < place < match.end():
            return match.start()
    return place
