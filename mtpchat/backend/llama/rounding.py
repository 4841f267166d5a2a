"""How far the width of a decode alone moves the likely words against each other.

Kernels add up in another order for several tokens at once than for one, so the same token after the same text has
slightly different logits; where activations are quantised, slightly is not little. At a near tie the other token is
then taken. Strict mode decides such rows alone; what counts as near is measured here.

The difference may hang on how much is in memory (on CPUs flash attention splits the keys of a single token's decode
from 512 cells on), so a text of some length is read first.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import astuple, replace
from pathlib import Path

import numpy as np

from mtpchat.backend.llama.context import ContextSettings
from mtpchat.backend.llama.kept import keep, key_of, recall
from mtpchat.backend.llama.logs import LlamaLog
from mtpchat.backend.llama.model import LlamaModel
from mtpchat.backend.llama.target import LlamaTarget
from mtpchat.backend.protocol import Floats

_KEPT = "near-ties.json"
_PAST, _TOKENS = 260, 24
"""Tokens read before, and tokens whose logits are compared. Memory is counted in blocks of 256 cells."""
_LIKELY = 40
_LONGEST_PAST_S, _LONGEST_S = 15.0, 3.0
"""Longest to spend on the past, and then on the comparison."""
_UNSEEN = 0.5
"""What is assumed, in logits, where there was no time for all of the past: about what quantised weights show."""
_CONTEXT, _BATCH = 512, 64


def displacement(
    files: Sequence[Path], gpu_layers: int, model: LlamaModel, settings: ContextSettings, log: LlamaLog
) -> float:
    """What `measure_displacement` finds, once for these files and settings; kept for the next start."""
    key = key_of(files, gpu_layers, str(astuple(settings)))
    known = recall(_KEPT, float)
    if key in known:
        return known[key]
    found, complete = measure_displacement(model, settings, log)
    if not complete:
        log.note("mtpchat: this model is too slow to measure near ties behind a longer text; more is assumed.")
        return max(found, _UNSEEN)
    keep(_KEPT, {**known, key: found}, log)
    return found


def measure_displacement(
    model: LlamaModel, settings: ContextSettings, log: LlamaLog, clock: Callable[[], float] = time.perf_counter
) -> tuple[float, bool]:
    """How far any two of the 40 likeliest words move against each other between decoding fixed tokens one by one and
    several at a time, in logits. What moves all alike changes nothing.

    The widest decodes come first; further widths are left out once some seconds have passed.

    Returns:
        The distance, and whether it was measured behind a text of some length.

    Raises:
        ModelError, EngineError: no context, or a decode that failed.
    """
    small = replace(settings, context=_CONTEXT, batch=_BATCH, copies="off", whole_steps=False)
    most = min(settings.max_rows, _BATCH)
    tokens = [1 + (7 + 31 * place * place) % (model.vocab.n_vocab - 1) for place in range(_PAST + _TOKENS)]
    target = LlamaTarget(model, small, log)
    try:
        past = _read(target, tokens, clock)
        state = target.checkpoint()
        compared = tokens[past : past + _TOKENS]
        alone = _logits(target, compared, 1)
        likely = np.argsort(-alone, axis=1)[:, :_LIKELY]
        largest, began = 0.0, clock()
        for width in sorted({2, 3, 4, 5, 8, most} & set(range(2, most + 1)), reverse=True):
            _return(target, past, state)
            moved = np.take_along_axis(_logits(target, compared, width) - alone, likely, axis=1)
            largest = max(largest, float(np.ptp(moved, axis=1).max()))
            if clock() - began > _LONGEST_S:
                break
        log.note(f"mtpchat: rounding moves likely words by up to {largest:.2g} logits against each other.")
        return largest, past == _PAST
    finally:
        target.close()


def _read(target: LlamaTarget, tokens: Sequence[int], clock: Callable[[], float]) -> int:
    """Read the past, as much of it as there is time for; returns its length."""
    began = clock()
    while target.length < _PAST and (not target.length or clock() - began < _LONGEST_PAST_S):
        target.decode(tokens[target.length : min(target.length + _BATCH, _PAST)], rows="none")
    return target.length


def _return(target: LlamaTarget, length: int, state: bytes | None) -> None:
    """Back to the end of the past."""
    if state is None:
        target.rollback(length)
    else:
        target.restore(state, length)


def _logits(target: LlamaTarget, tokens: Sequence[int], width: int) -> Floats:
    """Logits after each token, shape (n, n_vocab), decoded `width` at a time."""
    found = []
    for start in range(0, len(tokens), width):
        rows = target.decode(tokens[start : start + width], rows="all")
        found += [rows.logits(row).copy() for row in range(rows.count)]
    return np.stack(found)
