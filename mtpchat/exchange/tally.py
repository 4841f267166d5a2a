"""What came of a file of chats, counted and said."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from mtpchat.exchange.findings import Found, Skipped
from mtpchat.whole_chat import Taken

_MOST_TOLD = 100


@dataclass(slots=True)
class Tally:
    """Counts of one file.

    Attributes:
        added, grown, known: chats that are new, have something new, and have nothing new.
        messages: how many new ones there are.
        forms: formats that were found, with how many chats of each.
        skipped: the first parts of the file that could not be taken; `skips` is how many there were.
        left_out: what chats were taken without.
    """

    added: int = 0
    grown: int = 0
    known: int = 0
    messages: int = 0
    forms: Counter[str] = field(default_factory=Counter)
    skipped: list[Skipped] = field(default_factory=list)
    skips: int = 0
    left_out: Counter[str] = field(default_factory=Counter)

    def skip(self, one: Skipped) -> None:
        """A part that could not be taken."""
        self.skips += 1
        if len(self.skipped) < _MOST_TOLD:
            self.skipped.append(one)

    def count(self, found: Found, taken: Taken) -> None:
        """A chat and what it brought."""
        self.added += taken.is_new
        self.grown += not taken.is_new and taken.messages > 0
        self.known += not taken.is_new and not taken.messages
        self.messages += taken.messages
        self.forms[found.form] += 1
        if taken.messages:
            self.left_out.update(found.left_out)

    @property
    def chats(self) -> int:
        """How many were found."""
        return sum(self.forms.values())

    def sentence(self, done: str = "taken in") -> str:
        """`3 chats, 120 messages taken in · 1 goes on · 2 known already · 1 skipped`."""
        parts = [f"{_count(self.added, 'chat')}, {_count(self.messages, 'message')} {done}"]
        if self.grown:
            parts.append(f"{self.grown:,} of those known {'goes' if self.grown == 1 else 'go'} on")
        if self.known:
            parts.append(f"{self.known:,} known already")
        if self.skips:
            parts.append(f"{self.skips:,} skipped")
        return " · ".join(parts)


def progress(tally: Tally, share: float) -> str:
    """`34 % · 1,200 chats`: how far a file has been read."""
    return f"{share:.0%}".replace("%", " %") + f" · {_count(tally.chats, 'chat')}"


def left_out(tally: Tally) -> str:
    """`left out: calls of tools (7), files (2)`; "" for nothing."""
    parts = [f"{what} ({number:,})" for what, number in tally.left_out.most_common() if number > 0]
    return f"left out: {', '.join(parts)}" if parts else ""


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
