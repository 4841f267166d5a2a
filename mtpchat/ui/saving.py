"""Code on its way into a file: what it could be called, what stands in the way, and writing it."""

from __future__ import annotations

import os
from pathlib import Path

from mtpchat.commands.code_blocks import CodeBlock
from mtpchat.errors import StorageError
from mtpchat.paths import write_atomically

_PLAIN = ".txt"


def suffix_of(language: str) -> str:
    """How names of files in a language end, with the dot; `.txt` for one that nobody knows."""
    from pygments.lexers import get_lexer_by_name  # type: ignore[import-untyped]
    from pygments.util import ClassNotFound  # type: ignore[import-untyped]

    try:
        patterns = get_lexer_by_name(language).filenames if language else []
    except ClassNotFound:
        patterns = []
    plain = (one[1:] for one in patterns if one.startswith("*.") and one[2:].isalnum())
    return next(plain, _PLAIN)


def suggestion(block: CodeBlock, folder: Path) -> str:
    """A name for a block that is free in `folder`: its own, or one by its language."""
    name = block.own_name or f"snippet{suffix_of(block.language)}"
    stem, suffix = os.path.splitext(name)
    names = (name, *(f"{stem}-{number}{suffix}" for number in range(2, 1000)))
    return next((one for one in names if not os.path.lexists(folder / one)), name)


def doubt(path: Path) -> str:
    """What must be known before `path` is written, or "".

    Raises:
        StorageError: it cannot be a file at all.
    """
    if os.path.isdir(path):
        raise StorageError("That is a folder", path=path)
    if os.path.lexists(path):
        return "exists · Enter replaces it"
    if not os.path.isdir(path.parent):
        return "new folder · Enter makes it"
    return ""


def save(path: Path, code: str) -> int:
    """Write code to a file, making its folder; gives the number of lines. Raises StorageError."""
    text = code if code.endswith("\n") else f"{code}\n"
    write_atomically(path, text)
    return text.count("\n")
