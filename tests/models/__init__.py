"""Tiny seeded models whose behaviour is known exactly; each is written in well under a second.

They speak a chain (see chain.py): greedy text is predictable, sampled text is not trivial, and how often a head or a
draft is right is a dial. `fixtures.py` has them as session fixtures.
"""

from __future__ import annotations

from tests.models.chain import Chain
from tests.models.chained import chained_heads
from tests.models.eagle3 import eagle3_head
from tests.models.gemma4 import gemma4, gemma4_assistant
from tests.models.hybrid import hybrid_mtp
from tests.models.plain import dense, recurrent, sliding_window
from tests.models.vocabulary import CHATML, OTHER, STANDARD, Vocabulary
from tests.models.weights import TinyModel

__all__ = [
    "CHATML",
    "OTHER",
    "STANDARD",
    "Chain",
    "TinyModel",
    "Vocabulary",
    "chained_heads",
    "dense",
    "eagle3_head",
    "gemma4",
    "gemma4_assistant",
    "hybrid_mtp",
    "recurrent",
    "sliding_window",
]
