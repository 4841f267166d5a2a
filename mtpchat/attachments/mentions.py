"""`@path` in what somebody writes: where one stands, how it is spelled, and whether it is a file at all.

Nobody's mail address or decorator is a file: an @ counts at the beginning of a word only, and a path only when
something lies there. Whatever is no file stays text. Right behind a backtick an @ is text in any case. Lines of a file
may be named behind it, see lines.py; a file that is really called so comes first.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal

from mtpchat.attachments.lines import Lines, split_lines

Kind = Literal["file", "folder"]
KindOf = Callable[[Path], Kind | None]

MOST_LOOKED_AT = 400
"""Words with an @ that are looked up in one message."""
_LONGEST, _LONGEST_BEGUN = 4096, 1024
_MOST_READINGS = 12
_BEFORE = r"""(?<![^\s(\[{<"',;:=])"""
_MENTION = re.compile(
    rf"""{_BEFORE}@(?:"(?P<quoted>[^"\n]+)"(?P<lines>:\d{{1,9}}(?:-\d{{0,9}})?(?![\w-]))?"""
    r"""|(?P<plain>(?:\\[^\n]|[^\s\\"@`])(?:\\[^\n]|[^\s\\`])*))"""
)
_OPEN = re.compile(
    rf"""{_BEFORE}@(?:"(?P<quoted>[^"\n]*)(?P<lines>":[\d-]{{0,20}})?|(?P<plain>(?:(?:\\[^\n]|[^\s\\"@`])(?:\\[^\n]|[^\s\\`])*)?))$"""
)
_ESCAPED = re.compile(r"\\(.)")
_PLAIN = re.compile(r"[\w./~+@%=:,-]*[\w/~+@%=-]")
_AT_AN_END = "\"'.,;:!?)]}>*_"


@dataclass(frozen=True, slots=True)
class Place:
    """Where paths start from."""

    folder: Path
    home: Path

    @classmethod
    def here(cls) -> Place:
        """The working directory, or the home where that has been deleted, and the user's home."""
        home = Path(os.path.expanduser("~"))
        try:
            return cls(Path.cwd(), home)
        except OSError:
            return cls(home, home)

    def path(self, typed: str) -> Path | None:
        """The path that was typed, or None where no path is meant: other people's homes."""
        if typed == "~" or typed.startswith("~/"):
            return self.home / typed[2:]
        return None if typed.startswith("~") and not (self.folder / typed).exists() else self.folder / typed

    def name(self, path: Path) -> str:
        """The shortest way to write a path that starts here: below the folder, below ~, or from the root."""
        for base, before in ((self.folder, ""), (self.home, "~/")):
            if path != base and path.is_relative_to(base):
                return before + path.relative_to(base).as_posix()
        return path.as_posix()


@dataclass(frozen=True, slots=True)
class Mention:
    """A file or folder that a text names.

    Attributes:
        start, end: where in the text, the @ included.
        path: absolute, as it was written: links and dots are not resolved.
        typed: the path as the user wrote it, without quotes and escapes; a folder's ends in /.
        kind: a folder stands for the files in it.
        lines: of the file, None for all.
    """

    start: int
    end: int
    path: Path
    typed: str
    kind: Kind
    lines: Lines | None = None


@dataclass(frozen=True, slots=True)
class Begun:
    """A mention that is being typed: `start` is the place of its @, `typed` what stands behind it, unescaped."""

    start: int
    typed: str


def kind_of(path: Path) -> Kind | None:
    """What lies at a path; pipes and devices count as files, so that their refusal can be told. None: nothing."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):  # none, not to be seen, a circle of links, too long, a NUL in it
        return None
    return "folder" if stat.S_ISDIR(mode) else "file"


def find_mentions(text: str, place: Place, kind: KindOf = kind_of) -> list[Mention]:
    """All files, and folders with a / at their end, that `text` names and that are there; in order."""
    found: list[Mention] = []
    for count, match in enumerate(_MENTION.finditer(text)):
        if count >= MOST_LOOKED_AT:
            break
        for length, typed in _readings(match):
            meant = _meant(typed, place, kind) if len(typed) <= _LONGEST else None
            if meant is not None:
                path, which, lines = meant
                found.append(Mention(match.start(), match.start() + length, path, typed, which, lines))
                break
    return found


def words_with_at(text: str) -> Iterator[tuple[int, int, str]]:
    """(start, end, path) of each word that could name a file, there or not; the punctuation at its end left out."""
    for match in islice(_MENTION.finditer(text), MOST_LOOKED_AT):
        *_, (length, typed) = _readings(match) if match["quoted"] is None else [next(_readings(match))]
        if len(typed) <= _LONGEST:
            yield match.start(), match.start() + length, typed


def _meant(typed: str, place: Place, kind: KindOf) -> tuple[Path, Kind, Lines | None] | None:
    """What a path means, if something lies there: a file that is called so, else lines of one."""
    wanted: Kind = "folder" if typed.endswith("/") else "file"
    path = place.path(typed)
    if path is not None and kind(path) == wanted:
        return path, wanted, None
    part = split_lines(typed)
    path = place.path(part[0]) if part is not None else None
    if part is None or path is None or kind(path) != "file":
        return None
    return path, "file", part[1]


def begun_mention(before: str) -> Begun | None:
    """The mention that ends where `before` does: the line up to the cursor."""
    match = _OPEN.search(before, max(len(before) - _LONGEST_BEGUN, 0))
    if match is None:
        return None
    quoted = match["quoted"]
    return Begun(match.start(), _unescaped(match["plain"]) if quoted is None else quoted + (match["lines"] or "")[1:])


def spelled(path: str) -> str | None:
    """A path as a mention that `find_mentions` reads back, or None where it has a line end in it."""
    if not path or "\n" in path or "\r" in path:
        return None
    if _PLAIN.fullmatch(path) and path[0] != "@":
        return f"@{path}"
    if '"' not in path and path.isprintable():
        return f'@"{path}"'
    return "@" + "".join(char if char.isalnum() or char in "/._-~" else f"\\{char}" for char in path)


def _readings(match: re.Match[str]) -> Iterator[tuple[int, str]]:
    """(length with the @, path): the whole word, then without the punctuation at its end, sign by sign."""
    if match["quoted"] is not None:
        yield len(match[0]), match["quoted"] + (match["lines"] or "")
        if match["lines"]:
            yield len(match[0]) - len(match["lines"]), match["quoted"]
        return
    raw = match["plain"]
    for _ in range(_MOST_READINGS):
        yield 1 + len(raw), _unescaped(raw)
        if len(raw) < 2 or raw[-1] not in _AT_AN_END or _ends_escaped(raw):
            return
        raw = raw[:-1]


def _ends_escaped(raw: str) -> bool:
    before = raw[:-1]
    return (len(before) - len(before.rstrip("\\"))) % 2 == 1


def _unescaped(raw: str) -> str:
    return _ESCAPED.sub(r"\1", raw) if os.sep == "/" else raw
