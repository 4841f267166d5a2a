"""Messages of other programs become a tree of ours.

Other programs keep system messages, tools and hidden steps in the tree; here a tree holds what user and model said,
and the system message belongs to each answer. Ids are made from theirs, so that a file that is read twice, or once more
after the chat went on, brings the same messages.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from mtpchat.chats import title_of
from mtpchat.exchange.findings import Found, NoChat
from mtpchat.exchange.values import digest
from mtpchat.messages import Attachment, Role
from mtpchat.whole_chat import MadeTurn, Node, WholeChat, said_in

_ROLES: Mapping[str, Role] = {
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "gpt": "assistant",
    "model": "assistant",
    "chatgpt": "assistant",
    "bot": "assistant",
    "system": "system",
    "developer": "system",
}
_LONGEST_TITLE = 200


@dataclass(frozen=True, slots=True)
class Foreign:
    """A message as another program has it.

    Attributes:
        id: unique in its chat.
        parent: id of the one it answers; "" for a first one.
        role: in the words of that program.
        left_out: what of it could not be taken.
    """

    id: str
    parent: str
    role: str
    content: str
    thinking: str = ""
    created: float | None = None
    complete: bool = True
    model: str = ""
    attachments: tuple[Attachment, ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a chat comes from.

    Attributes:
        form: the format, for people.
        key: what tells this chat from all others of that format.
        current: id of the message that is shown last, or "".
    """

    form: str
    key: str
    title: str = ""
    created: float | None = None
    updated: float | None = None
    pinned: bool = False
    current: str = ""


def plant(origin: Origin, messages: Sequence[Foreign], at: float) -> Found:
    """The tree of these messages.

    Args:
        at: seconds since 1970, where no time is known.

    Raises:
        NoChat: none of them can be taken.
    """
    bed = _Bed(digest("chat", origin.form, origin.key)[:12], origin, at)
    for message, alone in _in_order(messages):
        bed.put(message, alone=alone)
    bed.left_out["messages without a place"] += len(messages) - bed.seen
    if not bed.nodes:
        raise NoChat("there is no message of a user or a model in it")
    nodes = bed.tree()
    created = origin.created or min(node.created for node in nodes)
    title = " ".join(origin.title.split())[:_LONGEST_TITLE]
    chat = WholeChat(
        bed.chat,
        title or title_of([said_in(node) for node in nodes]),
        created,
        max(origin.updated or 0.0, created, *(node.created for node in nodes)),
        origin.pinned,
        named=bool(title),
        leaf=bed.places.get(origin.current) or nodes[-1].id,
        messages=nodes,
    )
    return Found(chat, origin.form, +bed.left_out)


def _in_order(messages: Sequence[Foreign]) -> list[tuple[Foreign, bool]]:
    """Each message once, behind its parent, and whether it has no versions beside it; circles are left out."""
    known = {message.id: message for message in messages}
    below: dict[str, list[Foreign]] = {}
    for message in known.values():
        below.setdefault(message.parent if message.parent in known else "", []).append(message)
    order = list[tuple[Foreign, bool]]()
    waiting = [""]
    while waiting:
        place = waiting.pop()
        if place:
            message = known[place]
            beside = below[message.parent if message.parent in known else ""]
            order.append((message, len(beside) == 1))
        waiting.extend(message.id for message in reversed(below.get(place, [])))
    return order


class _Bed:
    """A tree while it grows. `places` says which node another program's message became, or hangs below."""

    def __init__(self, chat: str, origin: Origin, at: float) -> None:
        self.chat = chat
        self.nodes: dict[str, Node] = {}
        self.places: dict[str, str] = {}
        self.left_out: Counter[str] = Counter()
        self.seen = 0
        self._at = origin.created or at
        self._systems: dict[str, str] = {}
        self._branching: set[str] = set()
        self._joining: dict[str, list[Foreign]] = {}

    def put(self, message: Foreign, *, alone: bool) -> None:
        """A message whose parent was put before; `alone` has no versions beside it."""
        self.seen += 1
        self.left_out.update(message.left_out)
        role = _ROLES.get(message.role.casefold())
        self.places[message.id] = parent = self.places.get(message.parent, "")
        self._systems[message.id] = self._systems.get(message.parent, "")
        if not alone or message.parent in self._branching:
            self._branching.add(message.id)
        if role == "system":
            self._systems[message.id] = message.content
        elif role is None:
            self.left_out[f"messages of {message.role[:40]!r}"] += bool(message.content and message.role)
        elif message.content or message.thinking or message.attachments:
            self._grow(message, role, parent)
            self._branching.discard(message.id)

    def tree(self) -> tuple[Node, ...]:
        """All messages, with what they go on with."""
        joined = {name: _joined(self.nodes[name], more) for name, more in self._joining.items()}
        return tuple((self.nodes | joined).values())

    def _grow(self, message: Foreign, role: Role, parent: str) -> None:
        before = self.nodes.get(parent)
        # What one side says in a row is one message here; templates refuse it otherwise. Versions stay versions.
        if before is not None and before.role == role and message.id not in self._branching:
            self._joining.setdefault(parent, []).append(message)
            return
        name = digest(self.chat, message.id)[:20]
        created = message.created or (before.created if before else self._at)
        turn = MadeTurn(
            digest(name, "turn")[:20],
            created,
            created,
            model_name=message.model,
            system=self._systems[message.id],
            finish_reason=_reason(message),
        )
        made = (turn,) if role == "assistant" else ()
        self.nodes[name] = Node(
            name,
            role,
            message.content,
            parent or None,
            message.thinking,
            created,
            message.complete,
            message.attachments,
            made,
        )
        self.places[message.id] = name


def _joined(before: Node, more: Sequence[Foreign]) -> Node:
    """A message and what the same side says behind it."""
    last = more[-1]
    model = next((one.model for one in more if one.model), "")
    turns = tuple(
        msgspec.structs.replace(turn, model_name=turn.model_name or model, finish_reason=_reason(last))
        for turn in before.turns
    )
    return msgspec.structs.replace(
        before,
        content="\n\n".join(filter(None, (before.content, *(one.content for one in more)))),
        thinking="\n\n".join(filter(None, (before.thinking, *(one.thinking for one in more)))),
        complete=last.complete,
        attachments=(*before.attachments, *(file for one in more for file in one.attachments)),
        turns=turns,
    )


def _reason(message: Foreign) -> str:
    return "stop" if message.complete else "cancelled"
