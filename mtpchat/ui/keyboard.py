"""Keys on their way to the chat: chords are put together before anybody sees a key."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mtpchat.ui.chords import Chords
from mtpchat.ui.keys import Key, Scope

if TYPE_CHECKING:
    from mtpchat.ui.chat_screen import ChatScreen


class Keyboard:
    """Knows where the user is typing, and so which chords could be meant."""

    def __init__(self, screen: ChatScreen) -> None:
        self._screen = screen
        self._chords = Chords(screen.session.config.keys)

    @property
    def pending(self) -> tuple[str, ...]:
        """What was pressed of a chord that is not complete."""
        return self._chords.pending

    @property
    def endings(self) -> list[tuple[str, Key]]:
        """What it could become: the keys that are missing, and what they do."""
        return self._chords.endings(self._scopes)

    def heard(self, name: str) -> str | None:
        """What a key is now: itself, the chord that it completes, or None while it only begins or drops one."""
        before = self.pending
        if self._screen.app.screen is not self._screen:
            self._chords.drop()
            heard: str | None = name
        elif not before and self._screen.prompt.has_focus and self._screen.prompt.selected_text:
            heard = name  # with text marked, ctrl+x cuts
        else:
            heard = self._chords.press(name, self._scopes)
        if self.pending != before:
            self._screen.update_hints()
        return heard

    @property
    def _scopes(self) -> set[Scope]:
        screen = self._screen
        scopes: set[Scope] = {"app", "chat"}
        if screen.prompt.has_focus:
            scopes.add("prompt")
        if screen.transcript.has_focus:
            scopes.add("transcript")
        return scopes
