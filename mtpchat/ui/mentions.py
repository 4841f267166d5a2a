"""The menu that @ opens: files below the working directory, or of the folder that is being typed; then lines of a file.

Folders are looked through on a thread; what is known by then is ranked at once with each letter, so that Enter takes
what stands on the screen. A list that has grown old is shown, and made anew behind it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mtpchat.attachments.dropped import dropped_mentions
from mtpchat.attachments.gathering import MOST_OF_A_FOLDER
from mtpchat.attachments.lines import begun_lines
from mtpchat.attachments.mentions import Begun, Place, begun_mention, spelled
from mtpchat.attachments.ranking import best
from mtpchat.attachments.walk import Entry, Listing, list_folder, walk
from mtpchat.commands.base import MenuRow
from mtpchat.ui.attached_view import about_tokens, size_of
from mtpchat.ui.file_lines import FileLengths, lines_row, shortened

_STALE_S = 10.0
_MOST_ROWS = 40
_BELOW = ""
"""Stands for everything below the working directory; any other name is that of one folder."""


@dataclass(frozen=True, slots=True)
class Offer:
    """Rows for the mention before the cursor.

    Attributes:
        start: column of its @.
        rows: their `insert` takes the place of the mention; a space at its end closes it.
        mark: the row that Enter takes; None leaves Enter to send, because what is typed may be meant as it is.
    """

    start: int
    rows: tuple[MenuRow, ...]
    mark: int | None


class Mentions:
    """Knows which files there are.

    Args:
        place: where paths start.
        tell: called from a thread when more is known than before.
        clock: seconds, monotonic.
    """

    def __init__(self, place: Place, tell: Callable[[], object], clock: Callable[[], float] = time.monotonic) -> None:
        self.place = place
        self._tell = tell
        self._clock = clock
        self._known: dict[tuple[str, bool], tuple[Listing, float]] = {}
        self._looking: set[tuple[str, bool]] = set()
        self._lengths = FileLengths(place, tell, clock)

    def offer(self, before: str, room: int) -> Offer | None:
        """What could be meant; None when the cursor is in no mention.

        Args:
            before: the line up to the cursor.
            room: cells for a path.
        """
        begun = begun_mention(before)
        if begun is None:
            return None
        typed = "~/" if begun.typed == "~" else begun.typed
        head = typed[: typed.rfind("/") + 1]
        if not typed.startswith(("/", "~", ".")):
            listing = self._listing(_BELOW)
            found = best(listing.entries, typed, _MOST_ROWS)
            if found or not (head or ":" in typed):
                return self._offered(begun, typed, found, _whole_folder(typed, listing), room)
        lines = begun_lines(typed)
        count = self._lengths.lines(lines[0]) if lines is not None else None
        if lines is not None and count is not None:
            return Offer(begun.start, (lines_row(*lines, count, room),), None)
        listing = self._listing(head or "./", hidden=typed[len(head) :].startswith("."))
        entries = [Entry(head + one.path, one.size) for one in listing.entries]
        return self._offered(begun, typed, best(entries, typed, _MOST_ROWS), None, room)

    def dropped(self, paste: str, before: str) -> str | None:
        """A paste as mentions, if it is nothing but paths; `before` is the line up to the cursor."""
        mentions = dropped_mentions(paste, self.place)
        if mentions is None:
            return None
        return f" {mentions}" if before and not before[-1].isspace() else mentions

    def _offered(
        self, begun: Begun, typed: str, found: Sequence[Entry], whole: MenuRow | None, room: int
    ) -> Offer | None:
        is_whole = any(one.path == typed and not one.is_folder for one in found)
        means_one = bool(typed) and any(typed.casefold() in one.path.casefold() for one in found[:1])
        rows = [_row(one, room) for one in found if one.path != typed]
        offered = [row for row in (whole, *rows) if row is not None]
        return Offer(begun.start, tuple(offered), 0 if means_one and not is_whole else None)

    def _listing(self, folder: str, *, hidden: bool = False) -> Listing:
        """What is known of a folder at present; a thread finds out what is not."""
        key = (folder, hidden)
        listing, at = self._known.get(key, (Listing(), float("-inf")))
        if key not in self._looking and self._clock() - at > _STALE_S:
            self._looking.add(key)
            threading.Thread(target=self._look, args=key, name="mtpchat-walk", daemon=True).start()
        return listing

    def _look(self, folder: str, hidden: bool) -> None:
        place = self.place.path(folder or ".")
        if folder == _BELOW:
            listing = walk(self.place.folder)
        else:
            listing = list_folder(place, hidden=hidden) if place is not None else Listing()
        before, _at = self._known.get((folder, hidden), (None, 0.0))
        self._known[folder, hidden] = (listing, self._clock())
        self._looking.discard((folder, hidden))
        if listing != before:
            self._tell()


def _row(entry: Entry, room: int) -> MenuRow | None:
    mention = spelled(entry.path)
    if mention is None:
        return None
    label = shortened(entry.path, room)
    if entry.is_folder:
        # A quote that stays open lets the path go on.
        return MenuRow(mention.removesuffix('"'), label, "folder")
    is_text = not entry.path.casefold().endswith(".pdf")
    tokens = f" · {about_tokens(entry.size)}" if is_text and entry.size else ""
    return MenuRow(f"{mention} ", label, f"{size_of(entry.size)}{tokens}")


def _whole_folder(typed: str, listing: Listing) -> MenuRow | None:
    """A row for all files of a folder, if they are few and all of them are known."""
    files = listing.below(typed) if typed.endswith("/") and listing.complete else ()
    mention = spelled(typed)
    if mention is None or not 0 < len(files) <= MOST_OF_A_FOLDER:
        return None
    size = sum(one.size for one in files)
    how_many = f"all {len(files)} files" if len(files) > 1 else "its one file"
    return MenuRow(f"{mention} ", typed, f"{how_many} · {size_of(size)} · {about_tokens(size)}")
