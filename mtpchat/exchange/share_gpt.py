"""ShareGPT: one conversation a line, as training tools read it; the branch that is shown."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from mtpchat.attachments.framing import with_files
from mtpchat.exchange.findings import Found
from mtpchat.exchange.planting import Foreign, Origin, plant
from mtpchat.exchange.values import digest, items, mapping, moment, text, whole_text
from mtpchat.whole_chat import Node, WholeChat, shown, system_of

FORM = "ShareGPT"
_WHO = {"user": "human", "assistant": "gpt", "system": "system"}
_THOUGHT = re.compile(r"\s*<think>\n?(.*?)\n?</think>\s*", re.DOTALL)


def as_lines(chats: Sequence[WholeChat]) -> str:
    """One line of ASCII for each chat."""
    return "".join(f"{json.dumps(as_object(chat))}\n" for chat in chats)


def as_object(chat: WholeChat) -> dict[str, object]:
    """A conversation; files stand above what was said with them, thoughts before the answer in the tags of models."""
    system = system_of(chat)
    turns = [{"from": "system", "value": system}] if system else []
    turns += [{"from": _WHO[node.role], "value": _value(node)} for node in shown(chat)]
    return {"id": chat.id, "title": chat.title, "conversations": turns}


def _value(node: Node) -> str:
    said = with_files(node.content, node.attachments)
    return f"<think>\n{node.thinking}\n</think>\n\n{said}" if node.thinking else said


def is_share_gpt(value: dict[str, Any]) -> bool:
    """Whether an object has such turns."""
    turns = items(value.get("conversations"))
    return bool(turns) and isinstance(turns[0], dict)


def from_object(value: dict[str, Any], at: float) -> Found:
    """The conversation of one line. Raises NoChat."""
    messages: list[Foreign] = []
    for place, each in enumerate(items(value.get("conversations"))):
        turn = mapping(each)
        role = text(turn.get("from")) or text(turn.get("role"))
        said = whole_text(turn.get("value", turn.get("content")))
        thinking, said = apart(said) if role.casefold() not in ("human", "user", "system") else ("", said)
        before = messages[-1].id if messages else ""
        messages.append(Foreign(_name(before, role, said, place), before, role, said, thinking))
    given = str(value.get("id") or "")
    first = next((one.content for one in messages if one.role != "system"), "")
    # Ids of data sets are not unique in the world; with the first words they are.
    key = digest(given, first) if given else digest(*(one.id for one in messages))
    origin = Origin(FORM, key, text(value.get("title")), moment(value.get("created")))
    return plant(origin, messages, at)


def apart(said: str) -> tuple[str, str]:
    """Thoughts in tags before an answer, and the answer."""
    found = _THOUGHT.match(said)
    return (found[1], said[found.end() :]) if found else ("", said)


def _name(before: str, role: str, said: str, place: int) -> str:
    return digest(before, role, said, str(place))
