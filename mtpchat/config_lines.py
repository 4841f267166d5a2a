"""Where in a settings file a key stands, so that a complaint about it can name the line.

The parser of TOML keeps no places. This looks for them by lines, which finds what people write; what it does not find
(quoted keys, tables written in braces) is complained about without a line.
"""

from __future__ import annotations

import re

_LONG = re.compile(r"\"\"\".*?\"\"\"|'''.*?'''", re.DOTALL)


def line_of(text: str, key: str) -> int:
    """The line, from 1, on which a dotted key is set, or the first about it: its table, or a part of it; 0 for none."""
    table, nearest = "", 0
    for number, line in enumerate(_LONG.sub(_blank, text).split("\n"), 1):
        words = line.strip()
        if words.startswith("["):
            table = full = _plain(words.strip("[").partition("]")[0])
        elif "=" in words and not words.startswith("#"):
            full = f"{table}.{_plain(words.partition('=')[0])}".removeprefix(".")
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
