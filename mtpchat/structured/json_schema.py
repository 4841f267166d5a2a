"""A JSON schema as a grammar: what the grammar lets a model say is valid by the schema, always.

The other direction does not hold and need not: of all valid texts the grammar allows those in one layout (that of
Python's `json.dumps`: ", " and ": ", nothing else between tokens), with properties in the order of the schema and none
that it does not name. A keyword that cannot be kept is an error that names it; nothing is left out in silence.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mtpchat.errors import GrammarError
from mtpchat.structured.gbnf import literal, repeated
from mtpchat.structured.numbers import integer, number
from mtpchat.structured.patterns import pattern_rule
from mtpchat.structured.reading import (
    OF_TYPE,
    SAYS_NOTHING,
    apart,
    bad,
    count,
    escaped,
    is_of,
    must_be_ordered,
    must_stand_alone,
    some,
    types_of,
)
from mtpchat.structured.texts import FORMATS, JSON_RULES

_MOST_RULES = 2000
_MOST_DEPTH = 48
_LARGEST_BOUND = 10**300


def grammar_of(schema: object) -> str:
    """GBNF for texts that are valid by the schema.

    Raises:
        GrammarError: the schema is malformed, or has a keyword that cannot be kept; `.key` is its place.
    """
    try:
        return _Converter(schema).convert()
    except RecursionError as error:
        raise GrammarError("The schema is nested too deeply.", hint="Use fewer levels.") from error


class _Converter:
    """One schema on its way to a grammar."""

    def __init__(self, schema: object) -> None:
        self._schema = schema
        self._rules: dict[str, str] = {}
        self._named: dict[str, str] = {}

    def convert(self) -> str:
        root = self._visit(self._schema, "#", frozenset({"#"}))
        lines = [f"root ::= {root}", *(f"{name} ::= {body}" for name, body in self._rules.items())]
        used = "\n".join(lines)
        return "\n".join([*lines, *(f"{name} ::= {body}" for name, body in _needed(used).items())]) + "\n"

    def _rule(self, body: str) -> str:
        """Give an expression a name, so that it can be an atom."""
        if len(self._rules) >= _MOST_RULES:
            raise GrammarError("The schema is too large.", hint=f"It may make at most {_MOST_RULES:,} rules.")
        name = f"r{len(self._rules)}"
        self._rules[name] = body
        return name

    def _visit(self, schema: object, place: str, open_refs: frozenset[str]) -> str:
        """An atom or sequence for a schema.

        Args:
            place: JSON pointer to it.
            open_refs: references that are being followed with nothing said in between; meeting one again is a circle.
        """
        if place.count("/") > 2 * _MOST_DEPTH:
            raise bad(place, "is nested too deeply")
        if schema is True:
            return "value"
        if not isinstance(schema, Mapping):
            raise bad(place, "allows nothing" if schema is False else "is no schema (an object is expected)")
        wanted = {key: value for key, value in schema.items() if key not in SAYS_NOTHING}
        for key, visit in self._combinations().items():
            if key in wanted:
                return visit(wanted, place, open_refs)
        types = types_of(wanted, place)
        if types is None:
            return "value"
        found = [self._of_type(kind, wanted, f"{place}") for kind in types]
        return found[0] if len(found) == 1 else f"({' | '.join(found)})"

    def _combinations(self) -> dict[str, Callable[[dict[str, Any], str, frozenset[str]], str]]:
        return {
            "$ref": self._reference,
            "const": self._fixed,
            "enum": self._fixed,
            "anyOf": self._any_of,
            "oneOf": self._one_of,
            "allOf": self._all_of,
        }

    def _reference(self, wanted: dict[str, Any], place: str, open_refs: frozenset[str]) -> str:
        must_stand_alone("$ref", wanted, place)
        pointer = wanted["$ref"]
        if not isinstance(pointer, str) or not pointer.startswith("#"):
            raise bad(f"{place}/$ref", "points outside of this file, which cannot be followed")
        if pointer in open_refs:
            raise bad(f"{place}/$ref", "refers to itself without end")
        if pointer not in self._named:
            name = self._named[pointer] = self._rule("")
            self._rules[name] = self._visit(self._at(pointer, place), pointer, open_refs | {pointer})
        return self._named[pointer]

    def _at(self, pointer: str, place: str) -> object:
        found: Any = self._schema
        for part in pointer.split("/")[1:]:
            key = part.replace("~1", "/").replace("~0", "~")
            if isinstance(found, list) and key.isdecimal() and int(key) < len(found):
                found = found[int(key)]
            elif isinstance(found, Mapping) and key in found:
                found = found[key]
            else:
                raise bad(f"{place}/$ref", f'points to "{pointer}", which is not there')
        return found

    def _fixed(self, wanted: dict[str, Any], place: str, _open: frozenset[str]) -> str:
        key = "const" if "const" in wanted else "enum"
        must_stand_alone(key, {name: value for name, value in wanted.items() if name != "type"}, place)
        values = [wanted["const"]] if key == "const" else wanted["enum"]
        if not isinstance(values, list) or not values:
            raise bad(f"{place}/{key}", "must be a list with something in it")
        kinds = types_of(wanted, place) if "type" in wanted else None
        fitting = [value for value in values if kinds is None or any(is_of(value, kind) for kind in kinds)]
        if not fitting:
            raise bad(f"{place}/{key}", "has no value of the type that is asked for")
        return self._either([_said(value, f"{place}/{key}") for value in fitting])

    def _either(self, choices: list[str]) -> str:
        return choices[0] if len(choices) == 1 else self._rule(" | ".join(dict.fromkeys(choices)))

    def _any_of(self, wanted: dict[str, Any], place: str, open_refs: frozenset[str], key: str = "anyOf") -> str:
        must_stand_alone(key, wanted, place)
        options = some(wanted[key], f"{place}/{key}")
        return self._either([self._visit(one, f"{place}/{key}/{at}", open_refs) for at, one in enumerate(options)])

    def _one_of(self, wanted: dict[str, Any], place: str, open_refs: frozenset[str]) -> str:
        options = [self._followed(one, place) for one in some(wanted["oneOf"], f"{place}/oneOf")]
        if not all(apart(one, other) for at, one in enumerate(options) for other in options[:at]):
            raise bad(f"{place}/oneOf", "has choices that a text could meet at once", hint="Say anyOf if that may be.")
        return self._any_of(wanted, place, open_refs, key="oneOf")

    def _followed(self, schema: object, place: str) -> object:
        """The schema behind a reference; not further than one."""
        pointer = schema.get("$ref") if isinstance(schema, Mapping) else None
        return self._at(pointer, place) if isinstance(pointer, str) and pointer.startswith("#") else schema

    def _all_of(self, wanted: dict[str, Any], place: str, open_refs: frozenset[str]) -> str:
        must_stand_alone("allOf", wanted, place)
        options = some(wanted["allOf"], f"{place}/allOf")
        if len(options) > 1:
            raise bad(f"{place}/allOf", "with more than one schema cannot be kept", hint="Put them together into one.")
        return self._visit(options[0], f"{place}/allOf/0", open_refs)

    def _of_type(self, kind: str, wanted: Mapping[str, Any], place: str) -> str:
        own = {key: value for key, value in wanted.items() if key in OF_TYPE[kind]}
        match kind:
            case "object":
                return self._object(own, place)
            case "array":
                return self._array(own, place)
            case "string":
                return self._string(own, place)
            case "integer" | "number":
                return self._number(kind, own, place)
            case _:
                return kind

    def _number(self, kind: str, own: Mapping[str, Any], place: str) -> str:
        for key, value in own.items():
            unknown = isinstance(value, float) and math.isnan(value)
            if isinstance(value, bool) or not isinstance(value, int | float) or unknown:
                raise bad(f"{place}/{key}", "is no number")
            if abs(value) > _LARGEST_BOUND:
                raise bad(f"{place}/{key}", "is too large a number")
        if not own:
            return kind
        body = integer(own) if kind == "integer" else number(own)
        if body is None:
            raise bad(place, f"leaves no {kind} between its bounds that a grammar could name")
        return self._rule(body)

    def _string(self, own: Mapping[str, Any], place: str) -> str:
        least, most = count(own, "minLength", place), count(own, "maxLength", place)
        if "pattern" in own:
            return self._pattern(own, place)
        if "format" in own:
            if len(own) > 1:
                raise bad(f"{place}/format", "together with a length cannot be kept")
            rule = FORMATS.get(str(own["format"]))
            if rule is None:
                raise bad(
                    f"{place}/format", f'"{own["format"]}" is not known here', hint=f"Known: {', '.join(FORMATS)}"
                )
            return self._rule(rule)
        must_be_ordered(least, most, f"{place}/maxLength")
        if not least and most is None:
            return "string"
        return self._rule(f'"\\"" {repeated("char", least or 0, most)} "\\""')

    def _pattern(self, own: Mapping[str, Any], place: str) -> str:
        if len(own) > 1:
            raise bad(f"{place}/pattern", "together with a length or a format cannot be kept")
        if not isinstance(own["pattern"], str):
            raise bad(f"{place}/pattern", "is no text")
        try:
            body = pattern_rule(own["pattern"])
        except GrammarError as error:
            raise bad(f"{place}/pattern", f"cannot be kept: {error.message.rstrip('.')}") from error
        return self._rule(f'"\\"" {body} "\\""')

    def _array(self, own: Mapping[str, Any], place: str) -> str:
        least, most = count(own, "minItems", place) or 0, count(own, "maxItems", place)
        must_be_ordered(least, most, f"{place}/maxItems")
        first = [
            self._visit(one, f"{place}/prefixItems/{at}", frozenset())
            for at, one in enumerate(some(own["prefixItems"], f"{place}/prefixItems") if "prefixItems" in own else ())
        ]
        first = first[:most] if most is not None else first
        items = own.get("items", not first)
        if most == 0 or items is False or (most is not None and most == len(first)):
            if len(first) < least:
                raise bad(f"{place}/minItems", "asks for more items than there may be")
            return self._rule(" ".join(['"["', *_separated(first), '"]"']))
        item = self._rule(self._visit(items, f"{place}/items", frozenset()))
        least, most = max(0, least - len(first)), None if most is None else most - len(first)
        if first:
            tail = repeated(f'(", " {item})', least, most)
            return self._rule(" ".join(['"["', *_separated(first), tail, '"]"']))
        more = f"{item} " + repeated(f'(", " {item})', max(0, least - 1), None if most is None else most - 1)
        if most == 1:
            more = item
        return self._rule(f'"[" {more} "]"' if least else f'"[" ({more})? "]"')

    def _object(self, own: Mapping[str, Any], place: str) -> str:
        properties, required = own.get("properties", {}), own.get("required", [])
        others = own.get("additionalProperties", True)
        if not isinstance(properties, Mapping):
            raise bad(f"{place}/properties", "is no object")
        if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
            raise bad(f"{place}/required", "is no list of names")
        missing = [name for name in dict.fromkeys(required) if name not in properties]
        if missing and others is False:
            raise bad(f"{place}/required", f'asks for "{missing[0]}", which may not be there')
        if not properties and not missing:
            return self._any_object(others, place)
        pairs: list[tuple[str, bool]] = []
        for name, schema in (*properties.items(), *((name, others) for name in missing)):
            if schema is False and name not in required:
                continue
            value = self._visit(schema, f"{place}/properties/{escaped(name)}", frozenset())
            pairs.append((f"{literal(_json(name) + ': ')} {value}", name in required))
        return self._rule(" ".join(['"{"', *self._members(pairs), '"}"']))

    def _any_object(self, others: object, place: str) -> str:
        """An object without names of its own: a map of strings to whatever the schema of the others is."""
        if others is False:
            return self._rule('"{}"')
        if others is True:
            return "object"
        value = self._visit(others, f"{place}/additionalProperties", frozenset())
        pair = self._rule(f'string ": " {value}')
        return self._rule(f'"{{" ({pair} (", " {pair})*)? "}}"')

    def _members(self, pairs: Sequence[tuple[str, bool]]) -> list[str]:
        """Members in order, the optional ones there or not, commas between them."""
        rest = [f'", " {pair}' if needed else f'(", " {pair})?' for pair, needed in pairs]
        first = next((at for at, (_pair, needed) in enumerate(pairs) if needed), len(pairs) - 1)
        tails = [""]  # what may follow each member, the last one first, under one name each
        for part in reversed(rest[1:]):
            tails.append(self._rule(f"{part} {tails[-1]}".rstrip()))
        tails.reverse()
        begin = ""
        for at in reversed(range(first + 1)):
            pair, needed = pairs[at]
            here = f"{pair} {tails[at]}".rstrip()
            begin = here if needed else self._rule(f"{here} | {begin}" if begin else f"({here})?")
        return [begin] if begin else []


def _needed(text: str) -> dict[str, str]:
    """The ready-made rules that a grammar names, with those that they name."""
    words, found = set(text.replace("(", " ").replace(")", " ").replace("?", " ").split()), {}
    todo = [name for name in JSON_RULES if name in {word.rstrip("*+").partition("{")[0] for word in words}]
    while todo:
        name = todo.pop()
        if name in found:
            continue
        body, needs = JSON_RULES[name]
        found[name] = body
        todo += needs
    return found


def _separated(items: Sequence[str]) -> list[str]:
    return [part for at, item in enumerate(items) for part in (['", "'] if at else []) + [item]]


def _said(value: object, place: str) -> str:
    try:
        return literal(_json(value))
    except ValueError as error:
        raise bad(place, "has a number that JSON cannot say") from error


def _json(value: object) -> str:
    """As the answer would say it. Raises ValueError for what JSON lacks."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return text if text.isascii() or text.encode("utf-8", "replace").decode() == text else json.dumps(value)
