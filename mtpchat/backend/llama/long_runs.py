"""Texts with very long runs of signs, or of white space, in pieces that the tokenizer survives.

llama.cpp splits texts for many vocabularies of byte pairs with std::regex, which calls itself once for each sign that a
match takes: 30,000 letters, spaces or equals signs in a row end the process on a stack of 8 MB. So such a run is given
to it in parts. The cuts lie at fixed distances from where a run begins, so that a text that grows keeps its tokens;
never near the end of one, where something else may begin; and never inside the text of a control token.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

LONGEST_SPACE, LONGEST_WORD = 1_000, 4_000
"""Letters in a row that are given to the tokenizer as one: far above what texts have, far below what it survives."""
LONGEST_MARK = 128
"""Letters of the longest thing that is kept whole."""
_LONG = re.compile(rf"(?<!\s)\s{{{LONGEST_SPACE},}}+|(?<!\S)\S{{{LONGEST_WORD},}}+")


def pieces(text: str, whole: Callable[[], re.Pattern[str]]) -> Iterator[str]:
    """`text` in order; one piece if nothing in it is too long.

    Args:
        whole: what must not be cut, at most LONGEST_MARK letters each; asked for only where there is something to cut.
    """
    begin = 0
    for run in _LONG.finditer(text):
        longest = LONGEST_SPACE if run[0][0].isspace() else LONGEST_WORD
        for place in range(run.start() + longest, run.end() - LONGEST_MARK, longest):
            cut = _beside(text, place, whole())
            yield text[begin:cut]
            begin = cut
    yield text[begin:]


def _beside(text: str, place: int, whole: re.Pattern[str]) -> int:
    """The place itself, or where the thing begins that must not be cut there."""
    for match in whole.finditer(text, place - LONGEST_MARK, place + LONGEST_MARK):
        if match.start() < place < match.end():
            return match.start()
    return place
