"""Terminals that know neither colours nor signs beyond ASCII: what is painted there instead.

The screen is made for one kind of terminal. What a poorer one lacks is exchanged at the very end, sign for sign and
cell for cell, when a line goes out; nothing else needs to know.
"""

from __future__ import annotations

import codecs
import locale
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Literal

from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

Wanted = Literal["auto", "unicode", "ascii"]

_SIGNS = str.maketrans(
    {
        **dict.fromkeys("─━┄┅┈┉═╌╍▔▂▃·", "-"),
        **dict.fromkeys("│┃┆┇┊┋║╎╏▏▕▎▍▌▐▋▊▉", "|"),
        **dict.fromkeys("╭╮╰╯┌┐└┘├┤┬┴┼╔╗╚╝╠╣╦╩╬┏┓┗┛┣┫┳┻╋", "+"),
        **dict.fromkeys("█■▇▆▀", "#"),
        **dict.fromkeys("▄▅▤", "="),
        **dict.fromkeys("▪•◦●○∙", "*"),
        **dict.fromkeys("›▸→⇥", ">"),
        **dict.fromkeys("‹◂←", "<"),
        **dict.fromkeys("▾↓", "v"),
        **dict.fromkeys("▴↑", "^"),
        **dict.fromkeys("–—‑−", "-"),
        **dict.fromkeys("“”„", '"'),
        **dict.fromkeys("‘’‚", "'"),
        **dict.fromkeys("✕×✗", "x"),
        **dict.fromkeys("░▒▓", ":"),
        **{chr(code): "*" for code in range(0x2801, 0x2900)},
        "⏎": "<", "⌫": "<", "⇧": "S", "∞": "8", "✓": "v", "…": "~", "▁": "_", "⟦": "[", "⟧": "]", "␛": "?", "␡": "?",
        "\u2800": " ", "\xa0": " ",
    }
)  # fmt: skip
"""Sign -> what stands for it. Each takes one cell, and so does what replaces it."""


ASCII_KEYS: ContextVar[bool] = ContextVar("ascii_keys", default=False)
"""Whether keys are called by words: `^` and `v` in the place of arrows would be taken for a Ctrl."""
_KEYS = (
    ("⇧", "shift+"), ("⏎", "enter"), ("⇥", "tab"), ("⌫", "backspace"), ("↑↓", "up/down"), ("↑", "up"), ("↓", "down"),
    ("←", "left"), ("→", "right"),
)  # fmt: skip


def key_in_words(key: str) -> str:
    """A key as it is written on the screen, in words where the terminal has no signs for it: `enter` for `⏎`."""
    if ASCII_KEYS.get() and not key.isascii():
        for sign, word in _KEYS:
            key = key.replace(sign, word)
    return key


class AsciiSigns(LineFilter):
    """Exchanges the screen's own signs. What a model or a user writes in other letters is left as it is."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """See LineFilter."""
        return [
            segment if segment.control or segment.text.isascii() else segment._replace(text=plain(segment.text))
            for segment in segments
        ]


def plain(text: str) -> str:
    """The text with the screen's own signs as ASCII; as many cells as before."""
    return text.translate(_SIGNS)


def wants_ascii(wanted: Wanted, environment: Mapping[str, str]) -> bool:
    """Whether signs are to be exchanged: asked for, or a terminal that is known to have no others.

    Args:
        environment: of the process.
    """
    if wanted != "auto":
        return wanted == "ascii"
    return environment.get("TERM") in {"linux", "vt100", "vt220"} or not _speaks_utf8(environment)


def _speaks_utf8(environment: Mapping[str, str]) -> bool:
    named = next((environment[key] for key in ("LC_ALL", "LC_CTYPE", "LANG") if environment.get(key)), "")
    encoding = named.partition(".")[2].partition("@")[0]
    if not named or named in {"C", "POSIX"}:  # says nothing: such a locale is what ssh and containers leave behind
        encoding = locale.getpreferredencoding(False)
    try:
        return codecs.lookup(encoding or "utf-8").name == "utf-8"
    except LookupError:
        return True
