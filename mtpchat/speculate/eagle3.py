"""Guessing with an EAGLE-3 head (Li et al., "EAGLE-3: Scaling up Inference Acceleration of LLMs", 2025).

The head pairs a token with what the model thought before it, just as a prediction head does; only what it reads of the
model is richer: the inputs of three layers. So the machinery is that of mtp.py. There is no row for the first token of
the context, before which nothing was thought; the head was never trained on one.
"""

from __future__ import annotations

from mtpchat.speculate.base import Drafter, Parts, Strategy
from mtpchat.speculate.mtp import MtpDrafter


def _build(parts: Parts) -> Drafter | None:
    if parts.draft is None or parts.draft_kind != "eagle3":
        return None
    return MtpDrafter(parts.draft, parts.guessing, first=1)


STRATEGY = Strategy("eagle3", "an EAGLE-3 head guesses from three of the model's layers", _build)
