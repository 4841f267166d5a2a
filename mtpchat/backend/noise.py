"""Keyed Gumbel noise: the only randomness there is, a pure function of seed, position and token.

    argmax_i ( logit_i / T + g(seed, position, i) ),    g = -log(-log u),    u = hash(seed, position, i) in (0, 1)

is an exact draw from the softmax of the logits at temperature T (Gumbel-max; Maddison et al., "A* Sampling", 2014).
There is no generator state to save when a draft is rolled back, and what is drawn at a position does not depend on how
the tokens before it were batched. A drafter that draws with the same noise from its own distribution meets the target
more often than one that draws independently (Daliri et al., "Coupling without Communication and Drafter-Invariant
Speculative Decoding", 2024).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def _mix(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of SplitMix64 (Steele, Lea and Flood, 2014)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def gumbel_noise(seed: int, position: int, tokens: NDArray[np.int32]) -> NDArray[np.float64]:
    """Standard Gumbel noise for each token, a pure function of its arguments.

    Args:
        seed: any integer; its low 64 bits count.
        position: absolute position of the token to be drawn.
        tokens: ids, shape (n,).
    """
    with np.errstate(over="ignore"):  # arithmetic modulo 2**64 is what the hash is made of
        key = _mix(np.array([seed & 0xFFFFFFFFFFFFFFFF], np.uint64) + _GOLDEN)
        key = _mix(key + np.uint64(position) * _GOLDEN)
        bits = _mix(_mix(key + tokens.astype(np.uint64) * _GOLDEN))
    # 53 bits, centred in their cell: u is never 0 and never 1.
    uniform = ((bits >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
    return -np.log(-np.log(uniform))
