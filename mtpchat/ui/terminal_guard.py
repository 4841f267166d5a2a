"""Keeps the terminal for Textual alone, and gives it back in order whatever happens.

On Linux and macOS Textual paints on file descriptor 2, the very one that native code complains on. While the app runs,
descriptors 1 and 2 lead to the log file and Textual gets a duplicate of the real terminal. A shell of a few kilobytes
waits beside the app: if the process dies without a goodbye (an assertion inside llama.cpp aborts), it restores the
terminal. Where there are no POSIX terminals, all of this does nothing.
"""

from __future__ import annotations

import contextlib
import io
import logging
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TextIO

_log = logging.getLogger(__name__)

RESET = (
    "\x1b\\\x1b[?2026l"  # ends a string or a picture that was being sent
    "\x1b[<u"  # kitty keyboard protocol off
    "\x1b[?1000l\x1b[?1003l\x1b[?1006l\x1b[?1015l\x1b[?1016l"  # mouse off
    "\x1b[?2004l\x1b[?1004l\x1b[?2048l"  # bracketed paste, focus and resize reports off
    "\x1b[?7h\x1b[?1049l\x1b[?25h\x1b[0m"  # line wrap on, ordinary screen, cursor, plain colours
)

_WATCHER = r"""
trap '' INT HUP TERM QUIT TSTP
if read -r goodbye; then exit 0; fi
exec 3<&1
case $(stty -a <&3 2>/dev/null) in *-isig*) [ -n "$1" ] && stty "$1" <&3 2>/dev/null ;; esac
printf '%b' "$2"
said=
if [ -n "$4" ]; then
    said=$(sed -n '2{s/^Fatal Python error: //;p;}' "$4" 2>/dev/null | LC_ALL=C tr -cd ' -~' | cut -c1-300)
    [ -n "$3" ] && sed 1d "$4" >>"$3" 2>/dev/null
fi
printf '\r\nmtpchat ended abruptly: %s.' "${said:-it was killed, perhaps because memory ran out}"
[ -n "$5" ] && printf ' %s' "$5"
[ -n "$3" ] && printf ' The log: %s' "$3"
printf '\r\n'
"""
"""Arguments: the line discipline, what resets the screen, the log, the record of this run, what to advise; or "".

The shell that the app was started from may be faster, and have set the terminal for its own prompt. Keys that send
signals, which the app switches off and shells do not, tell whose settings are in force.
"""
_GOODBYE_S = 2.0


@contextlib.contextmanager
def guarded_terminal(
    log_file: Path | None, run_record: Path | None = None, advice: str = "", also: str = ""
) -> Iterator[None]:
    """Run the app inside this block.

    Args:
        log_file: where descriptors 1 and 2 lead meanwhile; None, or a file that cannot be opened, discards them.
        run_record: if the process dies, the second line of this file says of what, and all but its first are logged.
        advice: a sentence to show then.
        also: what else the terminal is to be sent when the app has not restored it.
    """
    if os.name != "posix":
        yield
        return
    terminal = _open_terminal()
    if terminal is None:  # no terminal at all: a test or a pipe
        yield
        return
    try:
        reset = RESET + also
        watched = _watched(terminal, [reset, *map(str, (log_file or "", run_record or "", advice))])
        with _streams_on(terminal), _descriptors_on(log_file), watched, _restored(terminal, reset):
            yield
    finally:
        with contextlib.suppress(OSError):  # the window was closed: what was still to be painted has no place to go
            terminal.close()


class _Terminal(io.TextIOWrapper):
    """The terminal. When its window is closed, what is still painted goes nowhere, and nobody stumbles over that.

    An error would end the thread that writes, and everybody who hands it something would wait for ever.
    """

    def write(self, text: str) -> int:
        with contextlib.suppress(OSError):
            return super().write(text)
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            super().flush()


def _open_terminal() -> TextIO | None:
    """A stream of its own on the terminal the user sits at."""
    for descriptor in (2, 1):
        if os.isatty(descriptor):
            raw = os.fdopen(os.dup(descriptor), "wb")
            return _Terminal(raw, encoding="utf-8", errors="replace", newline="")
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
def _restored(terminal: TextIO, reset: str) -> Iterator[None]:
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
            terminal.write(reset)
            terminal.flush()
        raise
    finally:
        if before is not None:
            with contextlib.suppress(termios.error):  # the window was closed
                termios.tcsetattr(terminal.fileno(), termios.TCSANOW, before)


@contextlib.contextmanager
def _watched(terminal: TextIO, told: Sequence[str]) -> Iterator[None]:
    """A shell that restores the terminal when this process is gone without a word.

    Args:
        told: the arguments of its script but the first.
    """
    reset, *others = told
    escaped = reset.replace("\\", r"\\").replace("\x1b", r"\033")
    try:
        watcher = subprocess.Popen(
            ["/bin/sh", "-c", _WATCHER, "sh", _stty_state(terminal), escaped, *others],
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
        _dismiss(watcher)


def _dismiss(watcher: subprocess.Popen[str]) -> None:
    """Say goodbye; one that does not listen, because it was stopped, is ended."""
    try:
        watcher.communicate("goodbye\n", timeout=_GOODBYE_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        _log.info("the watcher of the terminal did not end by itself: %s", error)
        watcher.kill()
        watcher.wait()


def _stty_state(terminal: TextIO) -> str:
    """The line discipline as `stty` takes it back, or "". On Linux stty is not asked: the first frame waits."""
    import termios

    if sys.platform.startswith("linux"):
        try:
            *flags, _in_speed, _out_speed, keys = termios.tcgetattr(terminal.fileno())
        except termios.error:
            return ""
        codes = [key if isinstance(key, int) else key[0] for key in keys]
        return ":".join(f"{number:x}" for number in (*flags, *codes))
    try:
        asked = subprocess.run(
            ["stty", "-g"], stdin=terminal.fileno(), capture_output=True, text=True, timeout=2, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return asked.stdout.strip()
