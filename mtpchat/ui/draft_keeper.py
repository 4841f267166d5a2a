"""When drafts are written and read: a moment after typing stops, at the end, and when another chat is opened."""

from __future__ import annotations

import threading
from collections.abc import Callable

from textual.timer import Timer
from textual.widget import Widget

from mtpchat.ui.drafts import Draft, Drafts

_AFTER_S = 1.0
_LATEST_S = 5.0
"""Who types without a pause is saved this often."""


class DraftKeeper:
    """Keeps the draft of the chat that is shown.

    Args:
        owner: a widget that lives as long as the app, for timers.
        chat: id of the chat; "" before its first message.
        current: what is unsent now.
        clock: seconds, monotonic.
    """

    def __init__(
        self,
        drafts: Drafts,
        owner: Widget,
        chat: Callable[[], str],
        current: Callable[[], Draft],
        clock: Callable[[], float],
    ) -> None:
        self._drafts = drafts
        self._owner = owner
        self._chat = chat
        self._current = current
        self._clock = clock
        self._shown = ""
        self._saved = Draft()
        self._timer: Timer | None = None
        self._since: float | None = None
        self._begun = False

    def begin(self) -> Draft:
        """What was left unsent the last time in a chat that had not begun.

        Nothing is written before that is known: what is typed while the app starts must not take its place.
        """
        self._begun = True
        self._saved = self._drafts.read(self._shown)
        self.touch()
        return self._saved

    def touch(self) -> None:
        """Something may have changed; it is written in a moment."""
        if not self._begun or not self._drafts.keeps or not self._owner.is_attached:
            return
        now = self._clock()
        self._since = now if self._since is None else self._since
        if self._timer is not None and now - self._since < _LATEST_S - _AFTER_S:
            self._timer.stop()
            self._timer = None
        if self._timer is None:
            self._timer = self._owner.set_timer(_AFTER_S, self.save_soon)

    def flush(self) -> None:
        """Write now, and wait for it."""
        self._forget_timer()
        self._collect()
        self._drafts.write_out()

    def close(self) -> None:
        """Write for the last time, and wait for it."""
        self.flush()
        self._drafts.close()

    def save_soon(self) -> None:
        """Write now, without keeping anybody waiting."""
        self._forget_timer()
        if self._collect():
            threading.Thread(target=self._drafts.write_out, name="mtpchat-drafts", daemon=True).start()

    def adopt(self) -> None:
        """The chat that had not begun may have its id now; the draft moves along with it."""
        chat = self._chat()
        if self._drafts.keeps and chat and not self._shown:
            self._drafts.put("", Draft())
            self._shown, self._saved = chat, Draft()
            self.touch()

    def leave_for(self, chat: str) -> Draft:
        """Another chat is shown from now on: what is unsent stays with the one before.

        What was typed before anything was shown belongs to that chat, so it is not put away: see `begun`.

        Returns:
            what is unsent in that chat.
        """
        self._forget_timer()
        current = self._current()
        if self._begun and current != self._saved:
            self._drafts.put(self._shown, current)
        self._begun = True
        self._drafts.write_out()
        self._shown, self._saved = chat, self._drafts.read(chat)
        return self._saved

    @property
    def begun(self) -> bool:
        """Whether a chat is shown, be it a new one; before, what is typed is not yet part of any draft."""
        return self._begun

    @property
    def keeps(self) -> bool:
        """Whether anything is written."""
        return self._drafts.keeps

    @property
    def shown(self) -> str:
        """Id of the chat that the draft belongs to."""
        return self._shown

    def _collect(self) -> bool:
        """Put what has changed; False when nothing has. The draft of a new chat moves along when that gets its id."""
        if not self._begun or not self._drafts.keeps:
            return False
        chat, current = self._chat(), self._current()
        moved = chat != self._shown
        if moved:
            self._drafts.put(self._shown, Draft())
            self._shown, self._saved = chat, Draft()
        changed = current != self._saved
        if changed:
            self._drafts.put(chat, current)
            self._saved = current
        return moved or changed

    def _forget_timer(self) -> None:
        self._since = None
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
