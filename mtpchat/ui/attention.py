"""Calling back somebody who went to another window while a long answer came."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mtpchat.events import FinishReason
from mtpchat.stats import TurnStats
from mtpchat.ui import format as numbers

if TYPE_CHECKING:
    from mtpchat.ui.chat_screen import ChatScreen

_TITLE = "mtpchat"
_BELL, _END = "\x07", "\x1b\\"


def call_back(screen: ChatScreen, stats: TurnStats, reason: FinishReason) -> bool:
    """Ring, and ask for a notification of the desktop, when an answer took long and the terminal lost the focus.

    A terminal that tells nothing about its focus counts as looked at. One that knows no notifications (OSC 9, which
    iTerm2, WezTerm, kitty, Windows Terminal and others have) does nothing about it, and the bell may be silent.

    Returns:
        Whether it called.
    """
    app, after_s = screen.app, screen.session.config.ui.call_after_s
    spent = (stats.prefill_s or 0.0) + stats.decode_s
    if app.app_focus or after_s <= 0 or spent < after_s or reason == "cancelled":
        return False
    driver = app._driver
    if driver is not None and not app.is_headless:
        # Words of our own alone: what a model wrote has no business in an escape sequence.
        driver.write(f"\x1b]9;{_TITLE}: answered in {numbers.duration(spent)}{_END}{_BELL}")
    return True
