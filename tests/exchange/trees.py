"""Chats of any shape, for laws."""

from __future__ import annotations

from hypothesis import strategies as st

from mtpchat.messages import Attachment, Role
from mtpchat.whole_chat import MadeTurn, Node, WholeChat

WORDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30)
_SIDES: tuple[Role, ...] = ("user", "assistant")
TIMES = st.integers(0, 2_000_000_000).map(float)
FILES = st.lists(st.builds(Attachment, WORDS, WORDS), max_size=2).map(tuple)
STATS = st.none() | st.just({"output_tokens": 9, "drafted": 4, "accepted": 3, "accepted_at": [2, 1], "kind": "mtp"})


@st.composite
def turns(draw: st.DrawFn, name: str) -> tuple[MadeTurn, ...]:
    """How an answer was made, in none to two attempts."""
    count = draw(st.integers(0, 2))
    return tuple(
        MadeTurn(
            f"{name}.{at}",
            1000.0 * at,
            draw(st.none() | TIMES),
            model_name=draw(st.sampled_from(["Tiny", ""])),
            machine="m",
            sampling={"temperature": 0.5},
            seed=draw(st.integers(0, 2**31)),
            system=draw(st.sampled_from(["", "Be brief."])),
            stats=draw(STATS),
            finish_reason=draw(st.sampled_from([None, "stop"])),
        )
        for at in range(count)
    )


@st.composite
def chats(draw: st.DrawFn, name: str = "chat") -> WholeChat:
    """A chat that is a tree of one to eight messages."""
    nodes: list[Node] = []
    for at in range(draw(st.integers(1, 8))):
        parent = draw(st.none() | st.sampled_from([node.id for node in nodes])) if nodes else None
        role: Role = draw(st.sampled_from(_SIDES))
        own = f"{name}-{at}"
        made = draw(turns(own)) if role == "assistant" else ()
        thinking = draw(st.just("") | WORDS) if role == "assistant" else ""
        files = draw(FILES) if role == "user" else ()
        nodes.append(Node(own, role, draw(WORDS), parent, thinking, draw(TIMES), draw(st.booleans()), files, made))
    leaf = draw(st.sampled_from([node.id for node in nodes]))
    created, updated = sorted((draw(TIMES), draw(TIMES)))
    return WholeChat(
        name,
        draw(WORDS),
        created,
        updated,
        pinned=draw(st.booleans()),
        named=draw(st.booleans()),
        leaf=leaf,
        options=draw(st.sampled_from([{}, {"persona": "tutor"}])),
        messages=tuple(nodes),
    )
