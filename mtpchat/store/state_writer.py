"""Writing states of the model's memory while the engine goes on.

The engine hands over copies and is free at once; a thread of this module does the hashing and waits for the disk. One
state is written at a time, so that at most one copy is in memory beside the model.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

from mtpchat.errors import StorageError
from mtpchat.state_record import FoundState, StateRecord
from mtpchat.store.states import Bytes, StateFolder, storage_sentence

_log = logging.getLogger(__name__)
_READ_RATE, _WRITE_RATE = 500e6, 200e6
_FEWEST_BYTES = 4 << 20


class StateWriter:
    """The StateFiles of the engine over a folder. Used on the engine thread.

    Attributes:
        read_rate / write_rate: bytes per second, checks included; a guess until it was measured.
    """

    def __init__(self, folder: StateFolder, clock: Callable[[], float] = time.perf_counter) -> None:
        self._folder = folder
        self._clock = clock
        self._thread: threading.Thread | None = None
        self._stopped = threading.Event()
        self._told = False
        self._word = ""
        self.read_rate, self.write_rate = _READ_RATE, _WRITE_RATE

    def allowance(self) -> int:
        """Bytes that a state may have at most."""
        return self._folder.allowance()

    def records(self, key: str) -> Sequence[FoundState]:
        """The states that fit a key, those used last first."""
        return self._folder.records(key)

    def read(self, found: FoundState, cancelled: Callable[[], bool]) -> Sequence[Bytes] | None:
        """Its sections, unharmed; None if that cannot be, or if it was cancelled."""
        began = self._clock()
        sections = self._folder.read(found.name, cancelled)
        if sections is not None and found.size > _FEWEST_BYTES:
            self.read_rate = found.size / max(self._clock() - began, 1e-6)
        return sections

    def at_risk(self, found: FoundState) -> AbstractContextManager[None]:
        """Around what native code does with it: a state that ends the process is not tried a second time."""
        return self._folder.at_risk(found.name)

    def drop(self, found: FoundState) -> None:
        """Remove a state that turned out to be unfit."""
        self._folder.drop(found.name)

    @property
    def writing(self) -> bool:
        """Whether a state is still on its way to the disk."""
        return self._thread is not None and self._thread.is_alive()

    def write(self, record: StateRecord, sections: Sequence[Bytes]) -> None:
        """Keep a state; the sections belong to this object from now on. Not while `writing`."""
        self.wait()
        self._thread = threading.Thread(target=self._write, args=(record, sections), name="mtpchat-states", daemon=True)
        self._thread.start()

    def _write(self, record: StateRecord, sections: Sequence[Bytes]) -> None:
        began, size = self._clock(), sum(len(section) for section in sections)
        try:
            if not self._folder.write(record, sections, self._stopped.is_set):
                _log.info("a state of %d bytes was not kept", size)
            elif size > _FEWEST_BYTES:
                self.write_rate = size / max(self._clock() - began, 1e-6)
            self._told = False
        except StorageError as error:
            _log.warning("a state is not kept: %s", error)
            if not self._told:
                self._word = storage_sentence(error)
            self._told = True

    def take_word(self) -> str:
        """A sentence about trouble with the disk, once; "" otherwise."""
        word, self._word = self._word, ""
        return word

    def wait(self, timeout: float | None = None) -> bool:
        """Until nothing is being written; False if that took too long."""
        if self._thread is None:
            return True
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def close(self, timeout: float) -> None:
        """Wait so many seconds for the disk; what is not done then is given up."""
        if not self.wait(timeout):
            self._stopped.set()
            self.wait(0.3)
