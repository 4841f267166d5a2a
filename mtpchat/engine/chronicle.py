"""From a conversation that changes to a tree that only grows.

The session's list of messages is what counts. The chronicle compares it with what it knows: messages that it has seen
behind the same predecessor are the same node, everything else is a new branch. So regenerating, taking back and sending
again need not be told apart, and nothing that was kept is overwritten.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from mtpchat.chats import (
    Circumstances,
    Grown,
    KeptChat,
    LeafMoved,
    Renamed,
    Said,
    TurnBegun,
    TurnEnded,
    as_message,
    new_chat_id,
    new_id,
    now,
    title_of,
)
from mtpchat.engine.archive import Archive
from mtpchat.engine.requests import TurnRequest
from mtpchat.events import ModelFacts, TextDelta
from mtpchat.messages import Message
from mtpchat.stats import TurnStats


class Chronicle:
    """What of one session is kept, chat after chat.

    Args:
        archive: where it is kept.
        clock: seconds since 1970.
    """

    def __init__(self, archive: Archive, clock: Callable[[], float] = now) -> None:
        self.archive = archive
        self._clock = clock
        self._known: dict[tuple[str, Message], Said] = {}
        self._chat, self._title = "", ""
        self._begun: TurnBegun | None = None

    @property
    def title(self) -> str:
        """Title of the chat; "" before its first message."""
        return self._title

    @property
    def in_turn(self) -> bool:
        """Whether an answer is being generated."""
        return self._begun is not None

    def leave(self) -> None:
        """The next turn begins a new chat."""
        self._known.clear()
        self._chat, self._title, self._begun = "", "", None

    def reopen(self, chat: KeptChat) -> None:
        """The next turn goes on with this chat."""
        self.leave()
        self._chat, self._title = chat.line.id, chat.line.title
        self._known = {(said.parent, as_message(said)): said for said in chat.path}

    def rename(self, title: str) -> None:
        """Give the chat a title, if there is one already."""
        if self._chat:
            self._title = title
            self.archive.put(Renamed(self._chat, title))

    def begin(self, messages: Sequence[Message], request: TurnRequest, facts: ModelFacts | None) -> None:
        """A turn begins behind `messages`; with request.continue_last the last of them is the answer's beginning."""
        self._chat = self._chat or new_chat_id()
        self._title = self._title or title_of(messages)
        path = self._path(messages)
        answer = path.pop().id if request.continue_last else new_id()
        how = _circumstances(request, facts)
        self._begun = TurnBegun(self._chat, self._title, tuple(path), answer, new_id(), self._clock(), how)
        self.archive.put(self._begun)

    def grow(self, delta: TextDelta) -> None:
        """Text of the turn that has begun."""
        if self._begun is not None:
            self.archive.put(Grown(self._begun.answer, delta.channel, delta.text))

    def end(self, messages: Sequence[Message], said: Message | None, reason: str, stats: TurnStats | None) -> None:
        """The turn has ended.

        Args:
            messages: the conversation as it is now.
            said: the answer, which is then its last message, or None when not a word was said.
        """
        begun, self._begun = self._begun, None
        if begun is None:
            return
        ended, node = self._clock(), None
        if said is not None:
            parent = begun.path[-1].id if begun.path else ""
            node = Said(begun.answer, parent, "assistant", said.content, said.thinking, begun.started, said.complete)
            self._known[parent, said] = node
        path = self._path(messages)
        self.archive.put(TurnEnded(begun, node, path[-1].id if path else "", reason, ended, stats))

    def move(self, messages: Sequence[Message]) -> None:
        """Messages were taken back."""
        if self._chat:
            path = self._path(messages)
            self.archive.put(LeafMoved(self._chat, path[-1].id if path else ""))

    def _path(self, messages: Sequence[Message]) -> list[Said]:
        """The nodes of a conversation; those that are new are known from now on."""
        path: list[Said] = []
        parent = ""
        for one in messages:
            node = self._known.get((parent, one))
            if node is None:
                words = (one.content, one.thinking)
                node = Said(new_id(), parent, one.role, *words, self._clock(), one.complete, one.attachments)
                self._known[parent, one] = node
            path.append(node)
            parent = node.id
        return path


def _circumstances(request: TurnRequest, facts: ModelFacts | None) -> Circumstances:
    system = next((one.content for one in request.messages if one.role == "system"), "")
    sampling: dict[str, object] = msgspec.to_builtins(request.sampling)
    seed = request.sampling.seed
    if facts is None:
        return Circumstances(sampling=sampling, seed=seed, system=system)
    return Circumstances(facts.path, facts.name, facts.drafter, facts.kind, sampling, seed, system)
