"""Code as HTML in which keywords, texts, numbers, names and remarks can be told apart."""

from __future__ import annotations

import html
from collections.abc import Iterator
from itertools import groupby

from pygments.token import Token as _T  # type: ignore[import-untyped]

_LONGEST = 50_000
"""Code of more letters stays plain: reading it takes long."""
_CLASSES = (
    (_T.Comment, "c"),
    (_T.Operator.Word, "k"),
    (_T.Keyword.Constant, "m"),
    (_T.Keyword, "k"),
    (_T.Literal.Number, "m"),
    (_T.Literal.String, "s"),
    (_T.Name.Function, "n"),
    (_T.Name.Class, "n"),
    (_T.Name.Decorator, "n"),
    (_T.Name.Attribute, "n"),
    (_T.Name.Tag, "k"),
    (_T.Name.Constant, "m"),
    (_T.Generic.Inserted, "gi"),
    (_T.Generic.Deleted, "gd"),
)


def coloured(code: str, language: str) -> str:
    """`code` with spans around what has a colour, all else escaped; plain where nobody knows the language."""
    if not language or len(code) > _LONGEST:
        return html.escape(code)
    parts = list(_parts(code, language))
    if "".join(text for _, text in parts) != code:  # what reads the code has its own mind about ends of lines
        return html.escape(code)
    runs = groupby(parts, key=lambda part: part[0])
    return "".join(_span(name, "".join(text for _, text in run)) for name, run in runs)


def _parts(code: str, language: str) -> Iterator[tuple[str, str]]:
    from pygments.lexers import get_lexer_by_name  # type: ignore[import-untyped]
    from pygments.util import ClassNotFound  # type: ignore[import-untyped]

    try:
        lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        yield "", code
        return
    for kind, text in lexer.get_tokens(code):
        yield next((name for one, name in _CLASSES if kind in one), ""), text


def _span(name: str, text: str) -> str:
    shown = html.escape(text)
    return f'<span class="{name}">{shown}</span>' if name else shown
