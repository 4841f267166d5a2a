"""Keyed Gumbel noise: the only randomness there is, a pure function of seed, position and token.

    argmax_i ( logit_i / T + g(seed, position, i) ),    g = -log(-log u),    u = hash(seed, position, i) in (0, 1)

is an exact draw from the softmax of the logits at temperature T (Gumbel-max; Maddison et al., "A* Sampling", 2014).
There is no generator state to save when a draft is rolled back, and what is drawn at a position does not depend on how
the tokens before it were batched. A drafter that draws with the same noise from its own distribution meets the target
more often than one that draws independently (Daliri et al., "Coupling without Communication and Drafter-Invariant
Speculative Decoding", 2024).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_MASK = (1 << 64) - 1
_GOLDEN, _FIRST, _SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
_GOLDEN_64, _FIRST_64, _SECOND_64 = np.uint64(_GOLDEN), np.uint64(_FIRST), np.uint64(_SECOND)
_11, _27, _30, _31 = np.uint64(11), np.uint64(27), np.uint64(30), np.uint64(31)


def _mix_one(x: int) -> int:
    """The finaliser of SplitMix64 (Steele, Lea and Flood, 2014)."""
    x = ((x ^ (x >> 30)) * _FIRST) & _MASK
    x = ((x ^ (x >> 27)) * _SECOND) & _MASK
    return x ^ (x >> 31)


def _mix(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The same for many, in place; arithmetic of arrays is modulo 2**64 by itself."""
    x ^= x >> _30
    x *= _FIRST_64
    x ^= x >> _27
    x *= _SECOND_64
    x ^= x >> _31
    return x


def gumbel_noise(seed: int, position: int, tokens: NDArray[np.integer[Any]]) -> NDArray[np.float64]:
    """Standard Gumbel noise for each token, a pure function of its arguments.

    Args:
        seed: any integer; its low 64 bits count.
        position: absolute position of the token to be drawn.
        tokens: ids, shape (n,).
    """
    key = _mix_one((_mix_one((seed + _GOLDEN) & _MASK) + position * _GOLDEN) & _MASK)
    bits = tokens.astype(np.uint64)
    bits *= _GOLDEN_64
    bits += np.uint64(key)
    _mix(_mix(bits))
    bits >>= _11
    # 53 bits, centred in their cell: u is never 0 and never 1.
    noise = bits.astype(np.float64)
    noise += 0.5
    noise *= 2.0**-53
    np.log(noise, out=noise)
    np.negative(noise, out=noise)
    np.log(noise, out=noise)
    return np.negative(noise, out=noise)
