"""What stands in a JSON schema: which keywords belong to which type, what a value is, which schemas exclude each other.

Everything raises GrammarError with the place of what it does not understand.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from mtpchat.errors import GrammarError
from mtpchat.structured.gbnf import MOST_REPEATED
from mtpchat.structured.numbers import BOUNDS

SAYS_NOTHING = frozenset(
    {"$schema", "$id", "$anchor", "$comment", "$vocabulary", "$defs", "definitions"}
    | {"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly"}
)
"""Keywords that describe and do not demand."""
OF_TYPE: dict[str, frozenset[str]] = {
    "string": frozenset({"minLength", "maxLength", "format", "pattern"}),
    "integer": BOUNDS,
    "number": BOUNDS,
    "boolean": frozenset(),
    "null": frozenset(),
    "array": frozenset({"items", "prefixItems", "minItems", "maxItems"}),
    "object": frozenset({"properties", "required", "additionalProperties"}),
}
_ALLOF_TYPES = frozenset().union(*OF_TYPE.values())


def types_of(wanted: Mapping[str, Any], place: str) -> list[str] | None:
    """The types that a schema without combinations may have; None is any. Raises for what is not known here."""
    asked = wanted.get("type")
    names = [asked] if isinstance(asked, str) else asked
    if names is None:
        names = [kind for kind in ("object", "array", "string", "number") if OF_TYPE[kind] & wanted.keys()][:1]
    if not isinstance(names, list) or ("type" in wanted and not names):
        raise bad(f"{place}/type", "is neither a name nor a list of names")
    for name in names:
        if not isinstance(name, str) or name not in OF_TYPE:
            raise bad(f"{place}/type", f'"{name}" is no type', hint=f"Types: {', '.join(OF_TYPE)}")
    known = _ALLOF_TYPES | {"type", "const", "enum"}
    for key in wanted:
        if key not in known:
            raise bad(f"{place}/{escaped(str(key))}", "cannot be kept by a grammar", hint="Leave it out.")
    return list(dict.fromkeys(names)) or None


def must_stand_alone(key: str, wanted: Mapping[str, Any], place: str) -> None:
    """Refuse what stands beside a keyword that has to stand alone."""
    beside = next((name for name in wanted if name != key), None)
    if beside is not None:
        raise bad(f"{place}/{escaped(beside)}", f"beside {key} cannot be kept")


def apart(one: object, other: object) -> bool:
    """Whether no text can be valid by both: other types, other constants, or such in a property that both demand."""
    if not isinstance(one, Mapping) or not isinstance(other, Mapping):
        return False
    values, others = _constants(one), _constants(other)
    if values is not None and others is not None:
        return not {_same(value) for value in values} & {_same(value) for value in others}
    kinds, rest = _kinds(one), _kinds(other)
    if kinds and rest and not kinds & rest:
        return True
    if kinds != {"object"} or rest != {"object"}:
        return False
    both = set(one.get("required", ())) & set(other.get("required", ()))
    pairs = [(_property(one, name), _property(other, name)) for name in both]
    return any(mine is not None and yours is not None and apart(mine, yours) for mine, yours in pairs)


def _property(schema: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
    properties = schema.get("properties")
    found = properties.get(name) if isinstance(properties, Mapping) else None
    return found if isinstance(found, Mapping) and _constants(found) is not None else None


def _constants(schema: Mapping[str, Any]) -> list[Any] | None:
    if "const" in schema:
        return [schema["const"]]
    values = schema.get("enum")
    return values if isinstance(values, list) else None


def _kinds(schema: Mapping[str, Any]) -> set[str]:
    """Types that a schema names; whole numbers are numbers."""
    values = _constants(schema)
    if values is not None and "type" not in schema:
        return {kind for value in values for kind in OF_TYPE if kind != "integer" and is_of(value, kind)}
    asked = schema.get("type", "object" if "properties" in schema else [])
    return {"number" if name == "integer" else str(name) for name in ([asked] if isinstance(asked, str) else asked)}


def _same(value: object) -> str:
    """One text for all values that JSON takes for equal."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return json.dumps(value, sort_keys=True)


def is_of(value: object, kind: str) -> bool:
    match value:
        case None:
            return kind == "null"
        case bool():
            return kind == "boolean"
        case int():
            return kind in {"integer", "number"}
        case float():
            return kind == "number" or (kind == "integer" and value.is_integer())
        case str():
            return kind == "string"
        case list():
            return kind == "array"
        case _:
            return kind == "object"


def count(own: Mapping[str, Any], key: str, place: str) -> int | None:
    value = own.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise bad(f"{place}/{key}", "is no whole number from 0 up")
    if value > MOST_REPEATED:
        raise bad(f"{place}/{key}", f"is more than {MOST_REPEATED:,}, which a grammar cannot count")
    return value


def must_be_ordered(least: int | None, most: int | None, place: str) -> None:
    if most is not None and most < (least or 0):
        raise bad(place, "is less than the least")


def some(value: object, place: str) -> list[Any]:
    if not isinstance(value, list) or not value:
        raise bad(place, "must be a list with something in it")
    return value


def escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def bad(place: str, what: str, *, hint: str = "") -> GrammarError:
    return GrammarError(f"{place} {what}.", key=place, hint=hint)
