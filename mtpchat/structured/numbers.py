"""Numbers of a JSON schema, with their bounds, as grammar.

A grammar sees digits, not values. Bounds become ranges of digits for the whole part; where a fraction may follow it
stays inside the bounds whatever it is. What a bound between two whole numbers leaves beside them is given up.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from mtpchat.structured.gbnf import digits_between

BOUNDS = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"})
_WHOLE = '("0" | [1-9] [0-9]{0,14})'
_FRACTION = '("." [0-9]{1,15})?'
_EXPONENT = "([eE] [-+]? [0-9]{1,2})?"
_LARGEST = 10**15


def integer(schema: Mapping[str, Any]) -> str | None:
    """Whole numbers within the bounds; None where there is none."""
    if not BOUNDS & schema.keys():
        return f'"-"? {_WHOLE}'
    low, high = _bounds(schema)
    return _joined(_above_zero(low, high), _below_zero(low, high))


def number(schema: Mapping[str, Any]) -> str | None:
    """Numbers within the bounds; None where none can be said."""
    if not BOUNDS & schema.keys():
        return f'"-"? {_WHOLE} {_FRACTION} {_EXPONENT}'
    low, high = _bounds(schema)
    above, below = _with_fraction(low, high), _with_fraction(max(0, -high), -low, at_zero=high >= 0)
    return _joined(above, [f'"-" {one}' for one in below])


def _joined(above: list[str], below: list[str]) -> str | None:
    found = above + below
    return f"({' | '.join(found)})" if found else None


def _above_zero(low: int, high: int) -> list[str]:
    return digits_between(max(0, low), high) if high >= max(0, low) else []


def _below_zero(low: int, high: int) -> list[str]:
    least, most = max(1, -high), -low
    return [f'"-" {one}' for one in digits_between(least, most)] if most >= least else []


def _with_fraction(low: int, high: int, *, at_zero: bool = False) -> list[str]:
    """Magnitudes from `low` to `high`: a fraction may follow every whole part but the last.

    Args:
        at_zero: these are magnitudes behind a minus, and 0 is within; there is no "-0" then.
    """
    low = max(0, low)
    if high < low:
        return []
    found = [f"{one} {_FRACTION}" for one in digits_between(low, high - 1)] if high > low else []
    if at_zero and high == 0:
        return found
    return found + digits_between(high, high)


def _bounds(schema: Mapping[str, Any]) -> tuple[int, int]:
    """The whole numbers that are the outermost within the bounds; far away where there is none."""
    lows = [math.ceil(schema["minimum"])] if "minimum" in schema else []
    highs = [math.floor(schema["maximum"])] if "maximum" in schema else []
    if "exclusiveMinimum" in schema:
        lows.append(math.floor(schema["exclusiveMinimum"]) + 1)
    if "exclusiveMaximum" in schema:
        highs.append(math.ceil(schema["exclusiveMaximum"]) - 1)
    low = max(lows, default=min(-_LARGEST, *(high - _LARGEST for high in highs)) if highs else -_LARGEST)
    high = min(highs, default=max(_LARGEST, low + _LARGEST))
    return low, high
