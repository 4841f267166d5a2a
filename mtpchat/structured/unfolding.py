"""A JSON schema taken apart: keywords that combine schemas become alternatives, each of which is a plain demand.

What is found may be less than the schema allows and is never more. So `not` is not the opposite of what `alternatives`
finds, but is found keyword by keyword; where that cannot be done the keyword is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count, product
from typing import Any
from urllib.parse import unquote

from mtpchat.errors import GrammarError
from mtpchat.structured.plain import TYPES, Placed, Plain, Together, meet
from mtpchat.structured.reading import bad, escaped, names, plain_of, says, some, type_of

_MOST, _MOST_STEPS = 64, 30_000
Open = frozenset[str]
"""References that are being followed with nothing said in between; meeting one again is a circle."""
_OPPOSITE = {
    "minimum": "exclusiveMaximum",
    "maximum": "exclusiveMinimum",
    "exclusiveMinimum": "maximum",
    "exclusiveMaximum": "minimum",
}


@dataclass(frozen=True, slots=True)
class Unfolding:
    """Takes the schemas of one file apart.

    Attributes:
        root: the whole file, which references point into.
    """

    root: object
    _steps: Iterator[int] = field(default_factory=count)

    def of_all(self, schemas: Together, opened: Open) -> list[Plain]:
        """What schemas demand together."""
        found = self.of(schemas[0], opened) if schemas else [Plain()]
        for one in schemas[1:]:
            found = self._product(found, self.of(one, opened), one.place)
        return found

    def of(self, one: Placed, opened: Open) -> list[Plain]:
        """What a schema demands; of nothing, nothing meets it."""
        schema, place = one.schema, one.place
        self._step(place)
        if isinstance(schema, bool):
            return [Plain()] if schema else []
        if not isinstance(schema, Mapping):
            raise bad(place, "is no schema (an object is expected)")
        found = [plain_of(schema, place)]
        for part in self._combined(schema, place, opened):
            found = self._product(found, part, place)
        return found

    def _combined(self, schema: Mapping[str, Any], place: str, opened: Open) -> Iterator[list[Plain]]:
        if "$ref" in schema:
            target, still = self.behind(schema["$ref"], place, opened)
            yield self.of(target, still)
        for one in self.listed(schema, "allOf", place):
            yield self.of(one, opened)
        if "anyOf" in schema:
            yield [found for one in self.listed(schema, "anyOf", place) for found in self.of(one, opened)]
        if "oneOf" in schema:
            yield self._one_of(self.listed(schema, "oneOf", place), place, opened)
        if "not" in schema:
            yield self.none_of(Placed(schema["not"], f"{place}/not"), opened)
        if "if" in schema and ("then" in schema or "else" in schema):
            yield self._if(schema, place, opened)
        yield from self._dependent(schema, place, opened)

    def behind(self, pointer: object, place: str, opened: Open) -> tuple[Placed, Open]:
        """The schema that a reference points to, and what is open then."""
        if not isinstance(pointer, str) or not pointer.startswith("#"):
            raise bad(f"{place}/$ref", "points outside of this file, which cannot be followed")
        if pointer in opened:
            raise bad(f"{place}/$ref", "refers to itself without end")
        found: Any = self.root
        for part in pointer.split("/")[1:]:
            key = unquote(part).replace("~1", "/").replace("~0", "~")
            if isinstance(found, list) and key.isdecimal() and int(key) < len(found):
                found = found[int(key)]
            elif isinstance(found, Mapping) and key in found:
                found = found[key]
            else:
                raise bad(f"{place}/$ref", f'points to "{pointer}", which is not there')
        return Placed(found, pointer), opened | {pointer}

    @staticmethod
    def listed(schema: Mapping[str, Any], key: str, place: str) -> list[Placed]:
        """The schemas in a list of them; none where there is no such keyword."""
        if key not in schema:
            return []
        return [Placed(one, f"{place}/{key}/{at}") for at, one in enumerate(some(schema[key], f"{place}/{key}"))]

    def _one_of(self, options: list[Placed], place: str, opened: Open) -> list[Plain]:
        """Each of the choices without all the others that it could be at once."""
        found: list[Plain] = []
        for option in options:
            mine = self.of(option, opened)
            for another in options:
                if another is option or not self.overlap(mine, another, opened):
                    continue
                try:
                    mine = self._product(mine, self.none_of(another, opened), place)
                except GrammarError as error:
                    raise _met_at_once(place) from error
            found += mine
        if not found:
            raise _met_at_once(place)
        return found

    def overlap(self, some: list[Plain], another: Placed, opened: Open) -> bool:
        """Whether a value might meet one of some demands and another schema, too."""
        others = self.of(another, opened)
        for one, other in product(some, others):
            self._step(another.place)
            if meet(one, other) is not None:
                return True
        return False

    def _if(self, schema: Mapping[str, Any], place: str, opened: Open) -> list[Plain]:
        asked, then = Placed(schema["if"], f"{place}/if"), Placed(schema.get("then", True), f"{place}/then")
        otherwise = self.of(Placed(schema.get("else", True), f"{place}/else"), opened)
        if then.schema is True:  # what meets the first need not be left out of the second
            return self.of(asked, opened) + otherwise
        found = self._product(self.of(asked, opened), self.of(then, opened), place)
        return found + self._product(self.none_of(asked, opened), otherwise, place)

    def _dependent(self, schema: Mapping[str, Any], place: str, opened: Open) -> Iterator[list[Plain]]:
        for key in ("dependentRequired", "dependentSchemas"):
            wanted = schema.get(key, {})
            if not isinstance(wanted, Mapping):
                raise bad(f"{place}/{key}", "is no object")
            for name, asked in wanted.items():
                here = f"{place}/{key}/{escaped(name)}"
                if key == "dependentRequired":
                    found = [Plain(required=names(asked, here))]
                else:
                    found = self.of(Placed(asked, here), opened)
                yield [_lacking(name, here), *found]

    def none_of(self, one: Placed, opened: Open) -> list[Plain]:
        """What a value must be so that a schema does not hold of it.

        Raises:
            GrammarError: for keywords whose opposite a grammar cannot say.
        """
        schema, place = one.schema, one.place
        if isinstance(schema, bool):
            return [] if schema else [Plain()]
        if not isinstance(schema, Mapping):
            raise bad(place, "is no schema (an object is expected)")
        found: list[Plain] = []
        for key in says(schema):
            found += self._without(key, schema, place, opened)
        return found

    def _without(self, key: str, schema: Mapping[str, Any], place: str, opened: Open) -> list[Plain]:
        match key:
            case "$ref":
                return self.none_of(*self.behind(schema["$ref"], place, opened))
            case "not":
                return self.of(Placed(schema["not"], f"{place}/not"), opened)
            case "allOf":
                return [found for one in self.listed(schema, key, place) for found in self.none_of(one, opened)]
            case "anyOf":
                found = [Plain()]
                for one in self.listed(schema, key, place):
                    found = self._product(found, self.none_of(one, opened), place)
                return found
            case _:
                return _opposite(key, schema[key], place)

    def _product(self, some: list[Plain], others: list[Plain], place: str) -> list[Plain]:
        """Each of some together with each of others, as far as that can be."""
        found: list[Plain] = []
        for one, other in product(some, others):
            self._step(place)
            both = meet(one, other)
            found += [both] if both is not None else []
            if len(found) > _MOST:
                raise bad(place, f"has more than {_MOST} combinations of choices")
        return found

    def _step(self, place: str) -> None:
        if next(self._steps) > _MOST_STEPS:
            raise bad(place, "is combined of others in too many ways")


def _opposite(key: str, value: object, place: str) -> list[Plain]:
    """Demands that are met by what one keyword forbids."""
    asked = plain_of({key: value}, place)
    kind = frozenset({type_of(key)})
    match key:
        case "type":
            return [Plain(_other_types(asked.types or frozenset()))]
        case "const" | "enum":
            return [Plain(barred=asked.values or ())]
        case "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum":
            return [Plain(kind, bounds={_OPPOSITE[key]: asked.bounds[key]})]
        case "minLength":
            return [Plain(kind, longest=asked.shortest - 1)] if asked.shortest else []
        case "maxLength":
            return [Plain(kind, shortest=(asked.longest or 0) + 1)]
        case "pattern":
            return [Plain(kind, unlike=asked.patterns)]
        case "minItems":
            return [Plain(kind, most=asked.fewest - 1)] if asked.fewest else []
        case "maxItems":
            return [Plain(kind, fewest=(asked.most or 0) + 1)]
        case "required":
            return [_lacking(name, f"{place}/required", kind) for name in asked.required]
        case "properties":
            return [
                Plain(kind, properties={name: (Placed({"not": one.schema}, one.place),)}, required=(name,))
                for name, schemas in asked.properties.items()
                for one in schemas
            ]
        case _:
            raise bad(f"{place}/{escaped(key)}", "cannot be kept by a grammar where it must not hold")


def _lacking(name: str, place: str, types: frozenset[str] | None = None) -> Plain:
    """An object without a property."""
    return Plain(types, properties={name: (Placed(False, place),)})


def _other_types(types: frozenset[str]) -> frozenset[str]:
    """All other types. What is no whole number cannot be told from one by its type alone and is given up."""
    numbers = {"integer", "number"}
    found = frozenset(TYPES) - types
    return found - numbers if types & numbers else found - {"integer"}


def _met_at_once(place: str) -> GrammarError:
    return bad(f"{place}/oneOf", "has choices that a text could meet at once", hint="Say anyOf if that may be.")
