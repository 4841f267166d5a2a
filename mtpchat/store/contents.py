"""What an answer mostly is, told cheaply from its text: guessing ahead does better on code than on prose."""

from __future__ import annotations

import re

CONTENTS = ("code", "data", "lists and tables", "Chinese, Japanese, Korean", "prose", "short")
"""All names there are, in the order in which they are shown."""
_LETTERS = 20_000
"""So many at the beginning of an answer are looked at."""
_SHORT = 80
_FENCED = re.compile(r"^[ \t]*+(`{3,}+|~{3,}+)[^\n]*+\n(.*?)(?:^[ \t]*+\1|\Z)", re.DOTALL | re.MULTILINE)
_LISTED = re.compile(r"^[ \t]*(?:[-*+•] |\d{1,3}[.)] |\|)", re.MULTILINE)
_LINES = re.compile(r"^[ \t]*\S", re.MULTILINE)
_CJK = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]")


def content_of(answer: str) -> str:
    """One of CONTENTS."""
    text = answer[:_LETTERS].strip()
    fenced = sum(len(block[2]) for block in _FENCED.finditer(text))
    if 2 * fenced >= len(text) > 0:
        return "code"
    if text[:1] in ("{", "[") and text[-1:] in ("}", "]", ",") and '"' in text:
        return "data"
    if 4 * sum(1 for _ in _CJK.finditer(text)) >= len(text) > 0:
        return "Chinese, Japanese, Korean"
    if len(text) < _SHORT:
        return "short"
    lines = sum(1 for _ in _LINES.finditer(text))
    listed = sum(1 for _ in _LISTED.finditer(text))
    return "lists and tables" if 2 * listed >= lines else "prose"
