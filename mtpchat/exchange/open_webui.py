"""Exports of Open WebUI: an array of chats, each with `history.messages`, a mapping that names parents and children.

Reasoning of a model stands in its text there, in a folded block whose lines are quoted.
"""

from __future__ import annotations

import html
import re
from dataclasses import replace
from typing import Any

from mtpchat.exchange.findings import Found
from mtpchat.exchange.planting import Foreign, Origin, plant
from mtpchat.exchange.share_gpt import apart
from mtpchat.exchange.values import digest, items, mapping, moment, pictures, text, whole_text

FORM = "Open WebUI"
_REASONING = re.compile(
    r'\s*<details[^<>]{0,200}\btype="reasoning"[^<>]{0,200}>\s*(?:<summary>[^<]*</summary>)?(.*?)</details>\s*',
    re.DOTALL,
)
_QUOTE = re.compile(r"^> ?", re.MULTILINE)


def is_open_webui(value: dict[str, Any]) -> bool:
    """Whether an object is a chat of such a file, with or without what its list says of it."""
    chat = mapping(value.get("chat")) or value
    return bool(mapping(mapping(chat.get("history")).get("messages"))) or ("chat" in value and "messages" in chat)


def from_object(value: dict[str, Any], at: float) -> Found:
    """One chat. Raises NoChat."""
    chat = mapping(value.get("chat")) or value
    history = mapping(chat.get("history"))
    nodes = mapping(history.get("messages"))
    if nodes:
        order = sorted(nodes, key=lambda name: moment(mapping(nodes[name]).get("timestamp")) or 0.0)
        messages = [_foreign(name, text(mapping(nodes[name]).get("parentId")), mapping(nodes[name])) for name in order]
        messages = [one for one in messages if one.id]
    else:
        listed = [mapping(one) for one in items(chat.get("messages"))]
        messages = [_foreign(f"m{place}", f"m{place - 1}", one) for place, one in enumerate(listed)]
    system = text(mapping(chat.get("params")).get("system")) or text(chat.get("system"))
    if system:
        messages = _below_system(messages, system)
    given = text(value.get("id")) or text(chat.get("id"))
    origin = Origin(
        FORM,
        given or digest(*sorted(one.id + one.content for one in messages)),
        text(value.get("title")) or text(chat.get("title")),
        moment(value.get("created_at")) or moment(chat.get("timestamp")),
        moment(value.get("updated_at")),
        pinned=value.get("pinned") is True,
        current=text(history.get("currentId")),
    )
    return plant(origin, messages, at)


def _below_system(messages: list[Foreign], system: str) -> list[Foreign]:
    root = Foreign("system message", "", "system", system)
    known = {one.id for one in messages}
    return [root, *(one if one.parent in known else replace(one, parent=root.id) for one in messages)]


def _foreign(name: str, parent: str, message: dict[str, Any]) -> Foreign:
    said, role = whole_text(message.get("content")), text(message.get("role"))
    thinking = ""
    if role == "assistant":
        thinking, said = _without_reasoning(said)
    files = len(items(message.get("files")))
    left_out = {"files": files, "pictures and other parts": pictures(message.get("content"))}
    complete = message.get("done") is not False
    time = moment(message.get("timestamp"))
    model = text(message.get("model")) or text(message.get("modelName"))
    return Foreign(name, parent, role, said, thinking, time, complete, model, left_out=left_out)


def _without_reasoning(said: str) -> tuple[str, str]:
    found = _REASONING.match(said)
    if found is None:
        return apart(said)
    return _QUOTE.sub("", html.unescape(found[1].strip("\n"))), said[found.end() :]
