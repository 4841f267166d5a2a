"""Has a chat kept while it happens: turns, their text as it comes, other branches, titles.

It is given nodes of the tree (branches.py), whose ids are those of the store. So one that is known there already is
the same message, and everything else is a new branch; nothing that was kept is overwritten.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from mtpchat.chats import (
    Circumstances,
    Grown,
    KeptChat,
    LeafMoved,
    OptionsSet,
    Placed,
    Renamed,
    Said,
    Titled,
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
from mtpchat.engine.stop import can_be_said
from mtpchat.events import ModelFacts, TextDelta
from mtpchat.machine_name import machine_name
from mtpchat.messages import Message
from mtpchat.stats import TurnStats

_COPY = " (fork)"


class Chronicle:
    """What of one session is kept, chat after chat.

    Args:
        archive: where it is kept.
        clock: seconds since 1970.
    """

    def __init__(self, archive: Archive, clock: Callable[[], float] = now) -> None:
        self.archive = archive
        self._clock = clock
        self._chat, self._title, self._named = "", "", False
        self._begun: TurnBegun | None = None
        self._created = 0.0
        self._untold: dict[str, object] = {}

    @property
    def chat(self) -> str:
        """Id of the chat; "" before its first message."""
        return self._chat

    @property
    def title(self) -> str:
        """Title of the chat; "" before its first message."""
        return self._title

    @property
    def named(self) -> bool:
        """Whether the title was given by the user or the model; otherwise it is the first words."""
        return self._named

    def leave(self) -> None:
        """The next turn begins a new chat."""
        self._chat, self._title, self._named, self._begun = "", "", False, None
        self._untold = {}

    def reopen(self, chat: KeptChat) -> None:
        """The next turn goes on with this chat."""
        self.leave()
        self._chat, self._title, self._named = chat.line.id, chat.line.title, chat.line.named

    def rename(self, title: str) -> None:
        """Give the chat a title, if there is one already."""
        if self._chat:
            self._title, self._named = title, True
            self.archive.put(Renamed(self._chat, title))

    def entitle(self, title: str) -> None:
        """The model has found a title; it does not replace one that the user has given."""
        if self._chat and not self._named:
            self._title, self._named = title, True
            self.archive.put(Titled(self._chat, title))

    def node(self, parent: str, message: Message) -> Said:
        """A new message in its place; it is not kept before a turn or `place` brings it."""
        words = (message.content, message.thinking)
        return Said(new_id(), parent, message.role, *words, self._clock(), message.complete, message.attachments)

    def begin(self, path: Sequence[Said], carried_on: Said | None, how: Circumstances) -> None:
        """A turn begins.

        Args:
            path: all messages before the answer.
            carried_on: the beginning of the answer, if there is one already.
        """
        self._chat = self._chat or new_chat_id()
        self._title = self._title or title_of([as_message(said) for said in path])
        started = self._clock()
        answer, self._created = (carried_on.id, carried_on.created) if carried_on is not None else (new_id(), started)
        so_far = (carried_on.content, carried_on.thinking) if carried_on is not None else None
        self._begun = TurnBegun(self._chat, self._title, tuple(path), answer, new_id(), started, how, so_far)
        self.archive.put(self._begun)
        self._tell_options()

    def choose(self, options: dict[str, object]) -> None:
        """Choices for this chat, by name; None takes one back. They are kept as soon as the chat exists."""
        self._untold |= options
        if self._chat:
            self._tell_options()

    def _tell_options(self) -> None:
        options, self._untold = self._untold, {}
        if options:
            self.archive.put(OptionsSet(self._chat, options))

    def grow(self, delta: TextDelta) -> None:
        """Text of the turn that has begun."""
        if self._begun is not None:
            self.archive.put(Grown(self._begun.answer, delta.channel, delta.text, self._begun.turn))

    def answer(self, message: Message) -> Said | None:
        """The answer of the turn that has begun, in its place."""
        if self._begun is None:
            return None
        parent = self._begun.path[-1].id if self._begun.path else ""
        words = (message.content, message.thinking)
        return Said(self._begun.answer, parent, "assistant", *words, self._created, message.complete)

    def end(self, answer: Said | None, leaf: str, reason: str, stats: TurnStats | None) -> None:
        """The turn has ended.

        Args:
            answer: see `answer`; None when not a word was said.
            leaf: what is shown last now.
        """
        begun, self._begun = self._begun, None
        if begun is not None:
            self.archive.put(TurnEnded(begun, answer, leaf, reason, self._clock(), stats))

    def move(self, leaf: str) -> None:
        """Another branch is shown."""
        if self._chat:
            self.archive.put(LeafMoved(self._chat, leaf))

    def place(self, path: Sequence[Said], copies: Sequence[tuple[str, str]] = ()) -> None:
        """The last of these messages has come into being without a turn, and is shown.

        Args:
            copies: ids of messages of this chat, and of those among `path` that are copies of them.
        """
        if self._chat:
            self.archive.put(Placed(self._chat, self._title, tuple(path), self._clock(), copies=tuple(copies)))

    def fork(self, path: Sequence[Said]) -> list[Said]:
        """Go on in a new chat that begins with a copy of these messages; gives the copies."""
        copies: list[Said] = []
        for said in path:
            parent = copies[-1].id if copies else ""
            copies.append(msgspec.structs.replace(said, id=new_id(), parent=parent))
        origin, self._chat = self._chat, new_chat_id()
        self._title = self._title.removesuffix(_COPY) + _COPY
        pairs = tuple((said.id, copy.id) for said, copy in zip(path, copies, strict=True))
        self.archive.put(Placed(self._chat, self._title, tuple(copies), self._clock(), origin, pairs))
        return copies


def circumstances(request: TurnRequest, facts: ModelFacts | None, *, own: bool = False) -> Circumstances:
    """How the answer to a request is going to be made; see Circumstances."""
    system = next((one.content for one in request.messages if one.role == "system"), "")
    sampling: dict[str, object] = msgspec.to_builtins(request.sampling)
    sampling["stop"] = [stop for stop in request.sampling.stop if can_be_said(stop)]
    seed = request.sampling.seed
    if facts is None:
        return Circumstances(sampling=sampling, seed=seed, system=system, own=own)
    machine = machine_name(on_gpu=facts.gpu and facts.gpu_layers != 0)
    return Circumstances(facts.path, facts.name, facts.drafter, facts.kind, sampling, seed, system, machine, own)
