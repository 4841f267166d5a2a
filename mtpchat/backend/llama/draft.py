"""The drafter's own context: a small model, or MTP heads fed with the target's hidden rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from mtpchat.backend.llama.batch import Batch, floats_at
from mtpchat.backend.llama.context import ContextSettings, context_params, create_context
from mtpchat.backend.llama.logs import LlamaLog
from mtpchat.backend.llama.model import LlamaModel
from mtpchat.backend.llama.state import copy_whole, put_whole, whole_size
from mtpchat.backend.llama.symbols import probe, symbols
from mtpchat.backend.llama.target import LlamaTarget
from mtpchat.backend.protocol import Bytes, DraftOutput, Floats, WantedRows
from mtpchat.errors import ContextFull, DecodeFailed, DrafterMismatch, DrafterUnsupported, MisuseRefused
from mtpchat.gguf.architectures import KEEPS_HEAD_ROWS

_SEQUENCE = 0


class LlamaDraft:
    """DraftContext over llama.cpp; see the protocol.

    Args:
        model: the drafter's weights (for embedded heads: those of the target).
        target: the context whose hidden rows feed the heads; None for a draft model.
    """

    shared: bool
    heads: int
    hidden_width: int
    layers: tuple[int, ...] = ()
    """Layers of the target whose inputs this drafter reads."""

    def __init__(self, model: LlamaModel, settings: ContextSettings, log: LlamaLog, target: LlamaTarget | None) -> None:
        import llama_cpp.llama_cpp as lib

        if target is not None:
            refuse_unusable_heads(model, target)
            settings = replace(settings, kind=lib.LLAMA_CONTEXT_TYPE_MTP)
        self.heads = 1
        self.hidden_width = model.hidden_width if target is not None else 0
        self._open(model, replace(settings, max_rows=1), log, target, self.hidden_width)
        self.heads = 1 if target is None or self.shared else max(1, model.heads)
        if model.is_assistant and not self.shared:
            self.close()
            raise DrafterUnsupported(
                f"{model.path.name} shares the memory of its model, which this build of llama.cpp does not do.",
                hint="Use --spec ngram.",
            )

    def _open(
        self, model: LlamaModel, settings: ContextSettings, log: LlamaLog, target: LlamaTarget | None, row_width: int
    ) -> None:
        """Make the context. `row_width`: floats that a decode takes beside each token; 0 for a draft model."""
        import llama_cpp.llama_cpp as lib

        self._lib: Any = lib
        self._opened = (model, settings, log, target, row_width)
        self._model = model
        self._target = target
        self._n_vocab = model.vocab.n_vocab
        self._row_width = row_width
        params = context_params(replace(settings, snapshots=0))
        if target is not None:
            params.ctx_other = target.handle
        self.batch = settings.batch
        self._head = 0
        self._length = 0
        self._batch = Batch(settings.batch, row_width)
        self.handle = create_context(model, params, log, f"the drafter {model.path.name}")
        self._memory = lib.llama_get_memory(self.handle)
        self._context = int(lib.llama_n_ctx(self.handle))
        self.shared = target is not None and model.is_assistant and _looks_at(self.handle, target)
        if row_width:
            # Masked: hidden rows of the tokens whose logits are wanted. It takes the first rows there are, which is
            # wrong where the graph keeps those of all tokens.
            masked = model.architecture not in KEEPS_HEAD_ROWS
            symbols().set_embeddings_nextn(self.handle, True, masked)  # type: ignore[misc]

    @property
    def length(self) -> int:
        """Rows in memory."""
        return self._target.length if self.shared and self._target is not None else self._length

    def feed(
        self, tokens: Sequence[int], start: int, hidden: Floats | None, *, want: bool, head: int = 0
    ) -> DraftOutput | None:
        """See DraftContext.feed."""
        self._check(tokens, start, hidden, head)
        if head != self._head:
            symbols().set_nextn_layer_offset(self.handle, head)  # type: ignore[misc]
            self._head = head
        self._decode(tokens, start, hidden, "last" if want else "none")
        return self._read(len(tokens) - 1) if want else None

    def _decode(self, tokens: Sequence[int], start: int, hidden: Floats | None, wanted: WantedRows) -> None:
        code = self._lib.llama_decode(self.handle, self._batch.fill(tokens, start, wanted=wanted, hidden=hidden))
        if code:
            self._forget()
            raise DecodeFailed(f"The drafter could not decode (code {code}).", code=code, hint="See llama.log.")
        self._length = start + len(tokens)

    def _check(self, tokens: Sequence[int], start: int, hidden: Floats | None, head: int) -> None:
        count = len(tokens)
        if not self.handle:
            raise MisuseRefused("The drafter has no context.")
        if not 1 <= count <= (1 if self.shared else self.batch):
            raise MisuseRefused(f"{count} rows for a drafter that takes 1 to {1 if self.shared else self.batch}.")
        if (self.length or self.shared) and start != self.length:
            raise MisuseRefused(f"The drafter holds {self.length} rows and was fed at {start}.")
        if start + count > self._context:
            raise ContextFull("The drafter's context is full.")
        if not 0 <= head < self.heads:
            raise MisuseRefused(f"Head {head} of {self.heads}.")
        if min(tokens) < 0 or max(tokens) >= self._n_vocab:
            raise MisuseRefused(f"A token outside the drafter's vocabulary of {self._n_vocab}.")
        shape = None if hidden is None else hidden.shape
        wanted = (count, self._row_width) if self._row_width else None
        if shape != wanted:
            raise MisuseRefused(f"Hidden rows of shape {shape} where {wanted} are needed.")

    def _read(self, row: int) -> DraftOutput:
        pointer = self._lib.llama_get_logits_ith(self.handle, row)
        if not pointer:
            raise MisuseRefused("The drafter has no logits.")
        logits = floats_at(pointer, self._n_vocab)
        if not self._row_width:
            return DraftOutput(logits)
        state = symbols().get_embeddings_nextn_ith(self.handle, row)  # type: ignore[misc]
        if not state:
            raise MisuseRefused("The head gave no hidden row.")
        return DraftOutput(logits, floats_at(state, self._row_width))

    def rollback(self, length: int) -> None:
        """See DraftContext.rollback. A shared memory is the target's to cut."""
        if self.shared or length >= self._length:
            return
        cut = self._lib.llama_memory_seq_rm(self._memory, _SEQUENCE, length, -1) if self._may_cut(length) else False
        if cut:
            self._length = length
            return
        # A recurrent drafter, or one whose window is gone, starts again: the caller feeds it anew.
        self._forget()

    def _forget(self) -> None:
        if self.handle and not self.shared:
            self._lib.llama_memory_clear(self._memory, True)
        self._length = 0

    def size_held(self) -> int:
        """Bytes that `copy_all` would give."""
        return whole_size(self._lib, self.handle) if self.handle and self._length and not self.shared else 0

    def copy_all(self) -> Bytes | None:
        """All that the memory holds; None where that is nothing of its own. Raises MemoryError."""
        return copy_whole(self._lib, self.handle) if self.size_held() else None

    def fill(self, state: Bytes, length: int) -> bool:
        """Put back what `copy_all` gave at `length` rows. The memory is empty where that fails (False)."""
        if not self.handle or self.shared:
            return False
        self._forget()
        if length > self._context or not put_whole(self._lib, self.handle, state, length):
            self._forget()
            return False
        self._length = length
        return True

    def _may_cut(self, length: int) -> bool:
        if self._row_width:
            return True  # heads are attention blocks; llama.cpp gives their context a plain KV cache
        if self._model.recurrent:
            return False
        if not self._model.window:
            return True
        oldest = self._lib.llama_memory_seq_pos_min(self._memory, _SEQUENCE)
        return bool(oldest <= max(0, length - self._model.window))

    @property
    def hangs(self) -> bool:
        """True when this context looks at the target's, and must be closed before it."""
        return self._target is not None

    def reopen(self) -> None:
        """Make the context anew after `close`, over a target that was made anew. Raises ModelError or DrafterError."""
        self._open(*self._opened)

    def close(self) -> None:
        """Free the context."""
        if self.handle:
            self._lib.llama_free(self.handle)
            self.handle = None
            self._length = 0


def _looks_at(handle: Any, target: LlamaTarget) -> bool:
    """Does this context use the target's memory?"""
    get_ctx_other = symbols().get_ctx_other
    return get_ctx_other is not None and get_ctx_other(handle) == target.handle


def refuse_unusable_heads(model: LlamaModel, target: LlamaTarget) -> None:
    """Raise where an MTP context would abort the process or guess noise."""
    found = probe()
    if found.why_no_mtp:
        raise DrafterUnsupported(f"MTP heads cannot be used: {found.why_no_mtp}.", hint="Use --spec ngram.")
    if not model.load_mtp or model.heads < 1:
        raise MisuseRefused(f"{model.path.name} was loaded without its MTP blocks.")
    if model.heads > 1 and found.why_no_chained_heads and not model.is_assistant:
        raise DrafterUnsupported(
            f"Chained heads cannot be used: {found.why_no_chained_heads}.", hint="Use --spec ngram."
        )
    width = target.capabilities.hidden_width
    if width != model.hidden_width:
        raise DrafterMismatch(
            f"The heads in {model.path.name} expect hidden rows of {model.hidden_width}, the model gives {width}.",
            hint="Use the MTP file that was made for this very model.",
        )
