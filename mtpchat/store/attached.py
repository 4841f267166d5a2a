"""The files of a message as they are kept: JSON in a column; and as they are searched: names and texts as one text."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from mtpchat.messages import Attachment

NONE = "[]"
"""What stands in the column when there are none."""
_MOST_LETTERS = 20_000_000
"""So much of a message and its files is searched; indexing that takes some tenths of a second."""


def files_of(column: str) -> tuple[Attachment, ...]:
    """The files of a message; those of another version that do not fit are left out."""
    try:
        return msgspec.json.decode(column, type=tuple[Attachment, ...])
    except (ValueError, RecursionError):  # msgspec's errors are ValueErrors
        return ()


def with_files(content: str, files: Sequence[Attachment]) -> str:
    """What was said and what came with it; "" where nothing came."""
    if not files:
        return ""
    return "\n".join((content, *(f"{one.name}\n{one.text}" for one in files)))[:_MOST_LETTERS]
