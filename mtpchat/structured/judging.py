"""Whether a value that a schema lists is valid by all the rest of it.

What is listed can be held against every keyword there is, also those that no grammar could keep: by the jsonschema
library, which is imported where more than types stands beside a list.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from mtpchat.structured.patterns import language
from mtpchat.structured.plain import Placed, Together, is_of, same
from mtpchat.structured.reading import bad, says
from mtpchat.structured.regular import matches

_SIMPLE = frozenset({"type", "enum", "const"})


@dataclass(slots=True)
class Judge:
    """Judges values by schemas of one file.

    Attributes:
        root: the whole file, which references point into.
    """

    root: object
    _library: Any = field(default=None, init=False)

    def fitting(self, values: Iterable[object], schemas: Together) -> list[object]:
        """The values that are valid by all of these. Raises GrammarError where a schema is malformed."""
        found = list(values)
        for one in schemas:
            found = self._fitting(found, one)
        return found

    def _fitting(self, values: list[object], one: Placed) -> list[object]:
        if not isinstance(one.schema, Mapping):
            return values if one.schema is True else []
        fitting = _listed(values, one.schema)
        if _SIMPLE.issuperset(says(one.schema)):
            return fitting
        from jsonschema.exceptions import SchemaError  # type: ignore[import-untyped]
        from referencing.exceptions import Unresolvable

        validator = self._validator()
        rest = {key: value for key, value in one.schema.items() if key not in _SIMPLE}
        try:
            validator.check_schema(one.schema)
            valid = validator.evolve(schema=rest).is_valid
            return [value for value in fitting if valid(value)]
        except SchemaError as error:
            raise bad(one.place, f"is malformed: {error.message[:200]}") from error
        except (Unresolvable, re.error) as error:
            raise bad(one.place, f"cannot be used: {str(error)[:200]}") from error

    def _validator(self) -> Any:
        if self._library is None:
            from jsonschema import Draft202012Validator, validators  # type: ignore[import-untyped]
            from referencing import Registry

            made = validators.extend(Draft202012Validator, {"pattern": _pattern})
            # An empty registry: nothing is ever fetched.
            checker = Draft202012Validator.FORMAT_CHECKER
            self._library = made(self.root, registry=Registry(), format_checker=checker)
        return self._library


def _pattern(validator: Any, pattern: str, value: object, _schema: object) -> Iterator[Any]:
    """The keyword "pattern" as grammars have it, in a time that does not explode."""
    from jsonschema.exceptions import ValidationError

    if validator.is_type(value, "string") and not matches(language(pattern), str(value)):
        yield ValidationError(f"{value!r} does not match {pattern!r}")


def _listed(values: list[object], schema: Mapping[str, Any]) -> list[object]:
    """The values that a schema allows by what it lists and the types that it names."""
    asked = schema.get("type")
    if asked is not None:
        types = frozenset([asked] if isinstance(asked, str) else asked)
        values = [value for value in values if is_of(value, types)]
    for key, listed in (("const", [schema.get("const")]), ("enum", schema.get("enum"))):
        if key in schema:
            allowed = set(map(same, listed or []))
            values = [value for value in values if same(value) in allowed]
    return values
