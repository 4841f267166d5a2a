"""The three standard streams in whatever state they were handed over: closed, full, or with a reader that goes away."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from typing import TextIO

from mtpchat.headless_output import Notes


@dataclass(frozen=True, slots=True)
class Streams:
    """The streams.

    Attributes:
        stdin: None when it is closed.
        stdout: leads nowhere when it is closed; see `closed`.
        closed: stdout was closed before the start, so that nothing could be shown.
    """

    stdin: TextIO | None
    stdout: TextIO
    stderr: TextIO
    closed: bool = False


def standard_streams() -> Streams:
    """The streams of this process, with an encoding that takes every text."""
    _fill_gaps()
    closed = sys.stdout is None
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - lives with the process
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure:  # what a terminal's encoding lacks is replaced; files and pipes get UTF-8, line ends unchanged
            reconfigure(errors="replace") if stream.isatty() else reconfigure(
                encoding="utf-8", errors="replace", newline=""
            )
    return Streams(sys.stdin, sys.stdout, sys.stderr, closed)


def tell_closed(stderr: TextIO) -> None:
    """Say that nothing is done for nobody."""
    Notes(stderr).error("Standard output is closed: what is to be shown has nowhere to go", "Leave >&- away.")


def tell_failure(error: OSError, stderr: TextIO) -> None:
    """Say that stdout cannot be written, as on a full disk, or what file stood in the way."""
    what = "Standard output cannot be written" if error.filename is None else str(error.filename)
    Notes(stderr).error(f"{what}: {error.strerror or error}", "")


def _fill_gaps() -> None:
    """Let descriptors 0 to 2 that are closed lead nowhere; the next file opened would get what is meant for them."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free, which is this one
