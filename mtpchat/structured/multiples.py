"""Decimal numbers that a number divides, as a language that is read digit by digit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal

_ZERO, _NINE, _POINT, _MINUS = ord("0"), ord("9"), ord("."), ord("-")
_EDGES = frozenset({*range(_ZERO, _NINE + 2), _POINT, _POINT + 1, _MINUS, _MINUS + 1})


@dataclass(frozen=True, slots=True)
class Multiple:
    """Texts of multiples of `modulus` * 10 ** -`places`, with or without a sign and a fraction, without an exponent.

    Attributes:
        places: most digits behind the point.
        rest: what the digits so far, without the point, leave when they are divided by the modulus.
        read: digits behind the point so far; -1 before it.
        begun: a digit was read where one has to be.
        signed: a sign was read, or can no longer come.
    """

    modulus: int
    places: int = 0
    rest: int = 0
    read: int = -1
    begun: bool = False
    signed: bool = False

    @property
    def may_end(self) -> bool:
        """Whether what was read is a multiple."""
        return self.begun and self.rest * 10 ** (self.places - max(0, self.read)) % self.modulus == 0

    @property
    def edges(self) -> frozenset[int]:
        """See regular.edges."""
        return _EDGES

    def behind(self, code: int) -> Multiple | None:
        """What may come behind a character; None where it cannot stand."""
        if _ZERO <= code <= _NINE:
            if self.read >= self.places:
                return None
            rest = (self.rest * 10 + code - _ZERO) % self.modulus
            read = self.read + 1 if self.read >= 0 else -1
            return replace(self, rest=rest, read=read, begun=True, signed=True)
        if code == _POINT and self.begun and self.read < 0 and self.places:
            return replace(self, read=0, begun=False)
        if code == _MINUS and not self.signed:
            return replace(self, signed=True)
        return None


def scaled(value: Decimal) -> tuple[int, int]:
    """A positive number as (modulus, places): modulus * 10 ** -places, where places may be negative."""
    _sign, digits, exponent = value.normalize().as_tuple()
    assert isinstance(exponent, int), "neither infinite nor no number"
    return int("".join(map(str, digits))), -exponent
