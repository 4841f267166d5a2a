"""The drafter's own context: a small model, or MTP heads fed with the target's hidden rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mtpchat.backend.llama.batch import Batch
from mtpchat.backend.llama.context import ContextSettings, LlamaTarget, context_params, create_context
from mtpchat.backend.llama.logs import LlamaLog
from mtpchat.backend.llama.model import LlamaModel
from mtpchat.backend.llama.symbols import probe, symbols
from mtpchat.backend.protocol import DraftOutput, Floats
from mtpchat.errors import ContextFull, DecodeFailed, DrafterMismatch, DrafterUnsupported, MisuseRefused

_SEQUENCE = 0


class LlamaDraft:
    """DraftContext over llama.cpp; see the protocol.

    Args:
        model: the drafter's weights (for embedded heads: those of the target).
        target: the context whose hidden rows feed the heads; None for a draft model.
    """

    def __init__(self, model: LlamaModel, settings: ContextSettings, log: LlamaLog, target: LlamaTarget | None) -> None:
        import llama_cpp.llama_cpp as lib

        self._lib = lib
        self._model = model
        self._n_vocab = model.vocab.n_vocab
        self._is_head = target is not None
        if target is not None:
            refuse_unusable_heads(model, target)
            settings = replace(settings, kind=lib.LLAMA_CONTEXT_TYPE_MTP)
        params = context_params(replace(settings, snapshots=0, max_rows=1))
        if target is not None:
            params.ctx_other = target.handle
        self.heads = max(1, model.heads) if self._is_head else 1
        self.hidden_width = model.hidden_width if self._is_head else 0
        self.batch = settings.batch
        self._head = 0
        self._length = 0
        self._batch = Batch(settings.batch, self.hidden_width)
        self.handle = create_context(model, params, log, f"the drafter {model.path.name}")
        self._memory = lib.llama_get_memory(self.handle)
        self._context = int(lib.llama_n_ctx(self.handle))
        if self._is_head:
            # Masked: one hidden row, that of the token whose logits are wanted.
            symbols().set_embeddings_nextn(self.handle, True, True)  # type: ignore[misc]

    @property
    def length(self) -> int:
        """Rows in memory."""
        return self._length

    def feed(
        self, tokens: Sequence[int], start: int, hidden: Floats | None, *, want: bool, head: int = 0
    ) -> DraftOutput | None:
        """See DraftContext.feed."""
        self._check(tokens, start, hidden, head)
        if head != self._head:
            symbols().set_nextn_layer_offset(self.handle, head)  # type: ignore[misc]
            self._head = head
        batch = self._batch.fill(tokens, start, wanted="last" if want else "none", hidden=hidden)
        code = self._lib.llama_decode(self.handle, batch)
        if code:
            self._lib.llama_memory_clear(self._memory, True)
            self._length = 0
            raise DecodeFailed(f"The drafter could not decode (code {code}).", code=code, hint="See llama.log.")
        self._length = start + len(tokens)
        return self._read(len(tokens) - 1) if want else None

    def _check(self, tokens: Sequence[int], start: int, hidden: Floats | None, head: int) -> None:
        count = len(tokens)
        if not 1 <= count <= self.batch:
            raise MisuseRefused(f"{count} rows for a drafter that takes 1 to {self.batch}.")
        if self._length and start != self._length:
            raise MisuseRefused(f"The drafter holds {self._length} rows and was fed at {start}.")
        if start + count > self._context:
            raise ContextFull("The drafter's context is full.")
        if not 0 <= head < self.heads:
            raise MisuseRefused(f"Head {head} of {self.heads}.")
        if min(tokens) < 0 or max(tokens) >= self._n_vocab:
            raise MisuseRefused(f"A token outside the drafter's vocabulary of {self._n_vocab}.")
        shape = None if hidden is None else hidden.shape
        wanted = (count, self.hidden_width) if self._is_head else None
        if shape != wanted:
            raise MisuseRefused(f"Hidden rows of shape {shape} where {wanted} are needed.")

    def _read(self, row: int) -> DraftOutput:
        pointer = self._lib.llama_get_logits_ith(self.handle, row)
        if not pointer:
            raise MisuseRefused("The drafter has no logits.")
        logits = np.ctypeslib.as_array(pointer, shape=(self._n_vocab,))
        if not self._is_head:
            return DraftOutput(logits)
        state = symbols().get_embeddings_nextn_ith(self.handle, row)  # type: ignore[misc]
        if not state:
            raise MisuseRefused("The MTP head gave no hidden row.")
        return DraftOutput(logits, np.ctypeslib.as_array(state, shape=(self.hidden_width,)))

    def rollback(self, length: int) -> None:
        """See DraftContext.rollback."""
        if length >= self._length:
            return
        cut = self._lib.llama_memory_seq_rm(self._memory, _SEQUENCE, length, -1) if self._may_cut(length) else False
        if cut:
            self._length = length
            return
        # A recurrent drafter, or one whose window is gone, starts again: the caller feeds it anew.
        self._lib.llama_memory_clear(self._memory, True)
        self._length = 0

    def _may_cut(self, length: int) -> bool:
        if self._is_head:
            return True  # heads are attention blocks; llama.cpp gives their context a plain KV cache
        if self._model.recurrent:
            return False
        if not self._model.window:
            return True
        oldest = self._lib.llama_memory_seq_pos_min(self._memory, _SEQUENCE)
        return bool(oldest <= max(0, length - self._model.window))

    def close(self) -> None:
        """Free the context."""
        if self.handle:
            self._lib.llama_free(self.handle)
            self.handle = None


def refuse_unusable_heads(model: LlamaModel, target: LlamaTarget) -> None:
    """Raise where an MTP context would abort the process or guess noise."""
    found = probe()
    if found.why_no_mtp:
        raise DrafterUnsupported(f"MTP heads cannot be used: {found.why_no_mtp}.", hint="Use --spec ngram.")
    if not model.load_mtp or model.heads < 1:
        raise MisuseRefused(f"{model.path.name} was loaded without its MTP blocks.")
    if model.heads > 1 and found.why_no_chained_heads:
        raise DrafterUnsupported(
            f"Chained heads cannot be used: {found.why_no_chained_heads}.", hint="Use --spec ngram."
        )
    width = target.capabilities.hidden_width
    if width != model.hidden_width:
        raise DrafterMismatch(
            f"The heads in {model.path.name} expect hidden rows of {model.hidden_width}, the model gives {width}.",
            hint="Use the MTP file that was made for this very model.",
        )
