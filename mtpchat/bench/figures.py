"""Robust figures of noisy timings, and the tail of the chi-square distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median


def middle(values: Sequence[float]) -> float | None:
    """The median, or None of nothing."""
    return float(median(values)) if values else None


def spread(values: Sequence[float]) -> float | None:
    """Median absolute deviation from the median; None of fewer than two values."""
    if len(values) < 2:
        return None
    centre = median(values)
    return float(median([abs(value - centre) for value in values]))


def geometric_mean(values: Sequence[float]) -> float | None:
    """Of positive values; None of nothing. The mean for ratios: that of r and 1/r is 1."""
    return math.exp(sum(math.log(value) for value in values) / len(values)) if values else None


def chi_square_tail(statistic: float, freedom: int) -> float:
    """Probability that a chi-square variable exceeds `statistic`.

    Args:
        statistic: >= 0.
        freedom: degrees of freedom; with 0 of them nothing varies, and the probability is 1.

    Regularised upper incomplete gamma function Q(freedom / 2, statistic / 2): series below, continued fraction above
    (Abramowitz and Stegun 6.5.29 and 6.5.31, the latter by Lentz's method).
    """
    if freedom <= 0 or statistic < 1e-300:
        return 1.0
    shape, x = freedom / 2, statistic / 2
    scale = math.exp(shape * math.log(x) - x - math.lgamma(shape))
    if x < shape + 1:
        return max(0.0, 1 - scale * _series(shape, x))
    return min(1.0, scale * _fraction(shape, x))


def _series(shape: float, x: float) -> float:
    term = total = 1 / shape
    for step in range(1, 10_000):
        term *= x / (shape + step)
        total += term
        if term < total * 1e-15:
            break
    return total


def _fraction(shape: float, x: float) -> float:
    tiny = 1e-300
    b = x + 1 - shape
    c, d = 1 / tiny, 1 / b
    value = d
    for step in range(1, 10_000):
        a = -step * (step - shape)
        b += 2
        d = 1 / _not_zero(a * d + b, tiny)
        c = _not_zero(b + a / c, tiny)
        factor = d * c
        value *= factor
        if abs(factor - 1) < 1e-15:
            break
    return value


def _not_zero(value: float, tiny: float) -> float:
    return value if abs(value) > tiny else tiny
