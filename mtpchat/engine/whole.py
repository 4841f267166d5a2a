"""The chat of a session with all its branches, as exports want it, also where nothing is kept."""

from __future__ import annotations

import msgspec

from mtpchat.chats import Said, new_chat_id, title_of
from mtpchat.engine.conversation import Conversation
from mtpchat.whole_chat import MadeTurn, Node, WholeChat


def whole_of(talk: Conversation, system: str) -> WholeChat:
    """The tree of a conversation; `system` is the system message in force."""
    said = talk.branches.nodes
    times = [one.created for one in said] or [0.0]
    return WholeChat(
        talk.chronicle.chat or new_chat_id(),
        talk.chronicle.title or title_of(talk.messages),
        min(times),
        max(times),
        named=talk.chronicle.named,
        leaf=talk.branches.leaf or None,
        options={name: value for name, value in msgspec.structs.asdict(talk.options).items() if value},
        messages=tuple(_node(talk, one, system) for one in said),
    )


def _node(talk: Conversation, said: Said, system: str) -> Node:
    made = talk.made_of(said.id)
    turn = MadeTurn(
        f"{said.id}.exported",
        said.created,
        model_name=made.model,
        kind=made.stats.kind if made.stats is not None else "none",
        sampling=msgspec.to_builtins(made.sampling) if made.sampling is not None else {},
        seed=made.seed or 0,
        system=system,
        stats=msgspec.to_builtins(made.stats) if made.stats is not None else None,
        finish_reason=made.reason or None,
    )
    turns = (turn,) if said.role == "assistant" else ()
    texts = (said.content, said.parent or None, said.thinking)
    return Node(said.id, said.role, *texts, said.created, said.complete, said.attachments, turns)
