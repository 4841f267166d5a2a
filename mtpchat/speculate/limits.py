"""How deep a draft may go at all, and which of several bounds is the reason."""

from __future__ import annotations

from mtpchat.backend.protocol import Capabilities


def deepest(can: Capabilities, heads: int | None) -> tuple[int, str]:
    """Most guesses that one step can verify, and why not more, for people.

    Args:
        can: of the target.
        heads: most guesses that the drafter can make; None without a limit, 0 for one that makes none.
    """
    if can.why_no_draft:
        return 0, can.why_no_draft
    if heads == 0:
        return 0, ""
    rows = min(can.max_rows, can.batch) - 1
    limits = [(rows, f"this context was made for drafts of up to {rows}")]
    if heads:
        limits.insert(0, (heads, f"there are {heads} heads, one per guess"))
    if can.rollback is not None:
        limits.insert(0, (can.rollback, f"this model keeps {can.rollback} snapshots to roll back to"))
    return min(limits, key=lambda limit: limit[0])
