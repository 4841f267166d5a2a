"""A way to make a model fit into memory, as data: offered by the loader, chosen by the user, carried out by settings.

A leaf, because errors and events carry it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

FitKey = Literal["speed", "context", "cache", "offload", "plain"]


@dataclass(frozen=True, slots=True)
class FitChoice:
    """One way.

    Attributes:
        key: "speed" keeps the drafter, "context" the context, "cache" takes a smaller cache, "offload" fewer layers on
            the GPU, "plain" is the least that runs at all.
        label: what one gets, in a few words: "MTP heads, context 32,768".
        detail: what it needs, and what is free.
        needs: what it needs, in one number: "15.1 GB".
        settings: (dotted key, value) to replace in the settings of this run.
    """

    key: FitKey
    label: str
    detail: str
    settings: tuple[tuple[str, object], ...]
    needs: str = ""
