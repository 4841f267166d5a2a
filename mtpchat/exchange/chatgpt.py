"""The data export of ChatGPT, conversations.json: an array of conversations, each a mapping of nodes.

A node has a message, or none at the root, and names its parent and children. The content of a message has a type;
"text" and "multimodal_text" have parts, "thoughts" come as nodes before the answer, everything else are steps of tools.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from mtpchat.exchange.findings import Found
from mtpchat.exchange.planting import Foreign, Origin, plant
from mtpchat.exchange.values import digest, items, mapping, moment, pictures, text, texts

FORM = "ChatGPT"
_SILENT = frozenset({"reasoning_recap", "user_editable_context", "model_editable_context"})


def is_chatgpt(value: dict[str, Any]) -> bool:
    """Whether an object is a conversation of such a file."""
    return isinstance(value.get("mapping"), dict)


def from_object(value: dict[str, Any], at: float) -> Found:
    """One conversation. Raises NoChat."""
    nodes = {name: mapping(node) for name, node in mapping(value.get("mapping")).items() if name}
    parents = {name: text(node.get("parent")) for name, node in nodes.items()}
    for name, node in nodes.items():  # some exports name the children alone
        for child in items(node.get("children")):
            if isinstance(child, str) and not parents.get(child, name):
                parents[child] = name
    default = text(value.get("default_model_slug"))
    messages = [_foreign(name, parents[name], mapping(node.get("message")), default) for name, node in _sorted(nodes)]
    given = text(value.get("conversation_id")) or text(value.get("id"))
    origin = Origin(
        FORM,
        given or digest(*sorted(nodes)),
        text(value.get("title")),
        moment(value.get("create_time")),
        moment(value.get("update_time")),
        pinned=value.get("is_starred") is True,
        current=text(value.get("current_node")),
    )
    return plant(origin, messages, at)


def _sorted(nodes: dict[str, dict[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    """Versions in the order in which their parent names them; a mapping may have any order."""
    order = [child for node in nodes.values() for child in items(node.get("children")) if isinstance(child, str)]
    place = {name: at for at, name in enumerate(order)}
    return sorted(nodes.items(), key=lambda item: place.get(item[0], -1))


def _foreign(name: str, parent: str, message: dict[str, Any], default: str) -> Foreign:
    content, about = mapping(message.get("content")), mapping(message.get("metadata"))
    role = text(mapping(message.get("author")).get("role"))
    said, thinking, left_out = _said(role, content, message)
    if about.get("is_visually_hidden_from_conversation") is True and not about.get("is_user_system_message"):
        said = ""
    return Foreign(
        name,
        parent,
        role,
        said,
        thinking,
        moment(message.get("create_time")),
        message.get("status") != "in_progress",
        (text(about.get("model_slug")) or default) if role == "assistant" else "",
        left_out=left_out,
    )


def _said(role: str, content: dict[str, Any], message: dict[str, Any]) -> tuple[str, str, Counter[str]]:
    """Text, thinking, and what is left out of a message."""
    kind, left_out = text(content.get("content_type")), Counter[str]()
    if role == "system" and not any(texts(content.get("parts"))):
        return "", "", left_out
    if kind == "thoughts":
        thoughts = (text(mapping(one).get("content")) for one in items(content.get("thoughts")))
        return "", "\n\n".join(filter(None, thoughts)), left_out
    if kind in _SILENT:
        return "", "", left_out
    if role == "assistant" and message.get("recipient", "all") not in ("all", None):
        left_out["calls of tools"] += 1
        return "", "", left_out
    parts = content.get("parts")
    left_out["pictures and other parts"] += pictures(parts)
    return "\n\n".join(texts(parts)) or text(content.get("text")), "", left_out
