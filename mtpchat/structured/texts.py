"""How JSON is written: ready-made rules, values, and patterns for the formats of strings that a schema can ask for."""

from __future__ import annotations

import json

_HEX = "[0-9a-fA-F]"
CHAR = (
    r"[ !#-\[\]-\uD7FF\uE000-\U0010FFFF]"
    rf' | "\\" (["\\/bfnrt] | "u" ([0-9a-cA-CeEfF] {_HEX}{{3}} | [dD] [0-7] {_HEX}{{2}}))'
)
"""One character of a JSON string. A half of a surrogate pair is none."""
_WHOLE = '("0" | [1-9] [0-9]{0,14})'

JSON_RULES: dict[str, tuple[str, tuple[str, ...]]] = {
    "value": (
        "object | array | string | number | boolean | null",
        ("object", "array", "string", "number", "boolean", "null"),
    ),
    "object": ('"{" (pair (", " pair)*)? "}"', ("pair",)),
    "pair": ('string ": " value', ("string", "value")),
    "array": ('"[" (value (", " value)*)? "]"', ("value",)),
    "string": (r'"\"" char* "\""', ("char",)),
    "char": (CHAR, ()),
    "integer": (f'"-"? {_WHOLE}', ()),
    "number": (f'"-"? {_WHOLE} ("." [0-9]{{1,15}})? ([eE] [-+]? [0-9]{{1,2}})?', ()),
    "boolean": ('"true" | "false"', ()),
    "null": ('"null"', ()),
}
"""Name -> body, and the names that it uses."""

_YEAR = "[0-9]{3}[1-9]"
_DAY = "((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]|2[0-8]))"
_CLOCK = r"([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,6})?"
_ZONE = "(Z|[+-](0[0-9]|1[0-4]):(00|30))"
_BYTE = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9][0-9]|[0-9])"
_LABEL = "[a-z0-9]{1,20}(-[a-z0-9]{1,12}){0,2}"
_HOST = rf"{_LABEL}(\.{_LABEL}){{1,4}}"

FORMATS: dict[str, str] = {
    "date": f"^{_YEAR}-{_DAY}$",
    "time": f"^{_CLOCK}{_ZONE}$",
    "date-time": f"^{_YEAR}-{_DAY}T{_CLOCK}{_ZONE}$",
    "uuid": f"^{_HEX}{{8}}(-{_HEX}{{4}}){{3}}-{_HEX}{{12}}$",
    "ipv4": rf"^{_BYTE}(\.{_BYTE}){{3}}$",
    "ipv6": f"^({_HEX}{{1,4}}:){{7}}{_HEX}{{1,4}}$",
    "duration": "^P([1-9][0-9]{0,2}W|[1-9][0-9]{0,3}D(T[1-9][0-9]?H)?|T[1-9][0-9]?(H([1-9][0-9]?M)?|M|S))$",
    "hostname": f"^{_HOST}$",
    "email": f"^[A-Za-z0-9]([A-Za-z0-9_+-]{{0,62}}[A-Za-z0-9])?@{_HOST}$",
    "uri": f"^https?://{_HOST}(/[A-Za-z0-9._~/?=&+-]*)?$",
}
"""Format -> a string of it. February has 28 days, years do not end in 0, and no two hyphens stand together in the name
of a host, where they can mean that it is spelled in another alphabet: what is said is valid in any case."""

_NAME = "[a-z0-9]+(-[a-z0-9]+)*"
_NAMES = rf"{_NAME}(\.{_NAME})+"
OF_A_LENGTH: dict[str, str] = {
    "hostname": f"^{_NAMES}$",
    "email": rf"^[A-Za-z0-9]+([._+-][A-Za-z0-9]+)*@{_NAMES}$",
    "uri": f"^https?://{_NAMES}(/[A-Za-z0-9._~/?=&+-]*)?$",
}
"""Formats that take few states together with a length, and are right up to LONGEST_NAME letters."""
LONGEST_NAME = 60


def json_text(value: object) -> str:
    """A value as the answer would say it. Raises ValueError for numbers that JSON lacks."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return text if text.isascii() or text.encode("utf-8", "replace").decode() == text else json.dumps(value)
