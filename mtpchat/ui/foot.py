"""The keys that matter at the moment: on a line of their own, or at the end of the status line where there is room."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.containers import Vertical
from textual.content import Content

from mtpchat.ui.hints import Moment, chord_hints, hints
from mtpchat.ui.widgets.messages import Plain

if TYPE_CHECKING:
    from mtpchat.ui.chat_screen import ChatScreen


def _no_hints(_room: int) -> Content:
    return Content()


class Foot:
    """Follows what the screen is doing.

    Attributes:
        key_line: the line of its own.
        menu_frame: where the menu opens, right above the prompt.
    """

    def __init__(self, screen: ChatScreen) -> None:
        self._screen = screen
        self.key_line = Plain(classes="keys")
        self.menu_frame = Vertical(id="menu")

    @property
    def moment(self) -> Moment:
        """What the user is about, as far as keys depend on it."""
        screen = self._screen
        if screen.leaving.asked:
            return "quitting"
        if screen.menu.is_open:
            return "menu"
        if screen.covered:
            return "panel"
        if (reading := screen.reading.moment) is not None:
            return reading
        return screen.area.moment or ("busy" if screen.turns.can_stop or screen.fetches.running else "idle")

    def show(self) -> None:
        """Show the keys for the room there is, and keep the menu above the prompt."""
        screen, moment = self._screen, self.moment
        wide, low = screen.has_class("-wide"), screen.has_class("-low")
        self.key_line.display = not wide and not low
        self.key_line.update(self._hints(moment, max(screen.size.width - 4, 0)), layout=False)
        urgent = moment == "quitting" or bool(screen.keyboard.pending)
        inline = (lambda room: self._hints(moment, room, short=True)) if wide or (urgent and low) else _no_hints
        screen.status.set_hints(inline, urgent=urgent)
        bottom = screen.area.foot_height + 1 + (1 if self.key_line.display else 0)
        beside = screen.panel.outer_size.width if screen.panel.is_open and wide else 0
        self.menu_frame.styles.margin = (0, beside, bottom, 0)

    def _hints(self, moment: Moment, room: int, *, short: bool = False) -> Content:
        keyboard = self._screen.keyboard
        if keyboard.pending:
            return chord_hints(keyboard.pending, keyboard.endings, room)
        return hints(moment, self._screen.session.config.keys, room, short=short)
