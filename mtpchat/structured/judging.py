"""Whether a value that a schema lists is valid by all the rest of it.

What is listed can be held against every keyword there is, also those that no grammar could keep: by the jsonschema
library, which is imported where more than types stands beside a list.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mtpchat.structured.plain import Placed, Together, is_of, same
from mtpchat.structured.reading import bad, says

_SIMPLE = frozenset({"type", "enum", "const"})


@dataclass(slots=True)
class Judge:
    """Judges values by schemas of one file.

    Attributes:
        root: the whole file, which references point into.
    """

    root: object
    _library: Any = field(default=None, init=False)

    def fits(self, value: object, schemas: Together) -> bool:
        """Whether a value is valid by all of these. Raises GrammarError where a schema is malformed."""
        return all(self._fits(value, one) for one in schemas)

    def _fits(self, value: object, one: Placed) -> bool:
        if isinstance(one.schema, Mapping) and _SIMPLE.issuperset(says(one.schema)):
            return _is_listed(value, one.schema)
        from jsonschema.exceptions import SchemaError  # type: ignore[import-untyped]
        from referencing.exceptions import Unresolvable

        validator = self._validator()
        try:
            validator.check_schema(one.schema)
            return bool(validator.evolve(schema=one.schema).is_valid(value))
        except SchemaError as error:
            raise bad(one.place, f"is malformed: {error.message[:200]}") from error
        except (Unresolvable, re.error) as error:
            raise bad(one.place, f"cannot be used: {str(error)[:200]}") from error

    def _validator(self) -> Any:
        if self._library is None:
            from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
            from referencing import Registry

            # An empty registry: nothing is ever fetched.
            checker = Draft202012Validator.FORMAT_CHECKER
            self._library = Draft202012Validator(self.root, registry=Registry(), format_checker=checker)
        return self._library


def _is_listed(value: object, schema: Mapping[str, Any]) -> bool:
    """Whether a value is one that a schema of nothing but values and types allows."""
    asked = schema.get("type")
    if asked is not None and not is_of(value, frozenset([asked] if isinstance(asked, str) else asked)):
        return False
    if "const" in schema and same(value) != same(schema["const"]):
        return False
    return "enum" not in schema or same(value) in {same(one) for one in schema["enum"]}
