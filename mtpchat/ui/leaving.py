"""Leaving with the key that also copies and stops: only when it is pressed twice within two seconds."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mtpchat.ui.chat_screen import ChatScreen

QUIT_WITHIN_S = 2.0


class Leaving:
    """Remembers whether the user has asked once.

    Args:
        clock: seconds, monotonic.
    """

    def __init__(self, screen: ChatScreen, clock: Callable[[], float]) -> None:
        self._screen = screen
        self._clock = clock
        self._asked = float("-inf")

    @property
    def asked(self) -> bool:
        """Whether the key would leave now."""
        return self._clock() - self._asked <= QUIT_WITHIN_S

    def copy_or_leave(self) -> None:
        """Copy what is marked; if nothing is, stop what runs, and the second time leave."""
        screen = self._screen
        selected = screen.get_selected_text() or screen.prompt.selected_text
        if selected:
            screen.stage.copy(selected)
            screen.clear_selection()
            screen.notify("Copied", timeout=2, markup=False)
            return
        if self.asked:
            screen.leave()
            return
        self._asked = self._clock()
        if screen.turns.can_stop:
            screen.area.take_back_all()
        screen.update_hints()
        screen.set_timer(QUIT_WITHIN_S + 0.1, screen.update_hints)
