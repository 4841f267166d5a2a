"""How far the width of a decode alone moves a logit.

Kernels add up in another order for several tokens at once than for one, so the same token after the same text has
slightly different logits. At a near tie the other token is then taken. Strict mode decides such rows alone; what counts
as near is measured here.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from mtpchat.backend.llama.context import ContextSettings
from mtpchat.backend.llama.logs import LlamaLog
from mtpchat.backend.llama.model import LlamaModel
from mtpchat.backend.llama.target import LlamaTarget
from mtpchat.backend.protocol import Floats

_TOKENS = 24
_LONGEST_S = 3.0
_SMALL_CONTEXT, _SMALL_BATCH = 256, 64


def largest_difference(
    model: LlamaModel, settings: ContextSettings, log: LlamaLog, clock: Callable[[], float] = time.perf_counter
) -> float:
    """Largest difference of any logit between decoding fixed tokens one by one and several at a time.

    The widest decodes come first; further widths are left out once some seconds have passed.

    Raises:
        ModelError, EngineError: no context, or a decode that failed.
    """
    most = min(settings.max_rows, _SMALL_BATCH)
    small = replace(settings, context=_SMALL_CONTEXT, batch=_SMALL_BATCH, copies="off", whole_steps=False)
    target = LlamaTarget(model, small, log)
    tokens = [1 + (7 + 31 * place * place) % (model.vocab.n_vocab - 1) for place in range(_TOKENS)]
    try:
        alone = _logits(target, tokens, 1)
        largest, began = 0.0, clock()
        for width in sorted({2, 3, 4, 5, 8, most} & set(range(2, most + 1)), reverse=True):
            with np.errstate(invalid="ignore"):  # a word that is never said has a logit of minus infinity
                apart = np.abs(_logits(target, tokens, width) - alone)
            largest = max(largest, float(np.nanmax(apart)))
            if clock() - began > _LONGEST_S:
                break
        return largest
    finally:
        target.close()


def _logits(target: LlamaTarget, tokens: list[int], width: int) -> Floats:
    """Logits after each token, shape (n, n_vocab), decoded `width` at a time."""
    target.clear()
    found = []
    for start in range(0, len(tokens), width):
        rows = target.decode(tokens[start : start + width], rows="all")
        found += [rows.logits(row).copy() for row in range(rows.count)]
    return np.stack(found)
