"""Where in a settings file a key stands, so that a complaint about it can name the line.

The parser of TOML keeps no places. This looks for them by lines, which finds what people write; what it does not find
(quoted keys, tables written in braces) is complained about without a line.
"""

from __future__ import annotations

import re

_HEADER = re.compile(r"\s*\[\[?\s*([\w.\s-]+?)\s*\]\]?\s*(?:#.*)?")
_NAME = re.compile(r"\s*([\w.\s-]+?)\s*=")
_LONG = re.compile(r"\"\"\".*?\"\"\"|'''.*?'''", re.DOTALL)


def line_of(text: str, key: str) -> int:
    """The line, from 1, on which a dotted key is set, or the first about it: its table, or a part of it; 0 for none."""
    table, nearest = "", 0
    for number, line in enumerate(_LONG.sub(_blank, text).split("\n"), 1):
        header = _HEADER.fullmatch(line)
        name = _NAME.match(line)
        if header:
            table = full = _plain(header[1])
        elif name:
            full = f"{table}.{_plain(name[1])}".removeprefix(".")
        else:
            continue
        if full == key:
            return number
        if not nearest and full.startswith(f"{key}."):
            nearest = number
    return nearest


def _blank(long: re.Match[str]) -> str:
    """A text over several lines without its words, which may look like settings."""
    return '""' + "\n" * long[0].count("\n")


def _plain(key: str) -> str:
    return "".join(key.split())
