"""An engine that believes its drafter, for tests of what has to notice that."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from mtpchat.backend.protocol import DecodedRows, Sampler
from mtpchat.speculate import controller
from mtpchat.speculate.verify import Verdict


def believe(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every first guess be taken as it is."""
    monkeypatch.setattr(controller, "verify", _gullible(controller.verify))


def _gullible(real: Callable[..., Verdict]) -> Callable[..., Verdict]:
    def verify(
        draft: Sequence[int], rows: DecodedRows, sampler: Sampler, halts: Callable[[int], bool], _epsilon: float
    ) -> Verdict:
        if not draft:
            return real(draft, rows, sampler, halts)
        sampler.accept(draft[0])
        halts(draft[0])
        return Verdict((draft[0],), 0, 1)

    return verify
