"""What goes into a decode and comes out of it, as numpy memory.

A batch is filled without a Python loop and never allocated or freed by llama.cpp; results are views of its buffers.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mtpchat.backend.protocol import Floats


class Batch:
    """Room for `capacity` tokens of sequence 0, with an embedding row per token when `width` > 0.

    Without `tokens` there are embedding rows alone: what an encoder takes.
    """

    def __init__(self, capacity: int, width: int = 0, *, tokens: bool = True) -> None:
        import llama_cpp.llama_cpp as lib

        self._tokens = np.zeros(capacity, np.int32)
        self._positions = np.zeros(capacity, np.int32)
        self._one = np.ones(capacity, np.int32)
        self._sequence = np.zeros(1, np.int32)
        self._sequences = np.full(capacity, self._sequence.ctypes.data, np.uintp)
        self._wanted = np.zeros(capacity, np.int8)
        self._embeddings = np.zeros((capacity, width), np.float32) if width else None
        self.native: Any = lib.llama_batch(
            0,
            _pointer(self._tokens, ctypes.c_int32) if tokens else None,
            None if self._embeddings is None else _pointer(self._embeddings, ctypes.c_float),
            _pointer(self._positions, ctypes.c_int32),
            _pointer(self._one, ctypes.c_int32),
            ctypes.cast(self._sequences.ctypes.data, ctypes.POINTER(ctypes.POINTER(ctypes.c_int32))),
            _pointer(self._wanted, ctypes.c_int8),
        )

    def fill(self, tokens: Sequence[int], start: int, *, wanted: str, hidden: Floats | None = None) -> Any:
        """Lay `tokens` at positions start .. and return the native batch.

        Args:
            wanted: "all", "last" or "none": which tokens get logits.
            hidden: shape (len(tokens), width).
        """
        count = len(tokens)
        if count == 1 and hidden is None:  # a plain step: it should cost as little as can be
            self._tokens[0], self._positions[0], self._wanted[0] = tokens[0], start, wanted != "none"
            self.native.n_tokens = 1
            return self.native
        self._tokens[:count] = tokens
        self._positions[:count] = np.arange(start, start + count, dtype=np.int32)
        self._wanted[:count] = 1 if wanted == "all" else 0
        if wanted == "last":
            self._wanted[count - 1] = 1
        if hidden is not None and self._embeddings is not None:
            self._embeddings[:count] = hidden
        self.native.n_tokens = count
        return self.native

    def fill_rows(self, rows: Floats, start: int) -> Any:
        """Lay embedding rows, shape (n, width), at positions start .. and return the native batch; all are wanted."""
        return self.fill([0] * len(rows), start, wanted="all", hidden=rows)


def _pointer(array: NDArray[Any], kind: Any) -> Any:
    return ctypes.cast(array.ctypes.data, ctypes.POINTER(kind))


@cache
def _row_type(count: int) -> Any:
    return ctypes.c_float * count


@lru_cache(maxsize=256)
def _view(address: int, count: int) -> Floats:
    """One array per place: llama.cpp hands out the same few places again and again.

    A view of memory that was freed is only handed out again when llama.cpp names that place again.
    """
    return np.frombuffer(_row_type(count).from_address(address), np.float32)


def floats_at(pointer: Any, count: int) -> Floats:
    """View of `count` floats behind a non-null native pointer, shape (count,).

    The array type is made once per length: numpy.ctypeslib.as_array makes one each time, which takes ten times as long.
    """
    return _view(ctypes.addressof(pointer.contents), count)


def row_reader(function: Any, count: int) -> Callable[[Any, int], Floats | None]:
    """A native function (context, row) -> float*, seen as one that gives a view of `count` floats, or None for NULL.

    It is declared anew as giving an address: a pointer object for every token costs more than the call.
    """
    declared = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int32)
    native = declared(ctypes.cast(function, ctypes.c_void_p).value or 0)

    def read(context: Any, row: int) -> Floats | None:
        address = native(context, row)
        return _view(address, count) if address else None

    return read
