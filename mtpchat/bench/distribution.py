"""Does the sampler draw what the settings promise? Its draws against the exact distribution, by a chi-square test.

The exact distribution is computed here, from the model's logits and the definition of each setting, not with the code
that samples: two implementations that agree are worth more than one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mtpchat.backend.protocol import Floats, Sampler
from mtpchat.bench.figures import chi_square_tail
from mtpchat.config import SamplingConfig

SIGNIFICANCE = 1e-4
"""A correct sampler fails one test in ten thousand."""

_FEWEST_EXPECTED = 5.0
"""Cells with less are put together: the test's approximation is poor below (Cochran, 1954)."""


@dataclass(frozen=True, slots=True)
class Fit:
    """How well draws fit.

    Attributes:
        p_value: probability of a fit as bad as this or worse if the sampler is right.
        outside: tokens drawn that the settings exclude.
    """

    draws: int
    candidates: int
    statistic: float
    freedom: int
    p_value: float
    outside: tuple[int, ...] = ()

    @property
    def good(self) -> bool:
        return not self.outside and self.p_value >= SIGNIFICANCE


def exact_distribution(logits: Floats, sampling: SamplingConfig, context: Sequence[int] = ()) -> NDArray[np.float64]:
    """Probability of every token under the settings, in llama.cpp's order: penalties, top-k, top-p, min-p, temperature.

    Args:
        logits: shape (n_vocab,).
        context: tokens so far, for the penalties.

    Returns:
        Shape (n_vocab,), sums to 1.
    """
    scores = _penalised(logits.astype(np.float64), sampling, context)
    if sampling.temperature <= 0:
        chosen = np.zeros(len(scores))
        chosen[int(np.argmax(scores))] = 1.0
        return chosen
    ranked = np.argsort(-scores, kind="stable")
    if 0 < sampling.top_k < len(ranked):
        ranked = ranked[: sampling.top_k]
    if sampling.top_p < 1:
        reached = np.cumsum(_softmax(scores[ranked]))
        ranked = ranked[: int(np.searchsorted(reached, sampling.top_p)) + 1]
    if sampling.min_p > 0:
        ranked = ranked[scores[ranked] >= scores[ranked[0]] + np.log(sampling.min_p)]
    exact = np.zeros(len(scores))
    exact[ranked] = _softmax(scores[ranked] / sampling.temperature)
    return exact


def _penalised(scores: NDArray[np.float64], sampling: SamplingConfig, context: Sequence[int]) -> NDArray[np.float64]:
    last = sampling.penalty_last_n
    seen = Counter(context if last < 0 else context[-last:] if last else ())
    for token, times in seen.items():
        value = scores[token]
        value = value * sampling.repeat_penalty if value <= 0 else value / sampling.repeat_penalty
        scores[token] = value - times * sampling.frequency_penalty - sampling.presence_penalty
    return scores


def _softmax(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    weights = np.exp(scores - scores.max())
    normal: NDArray[np.float64] = weights / weights.sum()
    return normal


def draw(sampler: Sampler, logits: Floats, count: int) -> Counter[int]:
    """`count` independent draws from one row: the sampler's noise differs with the position."""
    return Counter(sampler.sample(logits, position) for position in range(count))


def chi_square(drawn: Counter[int], exact: NDArray[np.float64]) -> Fit:
    """Pearson's test of draws against probabilities; rare tokens share a cell."""
    count = drawn.total()
    expected = exact * count
    outside = tuple(sorted(token for token in drawn if exact[token] <= 0))
    alone = np.flatnonzero(expected >= _FEWEST_EXPECTED)
    cells = [(drawn[int(token)], float(expected[token])) for token in alone]
    rest = count - sum(seen for seen, _ in cells), count - sum(due for _, due in cells)
    if rest[1] >= _FEWEST_EXPECTED or not cells:
        cells.append(rest)
    elif rest[1] > 1e-9 or rest[0]:
        cells[-1] = (cells[-1][0] + rest[0], cells[-1][1] + rest[1])
    statistic = sum((seen - due) ** 2 / due for seen, due in cells)
    freedom = len(cells) - 1
    return Fit(
        draws=count,
        candidates=int(np.count_nonzero(exact)),
        statistic=statistic,
        freedom=freedom,
        p_value=chi_square_tail(statistic, freedom),
        outside=outside,
    )
