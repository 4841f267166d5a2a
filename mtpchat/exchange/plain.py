"""Plain chat files, as programs send them to servers: {"messages": [{"role": ..., "content": ...}]}, or a list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mtpchat.exchange.findings import Found
from mtpchat.exchange.planting import Foreign, Origin, plant
from mtpchat.exchange.share_gpt import apart
from mtpchat.exchange.values import digest, items, mapping, moment, pictures, text, whole_text

FORM = "messages"


def is_message(value: object) -> bool:
    """Whether a value is one message of such a list."""
    return isinstance(value, dict) and "role" in value and ("content" in value or "tool_calls" in value)


def is_plain(value: dict[str, Any]) -> bool:
    """Whether an object has such a list."""
    messages = items(value.get("messages"))
    return bool(messages) and is_message(messages[0])


def from_object(value: dict[str, Any], at: float) -> Found:
    """The chat of an object with messages. Raises NoChat."""
    return from_messages(items(value.get("messages")), at, value)


def from_messages(messages: Sequence[object], at: float, about: dict[str, Any] | None = None) -> Found:
    """The chat of a list of messages; `about` is what else is said of it. Raises NoChat."""
    about = about or {}
    model = text(about.get("model"))
    taken: list[Foreign] = []
    for place, each in enumerate(messages):
        one = mapping(each)
        role, said = text(one.get("role")), whole_text(one.get("content"))
        thinking = text(one.get("reasoning_content")) or text(one.get("thinking"))
        if role == "assistant" and not thinking:
            thinking, said = apart(said)
        before = taken[-1].id if taken else ""
        left_out = {
            "pictures and other parts": pictures(one.get("content")),
            "calls of tools": len(items(one.get("tool_calls"))),
        }
        name = digest(before, role, said, str(place))
        time = moment(one.get("timestamp") or one.get("created_at"))
        taken.append(
            Foreign(name, before, role, said, thinking, time, model=text(one.get("model")) or model, left_out=left_out)
        )
    given = str(about.get("id") or "")
    first = next((one.content for one in taken if one.role != "system"), "")
    key = digest(given, first) if given else digest(*(one.id for one in taken))
    created = moment(about.get("created") or about.get("created_at") or about.get("timestamp"))
    return plant(Origin(FORM, key, text(about.get("title")), created), taken, at)
