"""A JSON schema as a grammar: what the grammar lets a model say is valid by the schema, always.

The other direction does not hold and need not: of all valid texts the grammar allows those in one layout (that of
Python's `json.dumps`: ", " and ": ", nothing else between tokens), with properties in the order of the schema and none
that it does not name. A keyword that cannot be kept is an error that names it; nothing is left out in silence.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from functools import partial

from mtpchat.errors import GrammarError
from mtpchat.structured.arrays import array
from mtpchat.structured.automaton import automaton
from mtpchat.structured.gbnf import literal, repeated, written
from mtpchat.structured.judging import Judge
from mtpchat.structured.numbers import numbers, whole_bounds
from mtpchat.structured.objects import object_rule
from mtpchat.structured.patterns import language, unmatched
from mtpchat.structured.plain import TYPES, Placed, Plain, Together, common_place, same, together
from mtpchat.structured.reading import COMBINING, bad, inferred, nothing, says
from mtpchat.structured.regular import EVERY, Both, Chars, Times, Tree, both, other, word
from mtpchat.structured.rules import Rules
from mtpchat.structured.texts import json_text
from mtpchat.structured.unfolding import Open, Unfolding

_MOST_DEPTH = 48
_MOST_VALUES = 65


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
        self._rules = Rules()
        self._unfolding = Unfolding(schema)
        self._judge = Judge(schema)

    def convert(self) -> str:
        return self._rules.written(self._visit((Placed(self._schema, "#"),), frozenset({"#"})))

    def _inner(self, schemas: Together) -> str:
        """An expression for schemas of what lies within something else: all references may come again there."""
        return self._visit(schemas, frozenset())

    def _visit(self, schemas: Together, opened: Open) -> str:
        """An atom or sequence for what schemas demand together."""
        if any(one.place.count("/") > 2 * _MOST_DEPTH for one in schemas):
            raise bad(schemas[0].place, "is nested too deeply")
        if not schemas:
            return "value"
        if len(schemas) > 1:
            return self._rules.once(together(schemas), lambda: self._unfolded(schemas, opened))
        one = schemas[0]
        if one.schema is False:
            raise nothing(one.place, "allows nothing")
        alone = says(one.schema) if isinstance(one.schema, Mapping) else []
        if alone == ["$ref"] and isinstance(one.schema, Mapping):
            target, still = self._unfolding.behind(one.schema["$ref"], one.place, opened)
            return self._rules.once(together(schemas), lambda: self._visit((target,), still))
        if alone == ["allOf"] and isinstance(one.schema, Mapping):
            return self._visit(tuple(self._unfolding.listed(one.schema, "allOf", one.place)), opened)
        if alone in (["anyOf"], ["oneOf"]) and (choices := self._choices(one, alone[0], opened)):
            makers = [partial(self._visit, (choice,), opened) for choice in choices]
            return self._rules.either(makers, one.place)
        if any(key in COMBINING for key in alone):
            return self._rules.once(together(schemas), lambda: self._unfolded(schemas, opened))
        return self._unfolded(schemas, opened)

    def _choices(self, one: Placed, key: str, opened: Open) -> list[Placed]:
        """The choices of a schema, if each can be said by itself."""
        assert isinstance(one.schema, Mapping)
        choices = self._unfolding.listed(one.schema, key, one.place)
        if key == "anyOf":
            return choices
        found = [self._unfolding.of(choice, opened) for choice in choices]
        clash = any(
            self._unfolding.overlap(found[at], another, opened) for at in range(len(found)) for another in choices[:at]
        )
        return [] if clash else choices

    def _unfolded(self, schemas: Together, opened: Open) -> str:
        place = common_place(schemas)
        with _at(place):
            plains = self._unfolding.of_all(schemas, opened)
            return self._rules.either([partial(self._plain, plain, schemas) for plain in plains], place)

    def _plain(self, plain: Plain, schemas: Together) -> str:
        place = common_place(schemas)
        if plain.values is not None:
            fitting = self._judge.fitting(plain.values, schemas)
            if not fitting:
                raise nothing(place, "lists no value that meets the rest of it")
            return self._rules.either([partial(_said, value, place) for value in fitting], place)
        types = plain.types or inferred(plain)
        if types is None and not plain.barred:
            return "value"
        asked = [kind for kind in TYPES if (kind in types if types is not None else kind != "integer")]
        asked = [kind for kind in asked if kind != "integer" or "number" not in asked]
        return self._rules.either([partial(self._of_type, kind, plain, place) for kind in asked], place)

    def _of_type(self, kind: str, plain: Plain, place: str) -> str:
        match kind:
            case "object" | "array":
                if any(isinstance(value, dict if kind == "object" else list) for value in plain.barred):
                    raise bad(place, f"forbids one certain {kind}, which cannot be kept by a grammar")
                if kind == "object":
                    return object_rule(plain, place, self._rules, self._inner)
                return array(plain, place, self._rules, self._inner, self._values)
            case "string":
                return self._string(plain, place)
            case "integer" | "number":
                return self._number(kind, plain, place)
            case "boolean":
                return self._left_of((True, False), kind, plain, place)
            case _:
                return self._left_of((None,), kind, plain, place)

    def _left_of(self, values: Sequence[bool | None], kind: str, plain: Plain, place: str) -> str:
        """What a type of few values leaves."""
        barred = {same(value) for value in plain.barred}
        left = [value for value in values if same(value) not in barred]
        return (
            kind
            if len(left) == len(values)
            else self._rules.either([partial(_said, one, place) for one in left], place)
        )

    def _number(self, kind: str, plain: Plain, place: str) -> str:
        barred = [
            Decimal(str(one)) for one in plain.barred if isinstance(one, int | float) and not isinstance(one, bool)
        ]
        if not plain.bounds and not plain.multiples and not barred:
            return kind
        with _at(f"{place}/multipleOf" if plain.multiples else place):
            found = numbers(kind, plain.bounds, plain.multiples, barred)
            if isinstance(found, Both):
                return self._automaton(found, place)
        if found is not None:
            return self._rules.rule(written(found))
        what = f"leaves no {kind} between its bounds that a grammar could name"
        raise nothing(place, what) if _excluded(kind, plain) else bad(place, what)

    def _string(self, plain: Plain, place: str) -> str:
        barred = [other(word(one)) for one in plain.barred if isinstance(one, str)]
        patterns = [*map(language, plain.patterns), *map(unmatched, plain.unlike), *barred]
        least, most = plain.shortest, plain.longest
        if most is not None and most < least:
            raise nothing(place)
        measured = least > 0 or most is not None
        if not patterns:
            return self._rules.rule(f'"\\"" {repeated("char", least, most)} "\\""') if measured else "string"
        if len(patterns) == len(plain.patterns) == 1 and not measured:
            return self._rules.rule(f'"\\"" {written(patterns[0])} "\\""')
        with _at(place):
            tree = both((*patterns, Times(Chars(EVERY), least, most)))
            return self._rules.rule(f'"\\"" {self._automaton(tree, place)} "\\""')

    def _automaton(self, tree: Tree, place: str) -> str:
        def make() -> str:
            found = automaton(tree)
            if found is None:
                raise nothing(place)
            return self._rules.of_automaton(found)

        return self._rules.shared(tree, make)

    def _values(self, schemas: Together) -> Sequence[object] | None:
        """All values that meet schemas, none of them twice; None where they are too many."""
        found: dict[str, object] = {}
        for plain in self._unfolding.of_all(schemas, frozenset()):
            some = _few(plain)
            if some is None:
                return None
            found |= {same(value): value for value in self._judge.fitting(some, schemas)}
        return list(found.values())


def _few(plain: Plain) -> Sequence[object] | None:
    """The values that may meet a demand, where it leaves but a few."""
    types = plain.types or inferred(plain)
    if plain.values is not None:
        return plain.values
    if types is None or not types <= {"boolean", "null", "integer"}:
        return None
    found: list[object] = [True, False] if "boolean" in types else []
    found += [None] if "null" in types else []
    if "integer" not in types:
        return found
    low, high = whole_bounds(plain.bounds)
    return [*found, *range(low, high + 1)] if high - low < _MOST_VALUES else None


def _excluded(kind: str, plain: Plain) -> bool:
    """Whether bounds leave no number at all, and not only none that can be told by its digits."""
    low = max((plain.bounds[key] for key in ("minimum", "exclusiveMinimum") if key in plain.bounds), default=-math.inf)
    high = min((plain.bounds[key] for key in ("maximum", "exclusiveMaximum") if key in plain.bounds), default=math.inf)
    strict = low == plain.bounds.get("exclusiveMinimum") or high == plain.bounds.get("exclusiveMaximum")
    return kind == "integer" or bool(plain.multiples) or low > high or (low == high and strict)


@contextmanager
def _at(place: str) -> Iterator[None]:
    """Give errors that have no place this one."""
    try:
        yield
    except GrammarError as error:
        if error.key:
            raise
        what = error.message.rstrip(".")
        raise bad(place, f"cannot be kept: {what[0].lower()}{what[1:]}", hint=error.hint) from error


def _said(value: object, place: str) -> str:
    try:
        return literal(json_text(value))
    except ValueError as error:
        raise bad(place, "has a number that JSON cannot say") from error
