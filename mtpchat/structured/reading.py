"""What stands in a JSON schema: its keywords, checked, as a plain demand; those that combine schemas apart.

Everything raises GrammarError with the place of what it does not understand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from mtpchat.errors import GrammarError
from mtpchat.structured.gbnf import MOST_REPEATED
from mtpchat.structured.multiples import scaled
from mtpchat.structured.numbers import BOUNDS
from mtpchat.structured.patterns import language
from mtpchat.structured.plain import TYPES, Placed, Plain, Together, is_of
from mtpchat.structured.texts import FORMATS, LONGEST_NAME, OF_A_LENGTH

_SAYS_NOTHING = frozenset(
    {"$schema", "$id", "$anchor", "$comment", "$vocabulary", "$defs", "definitions"}
    | {"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "discriminator"}
    | {"contentEncoding", "contentMediaType", "contentSchema", "then", "else"}
)
"""Keywords that describe and do not demand; the last two do so only beside "if"."""
COMBINING = ("$ref", "allOf", "anyOf", "oneOf", "not", "if", "dependentRequired", "dependentSchemas")
_OF_TYPE: dict[str, frozenset[str]] = {
    "string": frozenset({"minLength", "maxLength", "format", "pattern"}),
    "number": BOUNDS | {"multipleOf"},
    "array": frozenset({"items", "prefixItems", "minItems", "maxItems", "uniqueItems"}),
    "object": frozenset({"properties", "patternProperties", "required", "additionalProperties"}),
}
_OTHERS = frozenset(
    {"contains", "minContains", "maxContains", "minProperties", "maxProperties", "propertyNames"}
    | {"unevaluatedItems", "unevaluatedProperties"}
)
"""Keywords that a grammar cannot keep, but a value that is listed can be held against."""
_LARGEST_BOUND = 10**300
_MOST_DIGITS, _LONGEST_PATTERN = 15, 1000


def says(schema: Mapping[str, Any]) -> list[str]:
    """The keywords of a schema that demand something."""
    return [key for key in schema if key not in _SAYS_NOTHING and not str(key).startswith("x-")]


def type_of(key: str) -> str:
    """The type whose values a keyword is about; "" for none or any."""
    return next((kind for kind, keys in _OF_TYPE.items() if key in keys), "")


def plain_of(schema: Mapping[str, Any], place: str) -> Plain:
    """What a schema demands by the keywords that do not combine schemas.

    Where values are listed the other keywords are left to whoever holds the values against the whole schema.
    """
    types = _types(schema["type"], place) if "type" in schema else None
    listed = _listed(schema, place)
    for key in says(schema):
        if key not in COMBINING and key not in ("type", "enum", "const") and not type_of(key):
            if listed is not None and key in _OTHERS:
                continue
            raise bad(f"{place}/{escaped(str(key))}", "cannot be kept by a grammar", hint="Leave it out.")
    if listed is not None:
        if types is not None and not any(is_of(value, types) for value in listed):
            raise nothing(
                f"{place}/{'const' if 'const' in schema else 'enum'}", "has no value of the type that is asked for"
            )
        return Plain(types, listed)
    found: dict[str, Any] = {}
    for kind, read in _READERS.items():
        if not _OF_TYPE[kind].isdisjoint(schema):
            found |= read(schema, place)
    return Plain(types, **found)


def _types(asked: object, place: str) -> frozenset[str]:
    names = [asked] if isinstance(asked, str) else asked
    if not isinstance(names, list) or not names:
        raise bad(f"{place}/type", "is neither a name nor a list of names")
    for name in names:
        if name not in TYPES:
            raise bad(f"{place}/type", f'"{name}" is no type', hint=f"Types: {', '.join(TYPES)}")
    return frozenset(names)


def _listed(schema: Mapping[str, Any], place: str) -> tuple[Any, ...] | None:
    if "const" in schema:
        return (schema["const"],)
    if "enum" not in schema:
        return None
    return tuple(some(schema["enum"], f"{place}/enum"))


def _string(schema: Mapping[str, Any], place: str) -> dict[str, Any]:
    least, most = count(schema, "minLength", place), count(schema, "maxLength", place)
    _require_order(least, most, f"{place}/maxLength")
    patterns: list[str] = []
    if "pattern" in schema:
        patterns.append(_pattern(schema["pattern"], f"{place}/pattern"))
    if "format" in schema:
        name = str(schema["format"])
        if name not in FORMATS:
            raise bad(f"{place}/format", f'"{name}" is not known here', hint=f"Known: {', '.join(FORMATS)}")
        measured = (least or most is not None) and name in OF_A_LENGTH
        patterns.append(OF_A_LENGTH[name] if measured else FORMATS[name])
        most = min(LONGEST_NAME if most is None else most, LONGEST_NAME) if measured else most
        if most is not None and most < (least or 0):
            raise bad(f"{place}/format", f"is kept with a length of at most {LONGEST_NAME}")
    return {"shortest": least or 0, "longest": most, "patterns": tuple(patterns)}


def _pattern(pattern: object, place: str) -> str:
    if not isinstance(pattern, str):
        raise bad(place, "is no text")
    if len(pattern) > _LONGEST_PATTERN:
        raise bad(place, f"has more than {_LONGEST_PATTERN:,} letters")
    try:
        language(pattern)
    except GrammarError as error:
        raise bad(place, f"cannot be kept: {error.message.rstrip('.')}") from error
    return pattern


def _number(schema: Mapping[str, Any], place: str) -> dict[str, Any]:
    bounds = {key: _finite(schema[key], f"{place}/{key}") for key in BOUNDS if key in schema}
    multiples: tuple[Decimal, ...] = ()
    if "multipleOf" in schema:
        step = Decimal(str(_finite(schema["multipleOf"], f"{place}/multipleOf")))
        if step <= 0:
            raise bad(f"{place}/multipleOf", "is not above 0")
        modulus, places = scaled(step)
        if len(str(modulus)) > _MOST_DIGITS or abs(places) > _MOST_DIGITS:
            raise bad(f"{place}/multipleOf", "is too large or too fine")
        multiples = (step,)
    return {"bounds": bounds, "multiples": multiples}


def _finite(value: object, place: str) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:  # noqa: PLR0124
        raise bad(place, "is no number")
    if abs(value) > _LARGEST_BOUND:
        raise bad(place, "is too large a number")
    return value


def _array(schema: Mapping[str, Any], place: str) -> dict[str, Any]:
    least, most = count(schema, "minItems", place), count(schema, "maxItems", place)
    _require_order(least, most, f"{place}/maxItems")
    first = some(schema["prefixItems"], f"{place}/prefixItems") if "prefixItems" in schema else []
    unique = schema.get("uniqueItems", False)
    if not isinstance(unique, bool):
        raise bad(f"{place}/uniqueItems", "is neither true nor false")
    return {
        "first": tuple((Placed(one, f"{place}/prefixItems/{at}"),) for at, one in enumerate(first)),
        "rest": (Placed(schema["items"], f"{place}/items"),) if "items" in schema else None,
        "fewest": least or 0,
        "most": most,
        "unique": unique,
    }


def _object(schema: Mapping[str, Any], place: str) -> dict[str, Any]:
    required = names(schema.get("required", []), f"{place}/required")
    by_pattern = _members(schema, "patternProperties", place)
    for pattern in by_pattern:
        _pattern(pattern, f"{place}/patternProperties/{escaped(pattern)}")
    others = schema.get("additionalProperties", True)
    return {
        "properties": _members(schema, "properties", place),
        "by_pattern": by_pattern,
        "others": () if others is True else (Placed(others, f"{place}/additionalProperties"),),
        "required": required,
    }


def _members(schema: Mapping[str, Any], key: str, place: str) -> dict[str, Together]:
    found = schema.get(key, {})
    if not isinstance(found, Mapping):
        raise bad(f"{place}/{key}", "is no object")
    return {name: (Placed(one, f"{place}/{key}/{escaped(name)}"),) for name, one in found.items()}


_READERS: dict[str, Callable[[Mapping[str, Any], str], dict[str, Any]]] = {
    "string": _string,
    "number": _number,
    "array": _array,
    "object": _object,
}


def inferred(plain: Plain) -> frozenset[str] | None:
    """The type of values that a demand without one is most likely meant for; None where it is for any."""
    of_type = {
        "object": plain.properties or plain.by_pattern or plain.others or plain.required,
        "array": plain.first or plain.rest is not None or plain.fewest or plain.most is not None or plain.unique,
        "string": plain.patterns or plain.unlike or plain.shortest or plain.longest is not None,
        "number": plain.bounds or plain.multiples,
    }
    return next((frozenset({kind}) for kind, asked in of_type.items() if asked), None)


def count(schema: Mapping[str, Any], key: str, place: str) -> int | None:
    """A number of letters or items."""
    value = schema.get(key)
    if value is None:
        return None
    value = int(value) if isinstance(value, float) and value.is_integer() else value
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise bad(f"{place}/{key}", "is no whole number from 0 up")
    if value > MOST_REPEATED:
        raise bad(f"{place}/{key}", f"is more than {MOST_REPEATED:,}, which a grammar cannot count")
    return value


def _require_order(least: int | None, most: int | None, place: str) -> None:
    if most is not None and most < (least or 0):
        raise bad(place, "is less than the least")


def names(value: object, place: str) -> tuple[str, ...]:
    """A list of names."""
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise bad(place, "is no list of names")
    return tuple(dict.fromkeys(value))


def some(value: object, place: str) -> list[Any]:
    """A list with something in it."""
    if not isinstance(value, list) or not value:
        raise bad(place, "must be a list with something in it")
    return value


def escaped(name: str) -> str:
    """A name as a part of a JSON pointer."""
    return name.replace("~", "~0").replace("/", "~1")


def bad(place: str, what: str, *, hint: str = "") -> GrammarError:
    """The error for something at a place."""
    return GrammarError(f"{_quoted(place)} {what}.", key=place, hint=hint)


def _quoted(place: str) -> str:
    """A place as it is named in a sentence: names in a schema may be of any length."""
    return place if len(place) <= _LONGEST_PLACE else f"{place[:_LONGEST_PLACE]}…"


_LONGEST_PLACE = 300


class NothingLeft(GrammarError):
    """No value meets what is asked for: a choice is dropped for it, and a schema refused where there is none left."""


def nothing(place: str, what: str = "asks for things that exclude each other") -> NothingLeft:
    """The error for a place where no value is possible."""
    return NothingLeft(f"{_quoted(place)} {what}.", key=place)
