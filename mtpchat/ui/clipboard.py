"""The clipboard of this machine, beside the terminal's own.

OSC 52 asks the terminal to keep what is copied, also over ssh; many do not, and tmux passes it on only if it is told
to. So the text goes to a tool of the system as well (wl-copy, xclip, xsel, pbcopy, clip.exe), where there is one. Such
a tool may hang when its display has gone: it is waited for on a thread of its own.
"""

from __future__ import annotations

import logging
import threading
from subprocess import SubprocessError

_log = logging.getLogger(__name__)


class LocalClipboard:
    """Takes texts; the newest wins."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: str | None = None
        self._busy = False

    def put(self, text: str) -> None:
        """Put a text there, soon. It is no error when there is no tool."""
        with self._lock:
            self._waiting = text
            if self._busy:
                return
            self._busy = True
        threading.Thread(target=self._work, name="mtpchat-clipboard", daemon=True).start()

    def _work(self) -> None:
        while (text := self._next()) is not None:
            _copy(text)

    def _next(self) -> str | None:
        with self._lock:
            text, self._waiting = self._waiting, None
            self._busy = text is not None
            return text


def _copy(text: str) -> None:
    import pyperclip  # type: ignore[import-untyped]

    try:
        pyperclip.copy(text)
    except (pyperclip.PyperclipException, OSError, SubprocessError, ValueError) as error:  # the terminal has the text
        _log.info("no local clipboard: %s", str(error).strip().partition("\n")[0])
