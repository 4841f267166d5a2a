"""What a head remembers of places to come back to is one row for each, however long the pieces of a prompt are."""

from __future__ import annotations

import tracemalloc
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest

from mtpchat.backend.protocol import DraftOutput, Floats
from mtpchat.speculate.mtp import MtpDrafter

WIDTH = 1024


@dataclass
class WideRows:
    """A decode of many tokens whose hidden rows are wide."""

    start: int
    count: int

    def logits(self, row: int) -> Floats:
        raise AssertionError("nothing is sampled here")

    def hidden(self) -> Floats:
        return np.ones((self.count, WIDTH), np.float32)


class Blank:
    """A draft context that counts its rows and keeps none."""

    heads, hidden_width, shared, batch, length = 1, WIDTH, False, 512, 0

    def feed(
        self, tokens: Sequence[int], start: int, hidden: Floats | None, *, want: bool, head: int = 0
    ) -> DraftOutput | None:
        self.length = start + len(tokens)
        return None

    def rollback(self, length: int) -> None:
        self.length = min(self.length, length)

    def close(self) -> None:
        self.length = 0


@pytest.mark.parametrize("piece", [64, 512])
def test_marks_keep_no_other_rows_alive(piece: int) -> None:
    head = MtpDrafter(Blank())
    context = [1] * (64 * piece)
    tracemalloc.start()
    try:
        for start in range(0, len(context), piece):
            head.observe(start, context[start : start + piece], WideRows(start, piece))
            head.warm(context, start + piece, piece)
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    rows = len(head.memo().places)  # type: ignore[union-attr]
    assert rows == 65, "64 places and the newest row"
    assert held < (rows + piece) * WIDTH * 4 + (1 << 20), "one row for each place, and the last piece"
