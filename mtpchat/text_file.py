"""Reading small files that people write by hand, and that may be anything: a pipe, a picture, a gigabyte, a trap.

A pipe would be waited for, endless files fill the memory, and a TOML key of a hundred thousand parts keeps the parser
busy for minutes: each of them is refused before it is begun.
"""

from __future__ import annotations

import os
import stat
import tomllib
from pathlib import Path
from typing import Any

MOST_BYTES = 8 << 20
_MOST_STEPS = 20_000_000
"""The parser's work on dotted keys grows with the square of their parts; this is about a second of it."""


class UnreadableText(Exception):
    """A file that is no text of the kind that is wanted.

    Attributes:
        what: a clause that follows the file's name: "is not UTF-8".
        hint: what to do about it.
    """

    def __init__(self, what: str, hint: str) -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint


def read_text(path: Path) -> str:
    """The text of a file; a byte order mark is left out, line ends stay.

    Raises:
        FileNotFoundError, NotADirectoryError: there is none.
        UnreadableText: it is no ordinary file, too large, not UTF-8, or may not be read.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode) and not path.is_dir():
            raise UnreadableText("is not an ordinary file", "Name a text file.")
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        raise
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else str(error)
        raise UnreadableText(f"cannot be read: {reason}", "Check what is at that path and its permissions.") from error
    if len(data) > MOST_BYTES:
        raise UnreadableText(f"is larger than {MOST_BYTES >> 20} MB", "Is it the right file?")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UnreadableText(f"line {line} is not UTF-8", "Save the file as UTF-8.") from error


def parse_toml(text: str) -> dict[str, Any]:
    """A TOML document.

    Raises:
        ValueError: it is none; the message is tomllib's.
        RecursionError: it is nested too deeply.
    """
    steps = 0
    for line in text.split("\n"):
        dots = line.count(".")  # keys may stand anywhere in a line; a text has fewer, and longer lines are rare
        steps += dots * dots
    if steps > _MOST_STEPS:
        raise RecursionError("keys with too many parts")
    return tomllib.loads(text)
