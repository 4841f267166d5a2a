"""The row of the menu for lines of a file, `@a.py:10-40`, and how many lines there are."""

from __future__ import annotations

import threading
from collections.abc import Callable

from mtpchat.attachments.lines import count_lines, split_lines
from mtpchat.attachments.mentions import Place, kind_of, spelled
from mtpchat.attachments.reading import read_file
from mtpchat.commands.base import MenuRow
from mtpchat.errors import AttachmentError

_STALE_S = 10.0
_MOST_MB = 10
"""Lines of larger files are not counted for the menu."""


class FileLengths:
    """Counts lines on a thread.

    Args:
        place: where paths start.
        tell: called from a thread when more is known than before.
        clock: seconds, monotonic.
    """

    def __init__(self, place: Place, tell: Callable[[], object], clock: Callable[[], float]) -> None:
        self._place = place
        self._tell = tell
        self._clock = clock
        self._known: dict[str, tuple[int | None, float]] = {}
        self._looking: set[str] = set()

    def lines(self, typed: str) -> int | None:
        """Lines of the file that was typed; None as long as nobody knows, and where there is no such text."""
        count, at = self._known.get(typed, (None, float("-inf")))
        if typed not in self._looking and self._clock() - at > _STALE_S:
            self._looking.add(typed)
            threading.Thread(target=self._look, args=(typed,), name="mtpchat-lines", daemon=True).start()
        return count

    def _look(self, typed: str) -> None:
        path = self._place.path(typed)
        count: int | None = None
        if path is not None and kind_of(path) == "file":
            try:
                count = count_lines(read_file(path, typed, _MOST_MB).attachment.text)
            except AttachmentError:  # whoever sends it is told why
                count = None
        before, _at = self._known.get(typed, (None, 0.0))
        self._known[typed] = (count, self._clock())
        self._looking.discard(typed)
        if count != before:
            self._tell()


def lines_row(path: str, rest: str, count: int, room: int) -> MenuRow:
    """What is being typed behind the colon of a file, and what it means.

    Args:
        rest: "", "10", "10-" or "10-40".
        count: lines of the file.
        room: cells for the path.
    """
    mention = spelled(path) or f"@{path}"
    part = split_lines(f"{path}:{rest}")
    whole = f"{count:,} line{'' if count == 1 else 's'}"
    if part is None:
        return MenuRow(f"{mention}:1-", shortened(f"{path}:", room), f"{whole}; lines 10, 10-40 or 10-")
    lines = part[1]
    label = shortened(f"{path}:{rest}", room)
    if max(lines.first, lines.last or 0) > count:
        return MenuRow(f"{mention}:{rest}", label, f"{whole}, this goes beyond the end")
    return MenuRow(f"{mention}{lines.suffix} ", label, lines.share(count))


def shortened(path: str, room: int) -> str:
    """A path for so many cells, without its beginning where it is too long."""
    return path if len(path) <= room else f"…{path[-max(room - 1, 1) :]}"
