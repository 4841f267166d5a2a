"""The target: a llama_context with its memory, behind checks that llama.cpp answers with an abort.

Abort traps refused here (each ends the whole process inside llama.cpp): more tokens than n_batch; more rows with
logits than n_outputs_max; reading rows that were not asked for. Silent traps refused here: a roll-back on a recurrent
memory that is deeper than the last decode's fresh snapshots, or a second one before the next decode, both of which
`llama_memory_seq_rm` accepts while restoring a stale state.
"""

from __future__ import annotations

import ctypes
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mtpchat.backend.llama.batch import Batch, row_reader
from mtpchat.backend.llama.context import ContextSettings, context_params, create_context
from mtpchat.backend.llama.hidden import HiddenRows
from mtpchat.backend.llama.logs import LlamaLog
from mtpchat.backend.llama.model import LlamaModel
from mtpchat.backend.llama.state import StateCopier, Step, copy_whole, put_whole, whole_size
from mtpchat.backend.protocol import Bytes, CancelFlag, Capabilities, Floats, WantedRows
from mtpchat.errors import ContextFull, DecodeFailed, Interrupted, MisuseRefused, RollbackImpossible

_SEQUENCE = 0
_NO_SLOT, _ABORTED = 1, 2
_CHEAP = 0.1
"""A copy of the state before each draft pays only if it takes less than this share of a decode."""


@cache
def _is_nonempty() -> Any:
    """A native function that tells whether a C string is non-empty: `strlen`, whose result read as bool is just that.

    It serves as ggml's abort callback, which runs on a compute thread once per graph node: a Python callable there
    would take the interpreter lock thousands of times per decode.
    """
    import llama_cpp.llama_cpp as lib

    libc = ctypes.cdll.msvcrt if sys.platform == "win32" else ctypes.CDLL(None)
    return ctypes.cast(libc.strlen, lib.ggml_abort_callback)


class LlamaRows:
    """DecodedRows over the context's own buffers."""

    __slots__ = ("_target", "_wanted", "count", "start")

    def __init__(self, target: LlamaTarget, start: int, count: int, wanted: WantedRows) -> None:
        self._target = target
        self._wanted = wanted
        self.start = start
        self.count = count

    def logits(self, row: int) -> Floats:
        """See DecodedRows.logits."""
        asked = self._wanted == "all" or (self._wanted == "last" and row == self.count - 1)
        if not asked or not 0 <= row < self.count:
            raise MisuseRefused(f"Row {row} of {self.count} was decoded without logits.")
        return self._target.read_logits(row)

    def hidden(self) -> Floats:
        """See DecodedRows.hidden."""
        return self._target.read_hidden(self.count)


class LlamaTarget:
    """TargetModel over llama.cpp; see the protocol for the contract of each method.

    Attributes:
        settings: how the context was made.
        snapshots: how many there are; llama.cpp keeps none for some architectures, whatever was asked for.
    """

    def __init__(self, model: LlamaModel, settings: ContextSettings, log: LlamaLog) -> None:
        import llama_cpp.llama_cpp as lib

        self._lib = lib
        self._model = model
        self._log = log
        self._n_vocab = model.vocab.n_vocab
        self._logits_of = row_reader(lib.llama_get_logits_ith, self._n_vocab)
        self.handle: Any = None
        self.reopen(settings)

    def reopen(self, settings: ContextSettings) -> None:
        """Make the context anew, with an empty memory and no layers exposed.

        Contexts of drafters that look at this one must be closed before. Raises ModelError; then there is no context.
        """
        lib, model = self._lib, self._model
        self.close()
        self.settings = settings
        self.handle = create_context(model, context_params(settings), self._log, model.path.name)
        self._memory = lib.llama_get_memory(self.handle)
        self._batch = Batch(settings.batch)
        self._length = 0
        # Tokens of the last decode that may still be taken back on a recurrent memory; 0 after a roll-back.
        self._fresh = 0
        self._watched: CancelFlag | None = None
        self._copier = StateCopier(lib, self.handle)
        # The last decode, if it can be taken back by a copy of the state before it; gone with the next change.
        self._step: Step | None = None
        self._copies = False
        self.snapshots = int(lib.llama_n_rs_seq(self.handle))
        self._hidden = HiddenRows(model, self.handle)
        if settings.hidden_rows:
            self._hidden.expose_state()
        self.capabilities = self._survey(settings)
        if model.recurrent and not self.snapshots and self._may_copy(settings.copies):
            self._copies = True
            depth = self.capabilities.max_rows - 1
            self.capabilities = replace(self.capabilities, rollback=depth, why_no_draft="")
        elif self.snapshots:
            self._copies = settings.whole_steps

    def _survey(self, settings: ContextSettings) -> Capabilities:
        lib, model = self._lib, self._model
        return Capabilities(
            context=int(lib.llama_n_ctx(self.handle)),
            batch=settings.batch,
            rollback=self.snapshots if model.recurrent else None,
            max_rows=min(settings.max_rows, settings.batch),
            deep_rollback=not model.recurrent and model.window == 0,
            hidden_width=self._hidden.width,
            why_no_draft=(
                "this recurrent model keeps no snapshots that a rejected draft could be rolled back to"
                if model.recurrent and not self.snapshots
                else ""
            ),
            interruptible=not lib.llama_supports_gpu_offload(),
        )

    @property
    def length(self) -> int:
        """Tokens in memory."""
        return self._length

    def decode(
        self, tokens: Sequence[int], *, rows: WantedRows = "last", interrupt: Callable[[], bool] | None = None
    ) -> LlamaRows:
        """See TargetModel.decode."""
        count = len(tokens)
        self._check(tokens, rows)
        batch = self._batch.fill(tokens, self._length, wanted=rows)
        if interrupt is not None and interrupt():
            raise Interrupted("Stopped.")
        self._watch(interrupt)
        self._step = self._save_step(tokens) if self._copies and rows == "all" and count > 1 else None
        code = self._lib.llama_decode(self.handle, batch)
        if code:
            self._undo_failed(code)
        start, self._length, self._fresh = self._length, self._length + count, count
        # Reading waits for the device: only now is the work done and its time honest.
        self._lib.llama_synchronize(self.handle)
        return LlamaRows(self, start, count, rows)

    def _check(self, tokens: Sequence[int], rows: WantedRows) -> None:
        count, can = len(tokens), self.capabilities
        if not self.handle:
            raise _closed()
        if count == 1 and 0 <= tokens[0] < self._n_vocab and self._length < can.context:
            return
        if not 1 <= count <= can.batch:
            raise MisuseRefused(f"A decode of {count} tokens; 1 to {can.batch} are possible.")
        if rows == "all" and count > can.max_rows:
            raise MisuseRefused(f"{count} rows of logits asked for; {can.max_rows} are possible.")
        if min(tokens) < 0 or max(tokens) >= self._n_vocab:
            raise MisuseRefused(f"A token outside the vocabulary of {self._n_vocab}.")
        if self._length + count > can.context:
            raise ContextFull(
                f"The context of {can.context:,} tokens is full.",
                hint="Start with a larger one (-c), or /clear the chat.",
            )

    def _watch(self, interrupt: Callable[[], bool] | None) -> None:
        flag = interrupt if isinstance(interrupt, CancelFlag) else None
        if flag is self._watched:
            return
        if flag is not None:
            address = ctypes.addressof((ctypes.c_char * 2).from_buffer(flag.buffer))
            self._lib.llama_set_abort_callback(self.handle, _is_nonempty(), ctypes.c_void_p(address))
        else:
            self._lib.llama_set_abort_callback(self.handle, self._lib.ggml_abort_callback(0), ctypes.c_void_p(0))
        self._watched = flag  # keeps its memory alive for as long as llama.cpp looks at it

    def _undo_failed(self, code: int) -> None:
        """Bring the memory back in step after a failed decode, then raise."""
        if code != _NO_SLOT and (
            self._model.recurrent or not self._lib.llama_memory_seq_rm(self._memory, _SEQUENCE, self._length, -1)
        ):
            self.clear()
        self._fresh, self._step = 0, None
        if code == _ABORTED:
            raise Interrupted("Stopped.")
        if code == _NO_SLOT:
            raise ContextFull("The KV cache has no free slot.", hint="Start with a larger context (-c).")
        raise DecodeFailed(
            f"llama.cpp could not decode (code {code}).", code=code, hint="See llama.log for the details."
        )

    def rollback(self, length: int) -> None:
        """See TargetModel.rollback. If a copied state cannot be restored the memory is empty afterwards."""
        taken = self._length - length
        if taken == 0:
            return
        if not 0 <= length < self._length:
            raise RollbackImpossible(f"Cannot roll back from {self._length} to {length} tokens.")
        if length == 0:
            self.clear()
            return
        if self._model.recurrent and taken > min(self._fresh - 1, self.snapshots):
            if self._step is not None and self._step.start <= length:
                self._replay(self._step, length)
                return
            raise RollbackImpossible(f"This model's state cannot be taken back by {taken} tokens.")
        if self._model.window and self._lost_window(length):
            raise RollbackImpossible(f"The sliding window before token {length} is gone.")
        if not self._lib.llama_memory_seq_rm(self._memory, _SEQUENCE, length, -1):
            raise RollbackImpossible(f"llama.cpp refused to cut the memory to {length} tokens.")
        self._length, self._fresh, self._step = length, 0, None

    def _may_copy(self, wanted: Literal["auto", "on", "off"]) -> bool:
        if wanted != "auto":
            return wanted == "on"
        decode_s, copy_s = [], []
        for _ in range(3):
            began = time.perf_counter()
            self.decode([0])
            decoded = time.perf_counter()
            state = self._copier.take()
            if state is None or not self._copier.put(state):
                return False
            decode_s.append(decoded - began)
            copy_s.append(time.perf_counter() - decoded)
        self.clear()
        return min(copy_s) < _CHEAP * min(decode_s)

    def _save_step(self, tokens: Sequence[int]) -> Step | None:
        state = self._copier.take() if self._length else np.empty(0, np.uint8)
        return None if state is None else Step(state, self._length, tuple(tokens))

    def _replay(self, step: Step, length: int) -> None:
        """Bring back the state before the last decode, then decode again what is kept of it.

        The hidden rows are then those of the kept tokens, first row first, as they were.
        """
        if step.start:
            self._restore(step.state, step.start)
        else:
            self.clear()
        kept = step.tokens[: length - step.start]
        if not kept:
            return
        code = self._lib.llama_decode(self.handle, self._batch.fill(kept, step.start, wanted="none"))
        if code:
            self.clear()
            raise RollbackImpossible(f"The tokens that were kept could not be decoded again (code {code}).")
        self._length = length

    def _lost_window(self, length: int) -> bool:
        """True when the window that token `length` looks back on is no longer complete in the cache."""
        if self._length - length < self._fresh:
            return False  # a cell is only reused once it is out of the window of everything before the last batch
        oldest = self._lib.llama_memory_seq_pos_min(self._memory, _SEQUENCE)
        return bool(oldest > max(0, length - self._model.window))

    def clear(self) -> None:
        """See TargetModel.clear."""
        if self.handle:
            self._lib.llama_memory_clear(self._memory, True)
        self._length = self._fresh = 0
        self._step = None

    def checkpoint(self) -> bytes | None:
        """See TargetModel.checkpoint."""
        if self.capabilities.deep_rollback or not self._length or not self.handle:
            return None
        self._step = None  # the copier has one buffer
        state = self._copier.take()
        return None if state is None else state.tobytes()

    def restore(self, state: bytes, length: int) -> None:
        """See TargetModel.restore."""
        self._restore(np.frombuffer(state, np.uint8), length)

    def _restore(self, state: NDArray[np.uint8], length: int) -> None:
        if not self.handle:
            raise _closed()
        # Order matters: the partial state first, then the cut, which removes the attention cells beyond it.
        put = self._copier.put(state)
        if not put or not self._lib.llama_memory_seq_rm(self._memory, _SEQUENCE, length, -1):
            self.clear()
            raise RollbackImpossible(f"The checkpoint at token {length} could not be restored.")
        self._length, self._fresh, self._step = length, 0, None

    def size_held(self) -> int:
        """Bytes that `copy_all` would give."""
        return whole_size(self._lib, self.handle) if self._length else 0

    def copy_all(self) -> Bytes | None:
        """All that the memory holds; None where it cannot be copied. Raises MemoryError."""
        return copy_whole(self._lib, self.handle) if self._length else None

    def fill(self, state: Bytes, length: int) -> bool:
        """Put back what `copy_all` gave at `length` tokens. The memory is empty where that fails (False)."""
        self.clear()
        if (
            not self.handle
            or length > self.capabilities.context
            or not put_whole(self._lib, self.handle, state, length)
        ):
            self.clear()
            return False
        self._length = length
        return True

    def read_logits(self, row: int) -> Floats:
        """View of the logits after batch row `row`; valid until the next decode."""
        if not self.handle:
            raise _closed()
        found = self._logits_of(self.handle, row)
        if found is None:
            raise MisuseRefused(f"llama.cpp has no logits for row {row}.")
        return found

    def expose_layers(self, layers: Sequence[int]) -> None:
        """From now on the hidden rows are the inputs of these layers side by side, as an EAGLE-3 head reads them.

        Args:
            layers: each 0 .. the number of layers, which stands for the output of the last.

        Raises:
            MisuseRefused: where llama.cpp would abort the process.
        """
        if not self.handle:
            raise _closed()
        self._hidden.expose_layers(layers)
        self.capabilities = replace(self.capabilities, hidden_width=self._hidden.width)

    def hide_layers(self) -> None:
        """Undo `expose_layers`."""
        if not self.handle:
            return
        self._hidden.hide_layers()
        self.capabilities = replace(self.capabilities, hidden_width=self._hidden.width)

    def read_hidden(self, count: int) -> Floats:
        """Copy of the hidden rows of the last decode, shape (count, hidden_width)."""
        if not self.handle:
            raise _closed()
        return self._hidden.read(count)

    def close(self) -> None:
        """Free the context. Drafter contexts that look at it must be gone before."""
        if self.handle:
            self._lib.llama_free(self.handle)
            self.handle = None
            self._length = self._fresh = 0
            self._step = None


def _closed() -> MisuseRefused:
    """Every call with a context that was freed, or could not be made anew, ends the process."""
    return MisuseRefused("The model has no context.", hint="Load it again with /model.")
