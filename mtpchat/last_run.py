"""What a run of the app was doing when it ended without a goodbye.

A small file is there from the start of a run to its orderly end. It is locked as long as its process lives, so that
only death lets go of it: an assertion inside llama.cpp, a signal, the kernel that takes its memory back. Its first line
names the model and the drafter in use, as JSON. What can still be said in the moment of death is appended: by
`RunRecord.say`, and by Python's faulthandler, which writes nothing but bytes to a descriptor.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import logging
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import platformdirs

from mtpchat.errors import StorageError
from mtpchat.file_lock import lock
from mtpchat.paths import APP, ensure_dir

_log = logging.getLogger(__name__)

SPEAKER = "llama.cpp: "
"""Begins a line that the native library said last."""
_FATAL = "Fatal Python error: "
_LIKELY = {
    "Bus error": "a file in use, such as the model, was cut short, or its disk failed",
    "Illegal instruction": "llama.cpp was built for another processor",
}
_SUFFIX = ".run"
_MOST_BYTES = 1 << 16
_LONGEST = 300
_BOOT = Path("/proc/sys/kernel/random/boot_id")


def _usual_place() -> Path:
    return platformdirs.user_state_path(APP, appauthor=False) / "running"


class _FirstLine(msgspec.Struct, frozen=True):
    """What a run is doing."""

    started: float
    boot: str = ""
    model: str = ""
    drafter: str = ""
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Death:
    """The end of a run that did not say goodbye.

    Attributes:
        model, drafter, kind: what it had in use, "" for nothing; paths, and the kind of drafter.
        reason: a clause that says what is known of it, printable.
        words: all that was said in the moment of death.
        restarted: the machine was started anew since, which explains everything.
    """

    model: str
    drafter: str
    kind: str
    reason: str
    words: str
    restarted: bool


@dataclass(slots=True)
class InUse:
    """A model in use; `close` says that it no longer is."""

    record: RunRecord

    def close(self) -> None:
        """The model was closed in order."""
        self.record.note()


class RunRecord:
    """The file of the run in this process. Where it cannot be written there is none, and all methods do nothing.

    Attributes:
        path: the file, or None.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.path: Path | None = None
        self._started = time.time()
        self._catches = False
        try:
            place = ensure_dir(folder or _usual_place()) / f"{os.getpid()}{_SUFFIX}"
            self._descriptor = os.open(place, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_TRUNC, 0o600)
        except (StorageError, OSError) as error:
            _log.info("a crash of this run would not be noticed: %s", error)
            return
        if not lock(self._descriptor):
            _log.info("a crash of this run would not be noticed: %s cannot be locked", place)
            os.close(self._descriptor)
            return
        self.path = place
        self.note()

    def catch_signals(self) -> None:
        """Write where the program was into the file when a fatal signal ends it. Safe in any state of the process."""
        if self.path is not None:
            faulthandler.enable(self._descriptor, all_threads=True)
            self._catches = True

    def uses(self, model: str, drafter: str, kind: str) -> InUse:
        """From now on these files are in use; call before they are given to native code."""
        self.note(model, drafter, kind)
        return InUse(self)

    def note(self, model: str = "", drafter: str = "", kind: str = "") -> None:
        """Write the first line anew."""
        line = msgspec.json.encode(_FirstLine(self._started, _boot(), model, drafter, kind))
        self._write(line + b"\n", anew=True)

    def say(self, text: str) -> None:
        """Append the last words of the native library; one line. May be called from any thread, also a dying one."""
        self._write(f"{SPEAKER}{' '.join(text.split())}\n".encode("ascii", "backslashreplace"))

    def _write(self, data: bytes, *, anew: bool = False) -> None:
        if self.path is None:
            return
        try:
            if anew:
                os.ftruncate(self._descriptor, 0)
            os.write(self._descriptor, data)
        except OSError as error:
            _log.info("the record of this run is not written: %s", error)

    def close(self) -> None:
        """The run ends in order: nothing will be told of it."""
        if self.path is None:
            return
        path, self.path = self.path, None
        if self._catches:
            faulthandler.disable()
        os.close(self._descriptor)
        with contextlib.suppress(OSError):  # somebody has tidied up already
            path.unlink()


def take_deaths(folder: Path | None = None) -> Sequence[Death]:
    """Runs that ended without a goodbye since this was asked last, the latest last; each is told once."""
    try:
        files = sorted((folder or _usual_place()).glob(f"*{_SUFFIX}"), key=lambda path: path.stat().st_mtime)
    except OSError:
        return ()
    return [death for path in files for death in _taken(path)]


def _taken(path: Path) -> Iterator[Death]:
    try:
        descriptor = os.open(path, os.O_RDWR)
    except OSError:
        return
    try:
        data = os.read(descriptor, _MOST_BYTES) if lock(descriptor) else b""
    except OSError:
        return
    finally:
        os.close(descriptor)
    if not data:  # its process lives, or has not yet written anything
        return
    with contextlib.suppress(OSError):  # then it is told once more the next time
        path.unlink()
    head, _, rest = data.partition(b"\n")
    try:
        first = msgspec.json.decode(head, type=_FirstLine)
    except (ValueError, RecursionError):  # msgspec's errors are ValueErrors
        return
    words = rest.decode("utf-8", "replace").strip()
    restarted = bool(first.boot) and first.boot != _boot()
    yield Death(first.model, first.drafter, first.kind, _reason(words, restarted=restarted), words, restarted)


def _reason(words: str, *, restarted: bool) -> str:
    for line in words.splitlines():
        if line.startswith(SPEAKER):
            return f"llama.cpp gave up ({_printable(line.removeprefix(SPEAKER))})"
        if line.startswith(_FATAL):
            what = line.removeprefix(_FATAL)
            likely = next((f"; perhaps {cause}" for name, cause in _LIKELY.items() if what.startswith(name)), "")
            return f"native code failed ({_printable(what)}{likely})"
    if restarted:
        return "the machine was restarted"
    return "it was killed, perhaps because memory ran out"


def _printable(text: str) -> str:
    return json.dumps(text[:_LONGEST])[1:-1].replace('\\"', '"')


def _boot() -> str:
    """Names the time since the machine was started; "" where the system has no name for it."""
    try:
        return _BOOT.read_text("ascii").strip()
    except (OSError, UnicodeError):
        return ""
