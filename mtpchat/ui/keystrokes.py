"""Bytes of the terminal on their way to keys: what is pasted is text, a byte that is no text ends nothing, and what is
typed too early waits.

Textual takes an escape sequence inside of a paste, such as the colours of a log, and what follows it for keys: a line
end would send the prompt. And bytes that are no UTF-8, from a terminal with another encoding, would end the program.
"""

from __future__ import annotations

import codecs
import sys
from collections.abc import Iterable
from functools import partial

from textual import events
from textual._xterm_parser import XTermParser
from textual.message import Message

from mtpchat.ui.safe_text import safe_text

_EDITS = {"enter", "backspace"}
_LINE_FEED = "ctrl+j"
_START, _END = "\x1b[200~", "\x1b[201~"


class Pastes:
    """Makes escapes inside of pastes harmless, in a stream that comes in pieces."""

    def __init__(self) -> None:
        self._inside = False
        self._held = ""
        """Inside of a paste: what may be the beginning of its end."""
        self._passed = ""
        """Outside: what may be the beginning of a paste. It was passed on at once, because it may as well be a key."""

    def harmless(self, piece: str) -> str:
        """The next piece of the stream, without what has to wait for the piece after it."""
        parts = list[str]()
        while piece:
            text, piece = self._to_end(piece) if self._inside else self._to_start(piece)
            parts.append(text)
        return "".join(parts)

    def _to_start(self, piece: str) -> tuple[str, str]:
        seen = self._passed + piece
        at = seen.find(_START)
        if at < 0:
            self._passed = seen[1 - len(_START) :]
            return piece, ""
        end = at + len(_START) - len(self._passed)
        self._inside, self._passed = True, ""
        return piece[:end], piece[end:]

    def _to_end(self, piece: str) -> tuple[str, str]:
        text, marker, rest = (self._held + piece).partition(_END)
        kept = 0 if marker else next((n for n in range(len(_END) - 1, 0, -1) if text.endswith(_END[:n])), 0)
        self._inside, self._held = not marker, text[len(text) - kept :]
        return text[: len(text) - kept].replace("\x1b", safe_text("\x1b")) + marker, rest


class Keystrokes(XTermParser):
    """Textual's parser, with pastes made harmless first."""

    def __init__(self, debug: bool = False) -> None:
        super().__init__(debug)
        self._pastes = Pastes()

    def feed(self, data: str) -> Iterable[Message]:
        """See Parser; an empty text is the end."""
        clean = self._pastes.harmless(data)
        return super().feed(clean) if clean or not data else ()


class TypeAhead:
    """Keeps what is typed until there is something to type into. Other keys are left alone, above all those that leave.

    Whoever starts the program in a shell may go on typing while it starts. Until the terminal is the app's, a line ends
    with a line feed, which would be a new line in the prompt; it was Enter.
    """

    def __init__(self) -> None:
        self._kept: list[events.Event] = []
        self._over = False

    def keeps(self, event: events.Event) -> bool:
        """Whether it is kept for later."""
        if self._over:
            return False
        if isinstance(event, events.Key) and event.key == _LINE_FEED:
            event = events.Key("enter", "\r")
        kept = isinstance(event, events.Paste) or (
            isinstance(event, events.Key) and (event.is_printable or event.key in _EDITS)
        )
        if kept:
            self._kept.append(event)
        return kept

    def release(self) -> list[events.Event]:
        """From now on there is something to type into. Returns what was kept, in order."""
        self._over = True
        kept, self._kept = self._kept, []
        return kept


def read_keys_so() -> None:
    """Have Textual's driver for terminals read with the above from now on; it names its parts nowhere else."""
    if sys.platform == "win32":
        return
    from textual.drivers import linux_driver

    vars(linux_driver).update(XTermParser=Keystrokes, getincrementaldecoder=_forgiving)


def _forgiving(encoding: str) -> partial[codecs.IncrementalDecoder]:
    return partial(codecs.getincrementaldecoder(encoding), errors="replace")
