"""What speculation costs while it is off: snapshots of recurrent states and rows for heads are paid in every decode.

How much is measured once per model and machine, on two small contexts that differ in nothing else, and kept. The share
that a decode could be faster is of the order of a percent, so decodes are timed in alternating pairs, and a difference
that does not stand clear of the noise counts as none.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from mtpchat.backend.llama.context import ContextSettings
from mtpchat.backend.llama.draft import LlamaDraft
from mtpchat.backend.llama.kept import keep, key_of, recall
from mtpchat.backend.llama.logs import LlamaLog
from mtpchat.backend.llama.model import LlamaModel
from mtpchat.backend.llama.target import LlamaTarget
from mtpchat.errors import MtpChatError

_SHARES = "off-costs.json"
_LONGEST_S = 1.0
_SLOWEST_S = 0.25
"""A decode that takes longer cannot be measured to a percent within a second."""
_MOST_PAIRS, _FEWEST_PAIRS = 500, 3
_SMALL_CONTEXT, _SMALL_BATCH = 256, 64


@dataclass(slots=True)
class LlamaBallast:
    """The Ballast of the protocol.

    Attributes:
        files: whose decodes are measured.
        layers: inputs of layers that the drafter reads.
        settings: how the target's context is made when it carries everything.
    """

    model: LlamaModel
    target: LlamaTarget
    draft: LlamaDraft | None
    files: Sequence[Path]
    gpu_layers: int
    log: LlamaLog
    settings: ContextSettings
    snapshots: int
    layers: tuple[int, ...]
    clock: Callable[[], float] = time.perf_counter
    shed: bool = False
    asked: bool = False
    known: float | None = None

    @property
    def words(self) -> str:
        """See Ballast.words."""
        rows = bool(self.layers) or self.settings.hidden_rows
        snapshots = f"{self.snapshots} snapshot{'s' if self.snapshots > 1 else ''}" if self.snapshots else ""
        return " and ".join(filter(None, [snapshots, "rows for the drafter" if rows else ""]))

    def share(self) -> float | None:
        """See Ballast.share."""
        if not self.asked:
            self.asked, self.known = True, self._recall_or_measure()
        return self.known

    def _recall_or_measure(self) -> float | None:
        key = key_of(self.files, self.settings.threads, self.gpu_layers, self.snapshots, self.words)
        known = recall(_SHARES, float)
        if key not in known:
            share = self._measure()
            if share is None:
                return None
            known[key] = share
            keep(_SHARES, known, self.log)
        return known[key]

    def _measure(self) -> float | None:
        contexts: list[LlamaTarget] = []
        try:
            for settings in (self.settings, without(self.settings)):
                small = replace(settings, context=_SMALL_CONTEXT, batch=_SMALL_BATCH, copies="off", whole_steps=False)
                contexts.append(LlamaTarget(self.model, small, self.log))
            if self.layers:
                contexts[0].expose_layers(self.layers)
            share = cost_share(lambda: _decode(contexts[0]), lambda: _decode(contexts[1]), self.clock)
        except MtpChatError as error:
            self.log.note(f"mtpchat: what {self.words} cost cannot be measured: {error.message}")
            return None
        finally:
            for context in contexts:
                context.close()
        if share is None:
            self.log.note(f"mtpchat: this model is too slow to measure within a second what {self.words} cost.")
        else:
            self.log.note(f"mtpchat: {self.words} cost {share:.2%} of a plain decode.")
        return share

    def rebuild(self, *, shed: bool) -> None:
        """See Ballast.rebuild."""
        hanging = self.draft if self.draft is not None and self.draft.hangs else None
        if hanging is not None:
            hanging.close()
        self.target.reopen(without(self.settings) if shed else self.settings)
        self.shed = shed
        if hanging is not None and not shed:
            hanging.reopen()


def without(settings: ContextSettings) -> ContextSettings:
    """The same context for plain decoding alone."""
    return replace(settings, snapshots=0, hidden_rows=False, copies="off", whole_steps=False)


def _decode(target: LlamaTarget) -> None:
    """A plain decode, and what is read of it."""
    if target.length >= target.capabilities.context - 1:
        target.clear()
    rows = target.decode([1 + target.length % 7])
    if target.capabilities.hidden_width:
        rows.hidden()


def cost_share(loaded: Callable[[], None], bare: Callable[[], None], clock: Callable[[], float]) -> float | None:
    """How much longer `loaded` takes than `bare`, as a part of the latter; 0 where noise covers it.

    Returns:
        None where one run takes so long that no percent could be told within a second.
    """

    def seconds(run: Callable[[], None]) -> float:
        began = clock()
        run()
        return clock() - began

    for run in (loaded, bare):
        run()  # the first reserves memory
    if max(seconds(loaded), seconds(bare)) > _SLOWEST_S:
        return None
    began = clock()
    ratios: list[float] = []
    while len(ratios) < _FEWEST_PAIRS or (clock() - began < _LONGEST_S and len(ratios) < _MOST_PAIRS):
        if len(ratios) % 2:
            second = seconds(bare)
            ratios.append(seconds(loaded) / max(second, 1e-9))
        else:
            first = seconds(loaded)
            ratios.append(first / max(seconds(bare), 1e-9))
    centre = median(ratios)
    # Standard error of a median, from the median deviation (Rousseeuw and Croux, 1993).
    error = 1.2533 * 1.4826 * median(abs(ratio - centre) for ratio in ratios) / len(ratios) ** 0.5
    return centre - 1 if centre - 1 > 2 * error else 0.0
