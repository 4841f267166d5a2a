"""Permission bits that hold for root, too, as whom tests run in most containers."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator

import pytest

IGNORES_BITS = 1 << 1 | 1 << 2
"""The capabilities of Linux to read and write whatever the bits say: DAC_OVERRIDE and DAC_READ_SEARCH."""
VERSION = 0x20080522


class Privileges:
    """What the calling thread, and those that it starts, may do; see capget(2)."""

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._header = (ctypes.c_uint32 * 2)(VERSION, 0)
        self._sets = (ctypes.c_uint32 * 6)()
        self._call(self._libc.capget)
        self._before = self._sets[0]

    def drop(self, capabilities: int) -> None:
        self._sets[0] = self._before & ~capabilities
        self._call(self._libc.capset)

    def restore(self) -> None:
        self._sets[0] = self._before
        self._call(self._libc.capset)

    def _call(self, function: ctypes._CFuncPtr) -> None:  # type: ignore[name-defined]
        if function(self._header, self._sets):
            raise OSError(ctypes.get_errno(), "capabilities")


@pytest.fixture
def permissions_hold() -> Iterator[None]:
    """Within the test, what may not be read or written by its bits cannot be."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        yield
        return
    if not sys.platform.startswith("linux"):
        pytest.skip("root may read and write everything")
    privileges = Privileges()
    privileges.drop(IGNORES_BITS)
    try:
        yield
    finally:
        privileges.restore()
