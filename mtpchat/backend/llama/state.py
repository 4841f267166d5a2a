"""Copies of a context's state, to come back to where its memory cannot simply be cut, or in another run.

Partial copies: what cannot be cut (recurrent states, cells of a sliding window) and nothing else. Restoring one puts
that part back; the cells of full attention behind it are then cut as usual. Whole copies are for a memory that has
nothing of the chat yet.

llama.cpp believes what a state says of itself: it must come from the same model and settings and be unharmed. Whoever
keeps one outside of this process checks that before it gets here.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

import numpy as np

from mtpchat.backend.protocol import Bytes

_SEQUENCE = 0


@dataclass(frozen=True, slots=True)
class Step:
    """What a decode can be taken back with: the state before it, where that was, and the tokens it decoded."""

    state: Bytes
    start: int
    tokens: tuple[int, ...]


class StateCopier:
    """Copies the partial state of one context; keeps its buffer, for a state is copied before every draft."""

    def __init__(self, lib: Any, handle: Any) -> None:
        self._lib = lib
        self._handle = handle
        self._flags = lib.LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY
        self._buffer: Bytes = np.empty(0, np.uint8)

    def take(self) -> Bytes | None:
        """View of the present state, valid until the next `take`; None if llama.cpp cannot copy it."""
        size = int(self._lib.llama_state_seq_get_size_ext(self._handle, _SEQUENCE, self._flags))
        if size > len(self._buffer):
            self._buffer = np.empty(size, np.uint8)
        written = int(
            self._lib.llama_state_seq_get_data_ext(self._handle, _pointer(self._buffer), size, _SEQUENCE, self._flags)
        )
        return self._buffer[:written] if written else None

    def put(self, state: Bytes) -> bool:
        """Bring a state back; False, with nothing to rely on, if llama.cpp refuses it."""
        if not len(state):
            return False
        read = self._lib.llama_state_seq_set_data_ext(self._handle, _pointer(state), len(state), _SEQUENCE, self._flags)
        return bool(read)


def whole_size(lib: Any, handle: Any) -> int:
    """Bytes of all that a context remembers."""
    return int(lib.llama_state_seq_get_size_ext(handle, _SEQUENCE, 0))


def copy_whole(lib: Any, handle: Any) -> Bytes | None:
    """All that a context remembers; None if llama.cpp cannot copy it. Raises MemoryError."""
    size = whole_size(lib, handle)
    buffer: Bytes = np.empty(size, np.uint8)
    written = int(lib.llama_state_seq_get_data_ext(handle, _pointer(buffer), size, _SEQUENCE, 0)) if size else 0
    return buffer[:written] if written else None


def put_whole(lib: Any, handle: Any, state: Bytes, length: int) -> bool:
    """Fill an empty context with a whole copy that was taken at `length` tokens.

    Returns:
        False if llama.cpp refuses it, or if it holds something else; the context is to be cleared then.
    """
    if not len(state):
        return False
    state = np.require(state, requirements=["C", "A"])
    read = int(lib.llama_state_seq_set_data_ext(handle, _pointer(state), len(state), _SEQUENCE, 0))
    last = int(lib.llama_memory_seq_pos_max(lib.llama_get_memory(handle), _SEQUENCE))
    return read == len(state) and last == length - 1


def _pointer(buffer: Bytes) -> Any:
    return ctypes.cast(buffer.ctypes.data, ctypes.POINTER(ctypes.c_uint8))
