"""From what was written to what goes along: mentions are looked up, folders opened, files read, each once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mtpchat.attachments.lines import Lines, split_lines
from mtpchat.attachments.mentions import Mention, Place, find_mentions, spelled
from mtpchat.attachments.missing import Folders, meant
from mtpchat.attachments.reading import FileRead, read_file
from mtpchat.attachments.walk import Listing, walk
from mtpchat.errors import AttachmentError

MOST_FILES = 50
"""Files of one message."""
MOST_OF_A_FOLDER = 25
"""Files of a folder that is named as a whole."""


@dataclass(frozen=True, slots=True)
class Named:
    """A file that a message names.

    Attributes:
        name: what it is called, with the lines where only those are meant.
        size: bytes of the whole file, None where they cannot be told.
        lines: those that are meant, None for all.
    """

    path: Path
    name: str
    size: int | None
    lines: Lines | None = None


def named_files(text: str, place: Place) -> list[Named]:
    """The files that `text` mentions, those of folders included; none of them is opened.

    Raises:
        AttachmentError: a folder has more files than may go along, or none, or there are too many in all.
    """
    return expanded(find_mentions(text, place), place)


def expanded(mentions: Sequence[Mention], place: Place) -> list[Named]:
    """The files of some mentions, each once. Raises AttachmentError as `named_files` does."""
    found: dict[tuple[Path, Lines | None], Named] = {}
    for mention in mentions:
        named = _in_folder(mention, place) if mention.kind == "folder" else [_named(mention, place)]
        for one in named:
            found.setdefault((one.path, one.lines), one)
    if len(found) > MOST_FILES:
        raise AttachmentError(
            f"{len(found)} files are named, and at most {MOST_FILES} go along with one message",
            hint="Name those that matter.",
        )
    return list(found.values())


def read_all(named: Sequence[Named], most_mb: int) -> list[FileRead]:
    """The contents of some files. Raises AttachmentError for the first that cannot go along."""
    return [read_file(one.path, one.name, most_mb, one.lines) for one in named]


def files_of(typed: str, place: Place) -> list[Named]:
    """The files of one path that somebody gave as such: a file, or a folder.

    Raises:
        AttachmentError: there is none, or a folder has too many.
    """
    return expanded([_mention(typed, place)], place)


def as_mentions(paths: Sequence[str], place: Place) -> str:
    """Paths of files and folders as they are written into a prompt, "" for none. Raises AttachmentError."""
    mentions = []
    for typed in paths:
        found = _mention(typed, place)
        expanded([found], place)
        mention = spelled(f"{typed.rstrip('/')}/" if found.kind == "folder" else typed)
        if mention is None:
            raise AttachmentError(f"{typed!r} cannot be mentioned", hint="Give the file a name without line ends.")
        mentions.append(mention)
    return "".join(f"{mention} " for mention in mentions)


def _mention(typed: str, place: Place) -> Mention:
    """What a path means that somebody gave as such; folders need no / at their end. Raises AttachmentError."""
    path, part = place.path(typed), split_lines(typed)
    if path is not None and path.exists():
        return Mention(0, 0, path, typed, "folder" if path.is_dir() else "file")
    named = place.path(part[0]) if part is not None else None
    if part is None or named is None or not named.is_file():
        near = meant(part[0] if part is not None else typed, Folders(place))
        hint = f"Did you mean {near}?" if near else "Check the path."
        raise AttachmentError(f"There is no file {typed}", path=path, hint=hint)
    return Mention(0, 0, named, typed, "file", part[1])


def _named(mention: Mention, place: Place) -> Named:
    path, lines = mention.path, mention.lines
    try:
        size: int | None = path.stat().st_size
    except OSError:  # it went away meanwhile: reading it will say so
        size = None
    return Named(path, place.name(path) + (lines.suffix if lines is not None else ""), size, lines)


def _in_folder(mention: Mention, place: Place) -> list[Named]:
    listing: Listing = walk(mention.path)
    files = [entry for entry in listing.entries if not entry.is_folder]
    if not files:
        raise AttachmentError(
            f"{mention.typed} has no files that could go along",
            path=mention.path,
            hint="What is hidden, named in .gitignore or no text is left out; single files can be named.",
        )
    if len(files) > MOST_OF_A_FOLDER:
        how_many = f"{len(files):,}" if listing.complete else f"more than {len(files):,}"
        raise AttachmentError(
            f"{mention.typed} has {how_many} files, and at most {MOST_OF_A_FOLDER} of a folder go along",
            path=mention.path,
            hint="Name those that matter.",
        )
    return [Named(mention.path / one.path, place.name(mention.path / one.path), one.size) for one in files]
