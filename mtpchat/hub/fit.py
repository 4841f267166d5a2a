"""Whether a model of some size has a chance in the memory that is free; the real plan needs the file's header."""

from __future__ import annotations

_SHARE = 1.08
_FIXED = 400 << 20
"""A context of a few thousand tokens and the buffers for computing, of a model of middling size."""


def fits(size: int, available: int | None) -> bool | None:
    """Whether so many bytes of weights, with a small context, go into so many bytes; None when that is not known."""
    return None if available is None else size * _SHARE + _FIXED <= available
