"""A reusable llama_token_data_array over numpy memory: candidates go in, a sampler chain works on them, survivors come
out."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mtpchat.backend.protocol import Floats

Ids32 = NDArray[np.int32]

_CANDIDATE = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])


class Candidates:
    """Room for `capacity` candidates."""

    def __init__(self, capacity: int) -> None:
        import llama_cpp.llama_cpp as lib

        self.capacity = capacity
        self._lib = lib
        self._data = np.zeros(capacity, _CANDIDATE)
        self._ids, self._logits = self._data["id"], self._data["logit"]
        self._pointer = ctypes.cast(self._data.ctypes.data, lib.llama_token_data_p)
        self._array = lib.llama_token_data_array(self._pointer, capacity, -1, False)
        self._reference = ctypes.byref(self._array)

    def apply(self, chain: Any, ids: NDArray[np.integer[Any]], logits: Floats) -> tuple[Ids32, Floats]:
        """What a chain makes of candidates: ids and logits of those it leaves, in its order.

        The results are views, valid until the next call.

        Args:
            ids: shape (n,), n <= capacity.
            logits: shape (n,).
        """
        count = len(ids)
        self._ids[:count] = ids
        self._logits[:count] = logits
        array = self._array
        array.data, array.size, array.selected, array.sorted = self._pointer, count, -1, False
        self._lib.llama_sampler_apply(chain, self._reference)
        # The chain may have moved the candidates to memory of its own.
        address = ctypes.addressof(array.data.contents)
        if address == self._data.ctypes.data:
            left = self._data[: array.size]
        else:
            left = np.frombuffer((ctypes.c_char * (array.size * _CANDIDATE.itemsize)).from_address(address), _CANDIDATE)
        return left["id"], left["logit"]
