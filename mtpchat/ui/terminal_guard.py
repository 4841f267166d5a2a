"""Keeps the terminal for Textual alone, and gives it back in order whatever happens.

On Linux and macOS Textual paints on file descriptor 2, the very one that native code complains on. While the app runs,
descriptors 1 and 2 lead to the log file and Textual gets a duplicate of the real terminal. A shell of a few kilobytes
waits beside the app: if the process dies without a goodbye (an assertion inside llama.cpp aborts), it restores the
terminal. Where there are no POSIX terminals, all of this does nothing.
"""

from __future__ import annotations

import contextlib
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

_log = logging.getLogger(__name__)

RESET = (
    "\x1b[<u"  # kitty keyboard protocol off
    "\x1b[?1000l\x1b[?1003l\x1b[?1006l\x1b[?1015l\x1b[?1016l"  # mouse off
    "\x1b[?2004l\x1b[?1004l\x1b[?2048l"  # bracketed paste, focus and resize reports off
    "\x1b[?7h\x1b[?1049l\x1b[?25h\x1b[0m"  # line wrap on, ordinary screen, cursor, plain colours
)

_WATCHER = r"""
trap '' INT HUP TERM QUIT TSTP
if read -r goodbye; then exit 0; fi
[ -n "$1" ] && stty "$1" <&1 2>/dev/null
printf '%b' "$2"
printf '\r\nmtpchat ended abruptly. The log may say why: %s\r\n' "$3"
"""


@contextlib.contextmanager
def guarded_terminal(log_file: Path | None) -> Iterator[None]:
    """Run the app inside this block.

    Args:
        log_file: where descriptors 1 and 2 lead meanwhile; None, or a file that cannot be opened, discards them.
    """
    if os.name != "posix":
        yield
        return
    terminal = _open_terminal()
    if terminal is None:  # no terminal at all: a test or a pipe
        yield
        return
    try:
        with _streams_on(terminal), _descriptors_on(log_file), _watched(terminal, log_file), _restored(terminal):
            yield
    finally:
        with contextlib.suppress(OSError):  # the window was closed: what was still to be painted has no place to go
            terminal.close()


def _open_terminal() -> TextIO | None:
    """A stream of its own on the terminal the user sits at."""
    for descriptor in (2, 1):
        if os.isatty(descriptor):
            return os.fdopen(os.dup(descriptor), "w", encoding="utf-8", errors="replace", newline="")
    return None


@contextlib.contextmanager
def _streams_on(terminal: TextIO) -> Iterator[None]:
    """Textual paints on sys.__stderr__ and takes the size from sys.__stdout__."""
    before = sys.__stdout__, sys.__stderr__
    sys.__stdout__ = sys.__stderr__ = terminal  # type: ignore[misc, assignment]
    try:
        yield
    finally:
        sys.__stdout__, sys.__stderr__ = before  # type: ignore[misc]


@contextlib.contextmanager
def _descriptors_on(log_file: Path | None) -> Iterator[None]:
    """Descriptors 1 and 2 lead to the log, unless the user had sent them somewhere else already."""
    sink = _open_sink(log_file)
    saved: dict[int, int] = {}
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(
            OSError, ValueError, AttributeError
        ):  # a closed or missing stream has nothing to flush
            stream.flush()
    for descriptor in (1, 2):
        if os.isatty(descriptor):
            saved[descriptor] = os.dup(descriptor)
            os.dup2(sink, descriptor)
    os.close(sink)
    try:
        yield
    finally:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError, AttributeError):
                stream.flush()
        for descriptor, original in saved.items():
            os.dup2(original, descriptor)
            os.close(original)


def _open_sink(log_file: Path | None) -> int:
    if log_file is not None:
        try:
            log_file.parent.mkdir(parents=True, exist_ok=True)
            return os.open(log_file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        except OSError as error:
            _log.warning("stray output is discarded: %s", error)
    return os.open(os.devnull, os.O_WRONLY)


@contextlib.contextmanager
def _restored(terminal: TextIO) -> Iterator[None]:
    """Put the line discipline back in any case, and the screen too when the app did not get to do it."""
    import termios

    try:
        before = termios.tcgetattr(terminal.fileno())
    except termios.error:
        before = None
    try:
        yield
    except BaseException:
        with contextlib.suppress(OSError):  # the window was closed
            terminal.write(RESET)
            terminal.flush()
        raise
    finally:
        if before is not None:
            with contextlib.suppress(termios.error):  # the window was closed
                termios.tcsetattr(terminal.fileno(), termios.TCSANOW, before)


@contextlib.contextmanager
def _watched(terminal: TextIO, log_file: Path | None) -> Iterator[None]:
    """A shell that restores the terminal when this process is gone without a word."""
    escaped = RESET.replace("\x1b", r"\033")
    try:
        watcher = subprocess.Popen(
            ["/bin/sh", "-c", _WATCHER, "sh", _stty_state(terminal), escaped, str(log_file or "-")],
            stdin=subprocess.PIPE,
            stdout=terminal.fileno(),
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            text=True,
        )
    except OSError as error:
        _log.warning("nobody watches over the terminal: %s", error)
        yield
        return
    try:
        yield
    finally:
        with contextlib.suppress(OSError):  # it was ended from outside; then there is nobody to tell
            watcher.communicate("goodbye\n", timeout=2)


def _stty_state(terminal: TextIO) -> str:
    """The line discipline as `stty` takes it back, or ""."""
    try:
        asked = subprocess.run(
            ["stty", "-g"], stdin=terminal.fileno(), capture_output=True, text=True, timeout=2, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return asked.stdout.strip()
