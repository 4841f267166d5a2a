"""An EAGLE-3 head in a context of its own (Li et al., "EAGLE-3: Scaling up Inference Acceleration", 2025).

The head reads the inputs of three of the target's layers. An encoder turns the three, side by side, into one state per
token; a decoder of one block pairs each token with the state of the token before it and guesses the next one, and its
own state then stands in for the encoder's. Both live in one file and one context: `llama_encode` and `llama_decode`.

Three things are particular in llama.cpp. An encode must begin one position behind the decoder's memory, although it
leaves nothing there. The decoder computes logits for every row, of which the first ones are handed out, whichever were
asked for: so of a decode that is read, every row is asked for. And because there is an encoder, logits over the whole
vocabulary are reserved for as many rows as a decode may have, however few are read: so the context is made for few, and
longer feeds are cut into pieces.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mtpchat.backend.llama.batch import Batch, floats_at
from mtpchat.backend.llama.context import ContextSettings
from mtpchat.backend.llama.draft import LlamaDraft
from mtpchat.backend.llama.logs import LlamaLog
from mtpchat.backend.llama.model import LlamaModel
from mtpchat.backend.llama.symbols import probe, symbols
from mtpchat.backend.llama.target import LlamaTarget
from mtpchat.backend.protocol import DraftOutput, Floats
from mtpchat.errors import DecodeFailed, DrafterMismatch, DrafterUnsupported

MOST_ROWS = 64
"""Rows of one encode or decode. Each takes memory for logits over the whole vocabulary, twice if the head knows some
words only; with fewer than these the weights are read too often."""

MOST_READ = 32
"""Rows of a decode that is read: their logits are handed out, and kept once more."""

_SEQUENCE = 0


class LlamaEagle3(LlamaDraft):
    """DraftContext of an EAGLE-3 head.

    `hidden_width` is that of the target's rows (three layers side by side); `feed` also takes rows of the head's own
    width, as its outputs have them. It takes `settings.batch` rows, in several decodes where that is more than
    MOST_ROWS.

    Args:
        model: the head's weights.
        target: from now on its hidden rows are what this head reads.
    """

    def __init__(self, model: LlamaModel, settings: ContextSettings, log: LlamaLog, target: LlamaTarget) -> None:
        self.heads = 1
        self.layers = target_layers(model)
        target.expose_layers(self.layers)
        try:
            self.hidden_width = target.capabilities.hidden_width
            if self.hidden_width == model.width:
                raise DrafterMismatch(f"{model.path.name} is as wide as three layers of the model; that cannot be.")
            rows = min(MOST_ROWS, settings.batch)
            self._open(model, replace(settings, batch=rows, max_rows=rows), log, target, model.width)
        except BaseException:
            target.hide_layers()
            raise
        self.batch = settings.batch
        self._rows = rows
        self._features = Batch(rows, self.hidden_width, tokens=False)

    def reopen(self) -> None:
        """See LlamaDraft.reopen."""
        if self._target is not None:
            self._target.expose_layers(self.layers)
        batch = self.batch
        super().reopen()
        self.batch = batch

    def feed(
        self, tokens: Sequence[int], start: int, hidden: Floats | None, *, want: bool, head: int = 0
    ) -> DraftOutput | None:
        """See DraftContext.feed."""
        if hidden is not None and hidden.shape == (len(tokens), self.hidden_width):
            hidden = self._encode(hidden)
        self._check(tokens, start, hidden, head)
        silent = max(0, len(tokens) - MOST_READ) if want else len(tokens)
        for at in range(0, silent, self._rows):
            end = min(at + self._rows, silent)
            self._decode(tokens[at:end], start + at, None if hidden is None else hidden[at:end], "none")
        if not want:
            return None
        self._decode(tokens[silent:], start + silent, None if hidden is None else hidden[silent:], "all")
        return self._read(len(tokens) - silent - 1)

    def _encode(self, features: Floats) -> Floats:
        """States of the head, shape (n, model.width), from rows of the target, shape (n, hidden_width)."""
        width = self._model.width
        states = np.empty((len(features), width), np.float32)
        start = self._lib.llama_memory_seq_pos_max(self._memory, _SEQUENCE) + 1
        for at in range(0, len(features), self._rows):
            part = features[at : at + self._rows]
            code = self._lib.llama_encode(self.handle, self._features.fill_rows(part, start))
            pointer = symbols().get_embeddings_nextn(self.handle) if code == 0 else None  # type: ignore[misc]
            if not pointer:
                self._forget()
                raise DecodeFailed(f"The EAGLE-3 encoder failed (code {code}).", code=code, hint="See llama.log.")
            states[at : at + len(part)] = floats_at(pointer, len(part) * width).reshape(len(part), width)
        return states


def target_layers(model: LlamaModel) -> tuple[int, ...]:
    """Which layers of the target this head reads. Raises DrafterUnsupported where this build cannot tell."""
    found = probe()
    if found.why_no_eagle3:
        raise DrafterUnsupported(f"EAGLE-3 cannot be used: {found.why_no_eagle3}.", hint="Use --spec ngram.")
    count = int(symbols().model_target_layer_ids_n(model.handle))  # type: ignore[misc]
    if count != 3:
        raise DrafterUnsupported(
            f"{model.path.name} reads {count} layers of its model; llama.cpp runs EAGLE-3 heads that read three.",
            hint="Look for another conversion of the head.",
        )
    ids = symbols().model_target_layer_ids(model.handle)  # type: ignore[misc]
    return tuple(int(ids[index]) for index in range(count))
