"""A chat with everything that is known of it, as a plain value: what exports hold and imports bring.

In files of JSON it looks just like this; names here are names there.
"""

from __future__ import annotations

import msgspec

from mtpchat.messages import Attachment, Message, Role


class MadeTurn(msgspec.Struct, frozen=True):
    """How an answer, or the next part of it, was generated.

    Attributes:
        started, ended: seconds since 1970.
        machine: what it was generated on, "" unknown.
        stats: counters by name, see TurnStats; None where nothing was counted.
        finish_reason: "stop", "length", ..., see TurnEnded; None unknown.
    """

    id: str
    started: float = 0.0
    ended: float | None = None
    model: str = ""
    model_name: str = ""
    drafter: str = ""
    kind: str = "none"
    machine: str = ""
    sampling: dict[str, object] = {}
    seed: int = 0
    system: str = ""
    stats: dict[str, object] | None = None
    finish_reason: str | None = None


class Node(msgspec.Struct, frozen=True):
    """A message in its place in the tree; `parent` is None for a first one."""

    id: str
    role: Role
    content: str
    parent: str | None = None
    thinking: str = ""
    created: float = 0.0
    complete: bool = True
    attachments: tuple[Attachment, ...] = ()
    turns: tuple[MadeTurn, ...] = ()


class WholeChat(msgspec.Struct, frozen=True):
    """A chat with all its branches.

    Attributes:
        named: the title was given by the user or the model; otherwise it is the first words.
        leaf: id of the message that is shown last; None where everything was taken back.
        options: choices for this chat alone, see ChatOptions.
        messages: each behind the one it answers.
    """

    id: str
    title: str = ""
    created: float = 0.0
    updated: float = 0.0
    pinned: bool = False
    deleted: bool = False
    named: bool = False
    leaf: str | None = None
    options: dict[str, object] = {}
    messages: tuple[Node, ...] = ()


class Taken(msgspec.Struct, frozen=True):
    """What a chat of a file brought to those that are kept: whether it is a new one, and how many of its messages."""

    is_new: bool
    messages: int


def shown(chat: WholeChat) -> tuple[Node, ...]:
    """The branch that is shown, the first message first; where everything was taken back, the newest one."""
    nodes = {node.id: node for node in chat.messages}
    at: str | None = chat.leaf if chat.leaf in nodes else next(reversed(nodes), None)
    path: list[Node] = []
    while at is not None and at in nodes:
        node = nodes.pop(at)
        path.append(node)
        at = node.parent
    return tuple(reversed(path))


def system_of(chat: WholeChat) -> str:
    """The system message of the last answer that is shown, or ""."""
    return next((node.turns[-1].system for node in reversed(shown(chat)) if node.turns), "")


def model_of(chat: WholeChat) -> str:
    """What the model is called that gave the last of the shown answers of which that is known, or ""."""
    names = (node.turns[-1].model_name for node in reversed(shown(chat)) if node.turns)
    return next(filter(None, names), "")


def said_in(node: Node) -> Message:
    """The message without its place."""
    return Message(node.role, node.content, node.thinking, node.complete, node.attachments)
