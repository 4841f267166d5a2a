"""Who is measured when: no contender always goes first, and drift of the machine hits all alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

Item = TypeVar("Item")


def order(items: Sequence[Item], prompt: int, round_: int) -> tuple[Item, ...]:
    """The order for one prompt in one round: two of them go A B, then B A; more are rotated and turned round.

    Over the rounds 2k and 2k + 1 each item stands as far from the front as from the back, so that a linear drift
    cancels; over prompts each item opens equally often.
    """
    if not items:
        return ()
    shift = (prompt + round_ // 2) % len(items)
    rotated = (*items[shift:], *items[:shift])
    return rotated[::-1] if round_ % 2 else rotated
