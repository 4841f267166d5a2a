"""Chats that are kept: what becomes of a conversation as plain values, and what is read back.

A chat is a tree of messages. Regenerating, editing and taking back make branches; a chat's leaf names the branch that
is shown. Changes carry all that is needed to carry them out twice or late, so that they can wait in memory, or in a
file, until they can be written.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence

import msgspec

from mtpchat.messages import Attachment, Message, Role
from mtpchat.stats import TurnStats

_TITLE_WORDS, _TITLE_LETTERS = 9, 60


class Said(msgspec.Struct, frozen=True):
    """A message in its place in the tree. `parent` is "" for the first; `created` is seconds since 1970."""

    id: str
    parent: str
    role: Role
    content: str
    thinking: str = ""
    created: float = 0.0
    complete: bool = True
    attachments: tuple[Attachment, ...] = ()


class Circumstances(msgspec.Struct, frozen=True):
    """How an answer was made.

    Attributes:
        model: path of the file; `model_name` is what it calls itself.
        drafter: file that guessed ahead, or "".
        kind: strategy of the load.
        sampling: settings of the sampler by name.
        system: the system message, or "".
        machine: what the model ran on, or "".
        own: `sampling` was chosen for this answer alone and is not that of the chat.
    """

    model: str = ""
    model_name: str = ""
    drafter: str = ""
    kind: str = ""
    sampling: dict[str, object] = {}
    seed: int = 0
    system: str = ""
    machine: str = ""
    own: bool = False


class TurnBegun(msgspec.Struct, frozen=True, tag=True):
    """An answer is going to be generated.

    Attributes:
        chat: id; the chat begins to exist with its first turn.
        title: for a chat that does not exist yet.
        path: all messages before the answer, the first one first.
        answer: id of the answer; an answer that is carried on keeps its id.
        turn: id of this attempt.
        so_far: (answer, thinking) that it carries on; None for an answer from the beginning.
    """

    chat: str
    title: str
    path: tuple[Said, ...]
    answer: str
    turn: str
    started: float
    how: Circumstances
    so_far: tuple[str, str] | None = None


class Grown(msgspec.Struct, frozen=True, tag=True):
    """More text of the answer that is being generated; `turn` is the attempt that says it."""

    answer: str
    channel: str
    text: str
    turn: str = ""


class TurnEnded(msgspec.Struct, frozen=True, tag=True):
    """The answer is over.

    Attributes:
        begun: its beginning, so that this change alone is enough.
        message: the whole answer, or None when nothing was said.
        leaf: what is shown last from now on; "" for nothing.
        reason: "stop", "length", "context", "cancelled" or "failed".
    """

    begun: TurnBegun
    message: Said | None
    leaf: str
    reason: str
    ended: float
    stats: TurnStats | None = None


class LeafMoved(msgspec.Struct, frozen=True, tag=True):
    """Another branch is shown; "" shows none."""

    chat: str
    leaf: str


class Placed(msgspec.Struct, frozen=True, tag=True):
    """Messages that no turn has made: an answer put differently by the user, or a copy of a chat's beginning.

    Attributes:
        chat: id; the chat begins to exist with this if it does not yet.
        title: for a chat that does not exist yet.
        path: all messages up to the last new one, which is shown from now on.
        origin: id of the chat that they are copies from, or "".
        copies: (id there, id here) of each.
    """

    chat: str
    title: str
    path: tuple[Said, ...]
    at: float
    origin: str = ""
    copies: tuple[tuple[str, str], ...] = ()


class Renamed(msgspec.Struct, frozen=True, tag=True):
    """The user gave a title."""

    chat: str
    title: str


class Deleted(msgspec.Struct, frozen=True, tag=True):
    """Out of sight since `at`; None brings it back."""

    chat: str
    at: float | None


class Titled(msgspec.Struct, frozen=True, tag=True):
    """The model gave a title; it stays behind one that the user gave."""

    chat: str
    title: str


class Pinned(msgspec.Struct, frozen=True, tag=True):
    """Kept at the top of the list, or no longer."""

    chat: str
    pinned: bool


class OptionsSet(msgspec.Struct, frozen=True, tag=True):
    """Choices for this chat alone; those that are not named stay as they are. None takes one back."""

    chat: str
    options: dict[str, object]


Change = TurnBegun | Grown | TurnEnded | LeafMoved | Placed | Renamed | Deleted | Titled | Pinned | OptionsSet


class ChatOptions(msgspec.Struct, frozen=True, omit_defaults=True):
    """What was chosen for one chat, where it is not as the settings say.

    Attributes:
        overflow: what to do when it does not fit into the context any more; "" is as the settings say.
        thinking: level of thinking; "" is as the settings say.
        form: what the form of its answers is called; "" is as the command line says, "off" is any.
        grammar: GBNF of that form, or "".
        read_from: place of the first message that the model reads again behind those that were left out; 0 for none.
        persona: name of the persona in force, or "".
    """

    overflow: str = ""
    thinking: str = ""
    read_from: int = 0
    form: str = ""
    grammar: str = ""
    persona: str = ""


class ChatLine(msgspec.Struct, frozen=True):
    """A chat in a list.

    Attributes:
        number: its place there, from 1.
        created, updated: seconds since 1970.
        messages: how many the branch has that is shown.
        model: what the model of the latest answer calls itself, or "".
        named: the title was given by the user or the model; otherwise it is the first words.
    """

    number: int
    id: str
    title: str
    created: float
    updated: float
    messages: int
    pinned: bool = False
    deleted: bool = False
    model: str = ""
    named: bool = False


class Figures(msgspec.Struct, frozen=True):
    """How an answer was generated the last time.

    Attributes:
        reason: why it ended, see TurnEnded; "" is not known.
        model: what the model calls itself, or "".
        sampling: settings by name, where they were those of this answer alone; {} where they were the chat's.
    """

    seed: int
    reason: str = ""
    stats: TurnStats | None = None
    model: str = ""
    sampling: dict[str, object] = {}


class KeptChat(msgspec.Struct, frozen=True):
    """A chat with the branch that is shown.

    Attributes:
        path: its messages, the first one first.
        system: the system message of the last answer, or "".
        seed: seed of the last answer, or None.
        nodes: the messages of all branches in the order in which they came; () when only `path` was asked for.
        made: id of an answer -> how it was generated, if it was.
        options: choices for this chat alone.
        shown: ids of messages that the branch ended with when it was shown, in the order in which that was last so.
    """

    line: ChatLine
    path: tuple[Said, ...]
    system: str = ""
    seed: int | None = None
    nodes: tuple[Said, ...] = ()
    made: dict[str, Figures] = {}
    options: ChatOptions = ChatOptions()
    shown: tuple[str, ...] = ()


Marks = tuple[tuple[int, int], ...]
"""Where words stand in a text: (beginning, end), in order."""


class Hit(msgspec.Struct, frozen=True):
    """A chat in which words were found.

    Attributes:
        message: id of the message they stand in, "" when it is the title alone.
        snippet: text around the first place, on one line.
        count: how many of its messages have the words.
        title_marks: where they stand in the title.
        file: name of the file that `snippet` is from, "" for what was said itself.
    """

    line: ChatLine
    message: str
    role: Role
    snippet: str
    count: int
    title_marks: Marks = ()
    file: str = ""


class Passage(msgspec.Struct, frozen=True):
    """A part of a message, or of its file of that name, and where searched words stand in it."""

    role: Role
    text: str
    marks: Marks = ()
    file: str = ""


class Glimpse(msgspec.Struct, frozen=True):
    """What of a chat is shown beside a list: its last exchange, or the places of searched words.

    Attributes:
        more: so many further messages have the words.
    """

    line: ChatLine
    passages: tuple[Passage, ...]
    more: int = 0


def new_chat_id() -> str:
    """Short enough to be typed."""
    return secrets.token_hex(6)


def new_id() -> str:
    """An id of a message or turn."""
    return secrets.token_hex(10)


def now() -> float:
    """Seconds since 1970."""
    return time.time()


def title_of(messages: Sequence[Message]) -> str:
    """The first words of the first message of the user, or the names of its files."""
    first = next((one for one in messages if one.role == "user"), Message("user", ""))
    text = first.content.strip() or " ".join(one.name for one in first.attachments)
    words = text[:1000].split()
    title = " ".join(words[:_TITLE_WORDS])
    if len(title) > _TITLE_LETTERS:
        return title[: _TITLE_LETTERS - 1].rstrip() + "…"
    return title + ("…" if len(words) > _TITLE_WORDS else "")


def as_message(said: Said) -> Message:
    """What the session and the screen work with."""
    return Message(said.role, said.content, said.thinking, said.complete, said.attachments)


def conversation(chat: KeptChat) -> tuple[Message, ...]:
    """The branch that is shown, system message first if there is one."""
    system = (Message("system", chat.system),) if chat.system.strip() else ()
    return (*system, *map(as_message, chat.path))
