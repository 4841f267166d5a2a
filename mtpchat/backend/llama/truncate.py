"""Which tokens truncation leaves, without sorting a vocabulary of a quarter of a million words.

llama.cpp's own chain sorts and sums the whole row; here a threshold that is known to lie low enough leaves a handful of
candidates first. All tokens with the same logit are kept or dropped together by such a threshold.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from mtpchat.backend.protocol import Floats

Ids = NDArray[np.int64]

_COLUMNS = 1024
_FEW = 256


def most_likely(row: Floats, count: int) -> Ids:
    """Ids, ascending, of the `count` largest logits, all that equal the smallest of them, and a few more.

    The largest of each of 1024 groups: `count` of these are no smaller than their own `count`-th largest, so the
    `count`-th largest of the row is not smaller either.
    """
    rest = len(row) // _COLUMNS
    if rest < 2 or count > _COLUMNS // 2:
        level = np.partition(row, len(row) - count)[len(row) - count] if count < len(row) else -np.inf
        return np.flatnonzero(row >= level)
    tops = row[: rest * _COLUMNS].reshape(rest, _COLUMNS).max(axis=0)
    return np.flatnonzero(row >= np.partition(tops, _COLUMNS - count)[_COLUMNS - count])


def nucleus(row: Floats, share: float) -> Ids:
    """Ids of the fewest tokens that hold `share` of the probability of the whole row; of equals the first ids.

    Sums are taken in double precision. A pool of tokens around the edge is split at its mean, again and again, as
    quickselect does, until what is left is worth sorting.
    """
    weights = np.exp(row - row.max())
    wanted = share * float(weights.sum(dtype=np.float64))
    pool, ids, inside, mass = weights, None, [], 0.0
    while len(pool) > _FEW:
        high = pool >= pool.mean(dtype=np.float64)
        upper = pool[high]
        if len(upper) in (0, len(pool)):
            break
        more = float(upper.sum(dtype=np.float64))
        into = mass + more >= wanted
        chosen = np.flatnonzero(high)
        chosen = chosen if ids is None else ids[chosen]
        if into:
            pool, ids = upper, chosen
            continue
        inside.append(chosen)
        mass += more
        rest = np.flatnonzero(~high)
        pool, ids = pool[rest], rest if ids is None else ids[rest]
    order = np.argsort(-pool, kind="stable")
    reached = mass + np.cumsum(pool[order], dtype=np.float64)
    edge = order[: int(np.searchsorted(reached, wanted)) + 1]
    return np.concatenate([*inside, edge if ids is None else ids[edge]])


def above(row: Floats, share: float) -> Ids:
    """Ids, ascending, of tokens with at least `share` of the probability of the most likely one."""
    return np.flatnonzero(row >= np.float32(row.max()) + np.float32(math.log(np.float32(share))))


def truncated(row: Floats, top_k: int, top_p: float, min_p: float, slack: float) -> Ids:
    """Ids that top-k, top-p and min-p leave together when each bound is moved.

    Args:
        slack: in logits. Above 0 everything is left that could be left if each logit were off by up to a quarter of
            it, below 0 only what would be left in any case.
    """
    ids: Ids = np.arange(len(row))
    if 0 < top_k < len(row):
        ranked = np.sort(row[most_likely(row, top_k + 1)])
        level = ranked[-top_k] if slack >= 0 else ranked[-top_k - 1]
        ids = np.flatnonzero(row >= level - slack)
    if top_p < 1 and len(ids):
        ids = ids[_nucleus(row[ids], top_p, slack)]
    if min_p > 0 and len(ids):
        ids = ids[row[ids] >= row.max() + math.log(min_p) - slack]
    return ids


def _nucleus(row: Floats, share: float, slack: float) -> Ids:
    """Top-p with its bound moved.

    Errors of up to slack / 4 in each logit move the share of any set of tokens by at most slack / 8 (the log-odds of
    the set by twice the error, and s * (1 - s) <= 1/4), and reorder only tokens that lie closer than slack / 2.
    """
    share += slack / 4
    if share >= 1:
        return np.arange(len(row))
    inside = nucleus(row, share) if share > 0 else np.empty(0, np.int64)
    if slack >= 0:
        return np.flatnonzero(row >= row[inside].min() - slack)
    outside = np.ones(len(row), bool)
    outside[inside] = False
    return inside[row[inside] > row[outside].max() - slack] if outside.any() else inside
