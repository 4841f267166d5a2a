"""Ctrl+Z and `fg`: the terminal is the app's again afterwards, however the process was stopped.

Textual gives the terminal back on SIGTSTP, and takes it anew on SIGCONT. A process that was stopped by SIGSTOP has
given back nothing: it would take it a second time, and two threads would share its keys. And when a window is closed,
SIGCONT comes along with SIGHUP: there is no terminal any more to be taken, and whoever tries waits for ever.
"""

from __future__ import annotations

import signal
import sys
import threading
from types import FrameType
from typing import Any

from textual.app import App


def _is_there(terminal: int) -> bool:
    import termios

    try:
        termios.tcgetattr(terminal)
    except termios.error:
        return False
    return True


def take_terminal_once(app: App[Any]) -> None:
    """See above; call when the driver has begun. Does nothing where there are no such signals."""
    if sys.platform == "win32" or threading.current_thread() is not threading.main_thread():
        return
    from textual.drivers.linux_driver import LinuxDriver

    driver, before = app._driver, signal.getsignal(signal.SIGCONT)
    if not isinstance(driver, LinuxDriver) or not callable(before):  # there is no terminal
        return

    def continued(number: int, frame: FrameType | None) -> None:
        if not _is_there(driver.fileno):
            return
        if driver._auto_restart and not driver._must_signal_resume:
            driver.suspend_application_mode()
            driver._must_signal_resume = True
        before(number, frame)

    signal.signal(signal.SIGCONT, continued)
