"""Values of foreign JSON, looked at with distrust: what is not as it should be is as if it were not there."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, cast

_MILLISECONDS_FROM, _LATEST = 1e11, 4e9


def text(value: object) -> str:
    """A text as it is; "" for anything else."""
    return value if isinstance(value, str) else ""


def mapping(value: object) -> dict[str, Any]:
    """An object as it is; an empty one for anything else."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def items(value: object) -> list[Any]:
    """An array as it is; an empty one for anything else."""
    return value if isinstance(value, list) else []


def moment(value: object) -> float | None:
    """Seconds since 1970 of a number (seconds, milliseconds, ...) or an ISO date; None for no time, or an odd one."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value).timestamp()
        except (ValueError, OverflowError, OSError):
            return None
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > 1e20 or not math.isfinite(value):
        return None
    seconds = float(value)
    while seconds > _MILLISECONDS_FROM:
        seconds /= 1000
    return seconds if 0 < seconds < _LATEST else None


def whole_text(value: object) -> str:
    """The text of a message: a string, or parts of which some are text, as in {"type": "text", "text": "..."}."""
    return "\n\n".join(texts(value))


def texts(value: object) -> Iterator[str]:
    """The parts of a message that are text."""
    if isinstance(value, str):
        yield value
    for part in items(value):
        said = part if isinstance(part, str) else mapping(part).get("text")
        if isinstance(said, str) and said:
            yield said


def pictures(value: object) -> int:
    """How many parts of a message are no text."""
    return sum(not isinstance(part, str) and "text" not in mapping(part) for part in items(value))


def encodable(value: object) -> object:
    """The same without halves of surrogate pairs, which nothing can write."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8") if _is_broken(value) else value
    if isinstance(value, list):
        return [encodable(one) for one in value]
    if isinstance(value, Mapping):
        return {encodable(key): encodable(one) for key, one in value.items()}
    return value


def _is_broken(value: str) -> bool:
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False


def digest(*parts: str) -> str:
    """An id that is the same whenever the parts are."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
