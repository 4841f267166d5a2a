"""Numbers of a JSON schema, with their bounds, as languages.

An automaton sees digits, not values. Bounds become ranges of digits for the whole part; where a fraction may follow it
stays inside the bounds whatever it is. What a bound between two whole numbers leaves beside them is given up.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction

from mtpchat.errors import GrammarError
from mtpchat.structured.gbnf import repeated
from mtpchat.structured.multiples import Multiple, scaled
from mtpchat.structured.patterns import whole
from mtpchat.structured.regular import Tree, both, choice, other, row, word

BOUNDS = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"})
Bounds = Mapping[str, float]
_DIGITS = 15
_FRACTION = r"(\.[0-9]{1,15})?"
_EXPONENT = "([eE][-+]?[0-9]{1,2})?"
_MOST_LISTED = 256
_LARGEST_MODULUS = 150
_MOST_REMAINDERS = 1100
"""Digits times modulus: what is left of longer numbers is given up."""


def numbers(
    kind: str, bounds: Bounds, multiples: Sequence[Decimal] = (), barred: Sequence[Decimal] = ()
) -> Tree | None:
    """Numbers within bounds, multiples of all of some numbers, and none of those that are barred.

    Args:
        kind: "integer" or "number".

    Returns:
        None where there is none that can be said.

    Raises:
        GrammarError: the multiples take too many states.
    """
    forms: list[Tree] = []
    digits = _DIGITS
    if multiples:
        modulus, places = common_multiple(multiples)
        listed = _listed(kind, bounds, modulus, places, barred)
        if listed is not None:
            return choice(map(word, listed)) if listed else None
        if modulus > _LARGEST_MODULUS:
            raise GrammarError(
                "It is a number whose multiples a grammar cannot tell from others.",
                hint=f"Up to {_LARGEST_MODULUS}, or so, or with bounds that leave at most {_MOST_LISTED} of them.",
            )
        forms, digits = [_multiple(modulus, places)], min(_DIGITS, _MOST_REMAINDERS // modulus)
    forms += [other(_spellings(one)) for one in barred]
    body = _within(kind, *whole_bounds(bounds, digits)) if bounds else _unbounded(kind, digits, exponent=not forms)
    return both((whole(body), *forms)) if body else None


def common_multiple(numbers: Sequence[Decimal]) -> tuple[int, int]:
    """The least number that all of these divide, as (modulus, places): modulus * 10 ** -places."""
    forms = [scaled(one) for one in numbers]
    places = max([0, *(fine for _modulus, fine in forms)])
    found = math.lcm(*(modulus * 10 ** (places - fine) for modulus, fine in forms))
    while found % 10 == 0:
        found, places = found // 10, places - 1
    return found, places


def _unbounded(kind: str, digits: int, *, exponent: bool) -> str:
    body = f"-?(0|[1-9]{repeated('[0-9]', 0, digits - 1)})"
    return body if kind == "integer" else body + _FRACTION + (_EXPONENT if exponent else "")


def _within(kind: str, low: int, high: int) -> str:
    """Whole numbers, or numbers, from `low` to `high`; "" where there are none."""
    if kind == "integer":
        found = _between(max(0, low), high) + [f"-{one}" for one in _between(max(1, -high), -low)]
    else:
        below = _with_fraction(max(0, -high), -low, at_zero=high >= 0)
        found = _with_fraction(max(0, low), high) + [f"-{one}" for one in below]
    return "|".join(found)


def _with_fraction(low: int, high: int, *, at_zero: bool = False) -> list[str]:
    """Magnitudes from `low` to `high`: a fraction may follow every whole part but the last.

    Args:
        at_zero: these are magnitudes behind a minus, and 0 is within; there is no "-0" then.
    """
    if high < low:
        return []
    found = [f"{one}{_FRACTION}" for one in _between(low, high - 1)]
    if at_zero and high == 0:
        return found
    return found + _between(high, high)


def _between(low: int, high: int) -> list[str]:
    """Patterns that together are exactly the whole numbers from `low` to `high`, both >= 0, without leading zeros."""
    if high < low:
        return []
    found: list[str] = []
    all_of: list[int] = []  # sizes of which all numbers are meant
    for size in range(len(str(low)), len(str(high)) + 1):
        least, most = 10 ** (size - 1) if size > 1 else 0, 10**size - 1
        if size > 1 and low <= least and most <= high:
            all_of.append(size - 1)
        else:
            found += _same_size(str(max(low, least)), str(min(high, most)))
    return found + ([f"[1-9]{repeated('[0-9]', all_of[0], all_of[-1])}"] if all_of else [])


def _same_size(low: str, high: str) -> list[str]:
    """The same for numbers of equally many digits."""
    if low == high:
        return [low]
    if not low.strip("0") and not high.strip("9"):
        return [repeated("[0-9]", len(low), len(low))]
    if low[0] == high[0]:
        return [low[0] + rest for rest in _same_size(low[1:], high[1:])]
    if len(low) == 1:
        return [f"[{low}-{high}]"]
    first, last, rest = int(low[0]), int(high[0]), len(low) - 1
    found: list[str] = []
    if low[1:].strip("0"):
        found += [f"{first}{more}" for more in _same_size(low[1:], "9" * rest)]
        first += 1
    tail: list[str] = []
    if high[1:].strip("9"):
        tail = [f"{last}{more}" for more in _same_size("0" * rest, high[1:])]
        last -= 1
    if first <= last:
        found.append(f"[{first}-{last}]{repeated('[0-9]', rest, rest)}")
    return found + tail


def _outermost(bounds: Mapping[str, float | Fraction]) -> tuple[list[int], list[int]]:
    """Whole numbers at the lower and at the upper bounds, within them."""
    lows = [math.ceil(bounds["minimum"])] if "minimum" in bounds else []
    highs = [math.floor(bounds["maximum"])] if "maximum" in bounds else []
    if "exclusiveMinimum" in bounds:
        lows.append(math.floor(bounds["exclusiveMinimum"]) + 1)
    if "exclusiveMaximum" in bounds:
        highs.append(math.ceil(bounds["exclusiveMaximum"]) - 1)
    return lows, highs


def whole_bounds(bounds: Bounds, digits: int = _DIGITS) -> tuple[int, int]:
    """The whole numbers that are the outermost within the bounds; about so many digits away where there is none."""
    (lows, highs), far = _outermost(bounds), 10**digits - 1
    low = max(lows, default=min(-far, min(highs, default=0) - far))
    high = min(highs, default=max(far, low + far))
    return low, high


def _multiple(modulus: int, places: int) -> Tree:
    """Multiples of modulus * 10 ** -places."""
    if places >= 0:
        return Multiple(modulus, places)
    return choice((row((Multiple(modulus), word("0" * -places))), word("0")))


def _spellings(value: Decimal) -> Tree:
    """Every way to write a number without an exponent."""
    text = f"{abs(value):f}"
    whole_part, _, fraction = text.partition(".")
    fraction = fraction.rstrip("0")
    sign = "-?" if not value else "-" if value < 0 else ""
    return whole(rf"{sign}{whole_part}" + (rf"\.{fraction}0*" if fraction else r"(\.0+)?"))


def _listed(kind: str, bounds: Bounds, modulus: int, places: int, barred: Sequence[Decimal]) -> list[str] | None:
    """All the multiples that there are, or None where they are many."""
    unit = 10 ** max(0, places)  # values are counted in parts of this
    step = modulus * 10 ** max(0, -places)
    step = math.lcm(step, unit) if kind == "integer" else step
    lows, highs = _outermost({key: Fraction(str(value)) * unit / step for key, value in bounds.items()})
    if not lows or not highs or min(highs) - max(lows) >= _MOST_LISTED:
        return None
    left_out = {Fraction(one) * unit for one in barred}
    values = (count * step for count in range(max(lows), min(highs) + 1))
    return [_decimal(value, unit) for value in values if value not in left_out]


def _decimal(value: int, unit: int) -> str:
    """So many parts of a unit, which is a power of ten."""
    whole_part, rest = divmod(abs(value), unit)
    fraction = f".{rest:0{len(str(unit)) - 1}}".rstrip("0") if rest else ""
    return f"{'-' if value < 0 else ''}{whole_part}{fraction}"
