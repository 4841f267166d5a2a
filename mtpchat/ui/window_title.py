"""The title of the terminal's window or tab: what the chat is about. The one before comes back at the end."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from mtpchat.ui.safe_text import safe_line

_NAME = "mtpchat"
_LONGEST = 80
_END = "\x1b\\"
_REMEMBER, _RECALL = "\x1b[22;2t", "\x1b[23;2t"
_NONE = f"\x1b]2;{_END}"
_RESTORE = f"{_NONE}{_RECALL}"
"""Terminals that remember no titles are left with none, and show what they show by themselves."""


def has_title(environment: Mapping[str, str]) -> bool:
    """Whether the terminal has a title; the console of Linux would print it."""
    return environment.get("TERM", "") not in ("", "dumb", "linux")


class WindowTitle:
    """Writes the title when it has changed.

    Args:
        write: sends bytes to the terminal.
        wanted: False leaves the terminal's title alone.
    """

    def __init__(self, write: Callable[[str], object], *, wanted: bool) -> None:
        self._write = write
        self._wanted = wanted and has_title(os.environ)
        self._shown: str | None = None

    @property
    def undo(self) -> str:
        """What gives back the title from before, should the program not get to do it; "" where it is left alone."""
        return _RESTORE if self._wanted else ""

    def show(self, title: str) -> None:
        """The chat has this title; "" for none yet. A model may have made it: nothing in it is obeyed."""
        words = safe_line(title)[:_LONGEST]
        whole = f"{words} · {_NAME}" if words else _NAME
        if not self._wanted or whole == self._shown:
            return
        self._write(f"{_REMEMBER if self._shown is None else ''}\x1b]2;{whole}{_END}")
        self._shown = whole

    def restore(self) -> None:
        """Give back the title from before."""
        if self._shown is not None:
            self._shown = None
            self._write(_RESTORE)
