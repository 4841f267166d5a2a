"""A file that is dropped onto a terminal arrives as a paste of its path, each terminal in a spelling of its own."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

from mtpchat.attachments.mentions import KindOf, Place, kind_of, spelled

_LONGEST = 16_384
_MOST = 64


def dropped_mentions(paste: str, place: Place, kind: KindOf = kind_of) -> str | None:
    """The paste as mentions with a space behind each, if it is nothing but absolute paths at which something lies.

    Quotes, escapes and file:// are understood; several paths may stand on one line or on lines of their own.
    """
    text = paste.strip()
    if not text or len(text) > _LONGEST:
        return None
    for words in _readings(text):
        mentions = [_mention(word, place, kind) for word in words[: _MOST + 1]]
        known = [mention for mention in mentions if mention is not None]
        if known and len(known) == len(mentions) <= _MOST:
            return "".join(f"{mention} " for mention in known)
    return None


def _readings(text: str) -> Iterator[list[str]]:
    """As one path, as one on each line, and as words of a shell."""
    yield [text]
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    yield lines
    try:
        yield shlex.split(text)
    except ValueError:  # a quote that is not closed: no path of a terminal
        return


def _mention(word: str, place: Place, kind: KindOf) -> str | None:
    path = _absolute(word, place)
    what = kind(path) if path is not None else None
    if path is None or what is None:
        return None
    return spelled(place.name(path) + ("/" if what == "folder" and path != path.parent else ""))


def _absolute(word: str, place: Place) -> Path | None:
    if word.startswith("file://"):
        return _of_uri(word)
    if "\n" in word:
        return None
    path = place.path(word) if word.startswith("~/") else Path(word)
    return path if path is not None and path.is_absolute() else None


def _of_uri(uri: str) -> Path | None:
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    if parts.netloc not in ("", "localhost"):
        return None
    # Signs that a URI would have to escape are left as they are by some terminals.
    rest = uri.removeprefix("file://").removeprefix("localhost")
    path = Path(unquote(rest))
    return path if path.is_absolute() and "\n" not in unquote(rest) else None
