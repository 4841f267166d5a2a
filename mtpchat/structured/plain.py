"""What a JSON schema demands of a value, combinations of schemas apart, and what two such demands are together."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from mtpchat.structured.patterns import language
from mtpchat.structured.regular import matches

TYPES = ("object", "array", "string", "integer", "number", "boolean", "null")


@dataclass(frozen=True, slots=True)
class Placed:
    """A schema and where it stands, as a JSON pointer."""

    schema: object
    place: str


Together = tuple[Placed, ...]
"""Schemas that must all hold; of none, everything does."""


@dataclass(frozen=True, slots=True)
class Plain:
    """Demands on a value. Those of one type say nothing about values of another.

    Attributes:
        types: None for any. "number" includes "integer".
        values / barred: all that it may be, None for anything; what it must not be.
        bounds: keywords of BOUNDS.
        patterns / unlike: what a string must match, and what it must not.
        first / rest: items of an array by their place, and all behind them; `rest` is None where nothing is said.
        properties / by_pattern / others: of an object, by name, by pattern of the name, and all other ones.
    """

    types: frozenset[str] | None = None
    values: tuple[Any, ...] | None = None
    barred: tuple[Any, ...] = ()
    bounds: Mapping[str, float] = field(default_factory=dict)
    multiples: tuple[Decimal, ...] = ()
    shortest: int = 0
    longest: int | None = None
    patterns: tuple[str, ...] = ()
    unlike: tuple[str, ...] = ()
    first: tuple[Together, ...] = ()
    rest: Together | None = None
    fewest: int = 0
    most: int | None = None
    unique: bool = False
    properties: Mapping[str, Together] = field(default_factory=dict)
    by_pattern: Mapping[str, Together] = field(default_factory=dict)
    others: Together = ()
    required: tuple[str, ...] = ()

    def of_item(self, at: int) -> Together:
        """What the item at a place has to be."""
        return self.first[at] if at < len(self.first) else self.rest or ()

    def of_pattern(self, name: str) -> Together:
        """What a property has to be because of how its name is spelled."""
        return all_of(found for pattern, found in self.by_pattern.items() if matches(language(pattern), name))

    def of_property(self, name: str) -> Together:
        """What a property has to be, `by_pattern` apart."""
        if name in self.properties:
            return self.properties[name]
        fits = any(matches(language(pattern), name) for pattern in self.by_pattern)
        return () if fits else self.others


def never(schemas: Together) -> bool:
    """Whether nothing can be all of these, as far as that is seen at once."""
    if any(one.schema is False for one in schemas):
        return True
    listed = [{same(value) for value in values} for one in schemas if (values := _constants(one.schema)) is not None]
    return len(listed) > 1 and not set.intersection(*listed)


def _constants(schema: object) -> list[Any] | None:
    if not isinstance(schema, Mapping):
        return None
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    return values if isinstance(values, list) else None


def all_of(several: Iterable[Together]) -> Together:
    """All schemas of several, each once."""
    every = [one for schemas in several for one in schemas if one.schema is not True]
    return (
        tuple({_named(one.schema): one for one in reversed(every)}.values())[::-1] if len(every) > 1 else tuple(every)
    )


def _named(schema: object) -> str:
    return json.dumps(schema, sort_keys=True, default=str)


def common_place(schemas: Together) -> str:
    """The innermost place that all of these lie in, or are."""
    parts = [one.place.split("/") for one in schemas]
    same_parts = [some[0] for some in zip(*parts, strict=False) if len(set(some)) == 1]
    return "/".join(same_parts) or "#"


def together(schemas: Together) -> frozenset[str]:
    """Names several schemas, whatever their order and place."""
    return frozenset(_named(one.schema) for one in schemas)


def same(value: object) -> str:
    """One text for all values that JSON takes for equal."""
    return json.dumps(_whole(value), sort_keys=True)


def _whole(value: object) -> object:
    match value:
        case float() if value.is_integer():
            return int(value)
        case list():
            return [_whole(one) for one in value]
        case dict():
            return {name: _whole(one) for name, one in value.items()}
        case _:
            return value


def is_of(value: object, types: frozenset[str]) -> bool:
    """Whether a value is of one of these types."""
    match value:
        case None:
            return "null" in types
        case bool():
            return "boolean" in types
        case int():
            return bool(types & {"integer", "number"})
        case float():
            return "number" in types or ("integer" in types and value.is_integer())
        case str():
            return "string" in types
        case list():
            return "array" in types
        case _:
            return "object" in types


def common_types(one: frozenset[str] | None, other: frozenset[str] | None) -> frozenset[str] | None:
    """Types that are of both."""
    if one is None or other is None:
        return other if one is None else one
    whole = {"integer"} if _may_be_whole(one) and _may_be_whole(other) and "number" not in one & other else set()
    return (one & other) | whole


def _may_be_whole(types: frozenset[str]) -> bool:
    return not types.isdisjoint(("integer", "number"))


def meet(one: Plain, other: Plain) -> Plain | None:
    """What both demand together; None where that is plainly impossible."""
    types = common_types(one.types, other.types)
    values = _listed_by_both(one.values, other.values)
    if values is not None and types is not None:
        values = tuple(value for value in values if is_of(value, types))
    required = tuple(dict.fromkeys((*one.required, *other.required)))
    lacking = any(never((*one.of_property(name), *other.of_property(name))) for name in required)
    if (types is not None and not types) or values == () or lacking:
        return None
    return Plain(
        types=types,
        values=values,
        barred=(*one.barred, *other.barred),
        bounds=_narrowest(one.bounds, other.bounds),
        multiples=tuple(dict.fromkeys((*one.multiples, *other.multiples))),
        shortest=max(one.shortest, other.shortest),
        longest=_least(one.longest, other.longest),
        patterns=tuple(dict.fromkeys((*one.patterns, *other.patterns))),
        unlike=tuple(dict.fromkeys((*one.unlike, *other.unlike))),
        first=tuple(
            all_of((one.of_item(at), other.of_item(at))) for at in range(max(len(one.first), len(other.first)))
        ),
        rest=None if one.rest is other.rest is None else all_of((one.rest or (), other.rest or ())),
        fewest=max(one.fewest, other.fewest),
        most=_least(one.most, other.most),
        unique=one.unique or other.unique,
        properties={
            name: all_of((one.of_property(name), other.of_property(name)))
            for name in dict.fromkeys((*one.properties, *other.properties))
        },
        by_pattern={
            pattern: all_of((one.by_pattern.get(pattern, one.others), other.by_pattern.get(pattern, other.others)))
            for pattern in dict.fromkeys((*one.by_pattern, *other.by_pattern))
        },
        others=all_of((one.others, other.others)),
        required=required,
    )


def _listed_by_both(one: tuple[Any, ...] | None, other: tuple[Any, ...] | None) -> tuple[Any, ...] | None:
    if one is None or other is None:
        return other if one is None else one
    allowed = {same(value) for value in other}
    return tuple(value for value in one if same(value) in allowed)


def _narrowest(one: Mapping[str, float], other: Mapping[str, float]) -> dict[str, float]:
    found = dict(one)
    for key, bound in other.items():
        closer = max if key.endswith("inimum") else min
        found[key] = closer(found[key], bound) if key in found else bound
    return found


def _least(one: int | None, other: int | None) -> int | None:
    return min((most for most in (one, other) if most is not None), default=None)
