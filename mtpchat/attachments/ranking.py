"""Which paths are meant by a few typed letters: the best first.

Plain enough to be foreseen: names that begin with the letters, then names that contain them, then paths that do, then
letters that are spread over a name or a path in their order. Among equals the shorter path, then the alphabet.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from heapq import nsmallest

from mtpchat.attachments.walk import Entry


def best(entries: Iterable[Entry], typed: str, most: int) -> list[Entry]:
    """At most so many entries that `typed` could mean. Nothing typed means what lies nearest."""
    wanted = typed.casefold()
    # Each letter at its first place behind the one before: there is nothing to try twice, whatever is typed.
    spread = re.compile("".join(f"[^{re.escape(letter)}]*+{re.escape(letter)}" for letter in wanted))
    ranked = ((_rank(entry, wanted, spread), entry) for entry in entries)
    hits = ((rank, entry.path.count("/"), len(entry.path), entry.path, entry) for rank, entry in ranked if rank >= 0)
    return [hit[-1] for hit in nsmallest(most, hits, key=lambda hit: hit[:-1])]


def _rank(entry: Entry, wanted: str, spread: re.Pattern[str]) -> int:
    """0 is best; -1 is no match."""
    path = entry.path.casefold()
    if path == wanted:
        return 0
    name = path.rstrip("/").rpartition("/")[2]
    if path.startswith(wanted) and "/" in wanted:
        return 1
    place = name.find(wanted)
    if place == 0:
        return 1
    if place > 0:
        return 2 if name[place - 1] in "_-. " else 3
    if wanted in path:
        return 4
    if spread.match(name):
        return 5
    return 6 if spread.match(path) else -1
