"""What comes out of a file of chats: chats, and what could not be taken."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mtpchat.whole_chat import WholeChat


@dataclass(frozen=True, slots=True)
class Found:
    """A chat.

    Attributes:
        form: the format it was in, for people: "ChatGPT".
        left_out: what of it was left out, in words, and how many there are of it.
        end: so many bytes of the file have been read with it; 0 is not known.
    """

    chat: WholeChat
    form: str
    left_out: Mapping[str, int] = field(default_factory=dict)
    end: int = 0


@dataclass(frozen=True, slots=True)
class Skipped:
    """A part of a file that is no chat; `end` as in Found. `line` counts from 1; `why` is a clause without a stop."""

    line: int
    why: str
    end: int = 0


Finding = Found | Skipped


class NoChat(Exception):
    """A value that is no chat; says why."""
