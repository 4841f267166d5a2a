"""One chat: its tree, how each answer was made, and the store told of every change.

Single-threaded, like the session that owns it. Whether the moment allows a change is the session's to say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

import msgspec

from mtpchat.chats import ChatOptions, Figures, KeptChat, Said, as_message
from mtpchat.config import SamplingConfig
from mtpchat.engine.answer import Answer
from mtpchat.engine.archive import Archive
from mtpchat.engine.branches import Branches
from mtpchat.engine.chronicle import Chronicle, circumstances
from mtpchat.engine.requests import TurnRequest
from mtpchat.errors import CommandError
from mtpchat.events import ModelFacts
from mtpchat.messages import Attachment, Message
from mtpchat.stats import TurnStats, summed


@dataclass(frozen=True, slots=True)
class Made:
    """How an answer was made, as far as it is known.

    Attributes:
        sampling: settings for this answer alone, or None for those of the chat.
        reason: why it ended, see TurnEnded; "" is not known.
        model: what the model calls itself, or "".
    """

    seed: int | None = None
    sampling: SamplingConfig | None = None
    stats: TurnStats | None = None
    reason: str = ""
    model: str = ""


_UNKNOWN = Made()


class Conversation:
    """A chat that is going on.

    Attributes:
        branches: what was said; the session reads it, changes go through the methods here.
        chronicle: has it kept.
        totals: counters summed over the turns that have ended, on all branches.
        options: what was chosen for this chat alone.
    """

    def __init__(self, archive: Archive) -> None:
        self.branches = Branches()
        self.chronicle = Chronicle(archive)
        self.totals = TurnStats(plain_s=0.0)
        self.options = ChatOptions()
        self._made: dict[str, Made] = {}

    @property
    def messages(self) -> tuple[Message, ...]:
        """The branch that is shown."""
        return self.branches.messages

    def last_made(self) -> Made:
        """How the last answer of the branch was made."""
        last = next((said.id for said in reversed(self.branches.path) if said.role == "assistant"), "")
        return self._made.get(last, _UNKNOWN)

    def made(self, index: int) -> Made:
        """How the message at that place was made. Raises CommandError where there is none."""
        return self._made.get(self.branches[index].id, _UNKNOWN)

    def made_of(self, message: str) -> Made:
        """How the message with that id was made."""
        return self._made.get(message, _UNKNOWN)

    def leave(self) -> None:
        """Begin a new chat."""
        self.chronicle.leave()
        self.branches, self._made, self.totals = Branches(), {}, TurnStats(plain_s=0.0)
        self.options = ChatOptions()

    def choose(self, options: ChatOptions) -> None:
        """Other choices for this chat, which are kept with it."""
        before, after = (msgspec.structs.asdict(each) for each in (self.options, options))
        self.options = options
        changed = {name: value or None for name, value in after.items() if value != before[name]}
        if changed:
            self.chronicle.choose(changed)

    def resume(self, chat: KeptChat) -> None:
        """Go on with a chat that was kept."""
        self.leave()
        self.chronicle.reopen(chat)
        self.options = chat.options
        self.branches = Branches(chat.nodes or chat.path, chat.path[-1].id if chat.path else "", chat.shown)
        self._made = {answer: _made(one) for answer, one in chat.made.items()}
        if chat.path and chat.seed is not None:
            last = next((said.id for said in reversed(chat.path) if said.role == "assistant"), "")
            self._made.setdefault(last, Made(chat.seed))

    def asked(self, index: int | None) -> int:
        """Place of the user's message that an answer belongs to: at `index`, before it, or the last one of all.

        Raises:
            CommandError: there is none.
        """
        if index is not None:
            _ = self.branches[index]
        place = len(self.messages) - 1 if index is None else index
        asked = next((at for at in range(place, -1, -1) if self.messages[at].role == "user"), None)
        if asked is None:
            raise CommandError("There is nothing to retry.", hint="Send a message first.")
        return asked

    def ask(self, message: Message, index: int | None = None) -> None:
        """Say something at a place of the branch, or behind all of it.

        What was there goes on being a branch of its own. What was said in that very place before is not said twice.
        """
        self.branches.cut(len(self.messages) if index is None else index)
        known = self.branches.same(message)
        self.branches.add(known or self.chronicle.node(self.branches.leaf, message))

    def otherwise(self, index: int, text: str, attachments: Sequence[Attachment] | None = None) -> Message:
        """A message of the user in other words, with these files, or those it had. Raises CommandError."""
        if self.branches[index].role != "user":
            raise CommandError(f"Message {index + 1} is an answer.", hint="/amend changes an answer.")
        if not text.strip():
            raise CommandError("There is nothing to send.", hint="Type a message first.")
        brought = self.messages[index].attachments if attachments is None else tuple(attachments)
        return replace(self.messages[index], content=text, attachments=brought)

    def ask_again(self, index: int) -> str:
        """Go back to a message of the user, for another answer; gives the leaf to return to if there is none."""
        leaf = self.branches.leaf
        self.branches.cut(index + 1)
        return leaf

    def unfinished(self) -> tuple[Said, Made]:
        """The answer at the end that can be carried on, and how it was made. Raises CommandError if there is none."""
        last = self.branches.path[-1] if self.branches.path else None
        if last is None or last.role != "assistant":
            raise CommandError("There is no answer to continue.", hint="/retry asks for one.")
        if last.complete:
            raise CommandError("The last answer is complete.", hint="/retry generates it anew.")
        return last, self._made.get(last.id, _UNKNOWN)

    def begin(self, answer: Answer, request: TurnRequest, facts: ModelFacts | None) -> None:
        """A turn begins behind what is shown."""
        path = self.branches.path
        carried_on = path[-1] if answer.begun is not None else None
        answer.model = facts.name if facts is not None else ""
        how = circumstances(request, facts, own=answer.sampling is not None)
        self.chronicle.begin(path[:-1] if carried_on is not None else path, carried_on, how)

    def end(self, answer: Answer, reason: str, stats: TurnStats | None) -> None:
        """The turn has ended; the answer becomes part of the conversation if anything was said."""
        message = answer.result()
        node = self.chronicle.answer(message) if message is not None else None
        if node is not None:
            self.branches.add(node)
            self._made[node.id] = Made(answer.seed, answer.sampling, stats, reason, answer.model)
        elif answer.back_to is not None:
            self.branches.show(answer.back_to)
        if stats is not None:
            self.totals = summed(self.totals, stats)
        self.chronicle.end(node, self.branches.leaf, reason, stats)

    def walk(self, index: int, step: int) -> None:
        """See Branches.walk."""
        before = self.branches.leaf
        self.branches.walk(index, step)
        self._tell(before)

    def without(self, index: int) -> bool:
        """See Branches.without."""
        before = self.branches.leaf
        found = self.branches.without(index)
        self._tell(before)
        return found

    def undo(self) -> str:
        """Take back the last message of the user and what followed; gives its text, "" when there was none."""
        last = next((at for at in reversed(range(len(self.messages))) if self.messages[at].role == "user"), None)
        if last is None:
            return ""
        before, text = self.branches.leaf, self.messages[last].content
        self.branches.cut(last)
        self._tell(before)
        return text

    def redo(self) -> bool:
        """Bring back what was taken back last; False when there is nothing."""
        before = self.branches.leaf
        self.branches.forth()
        self._tell(before)
        return self.branches.leaf != before

    def amend(self, index: int, text: str) -> None:
        """Put an answer differently, on a branch beside it. Raises CommandError when it is no answer."""
        said = self.branches[index]
        if said.role != "assistant":
            raise CommandError(f"Message {index + 1} is not an answer.", hint="/edit changes a message of your own.")
        if not text.strip():
            raise CommandError("There is nothing to put in its place.", hint="Type the answer as it should be.")
        made = self._made.get(said.id, _UNKNOWN)
        node = self.chronicle.node(said.parent, replace(self.messages[index], content=text))
        self.branches.add(node)
        self._made[node.id] = replace(made, stats=None, reason="", model="")
        self.chronicle.place(self.branches.path)

    def begin_anew(self, messages: Sequence[Message]) -> None:
        """Show a branch of these messages from the very beginning on; nothing is generated.

        Those that the branch before ended with, too, are copies: how they were made is known of them as well.
        """
        before = self.branches.path
        self.branches.cut(0)
        for message in messages:
            self.branches.add(self.branches.same(message) or self.chronicle.node(self.branches.leaf, message))
        ends = zip(reversed(before), reversed(self.branches.path), strict=False)
        alike = takewhile(lambda pair: as_message(pair[0]) == as_message(pair[1]), ends)
        copies = [(old.id, new.id) for old, new in alike if old.id != new.id]
        self._made = {**{new: self._made[old] for old, new in copies if old in self._made}, **self._made}
        self.chronicle.place(self.branches.path, copies)
        self.choose(msgspec.structs.replace(self.options, read_from=0))

    def fork(self, index: int) -> None:
        """Go on in a new chat, with a copy of everything up to and with that message. Raises CommandError."""
        _ = self.branches[index]
        path = self.branches.path[: index + 1]
        copies = self.chronicle.fork(path)
        made = {copy.id: self._made[said.id] for said, copy in zip(path, copies, strict=True) if said.id in self._made}
        self.branches, self._made, self.totals = Branches(copies, copies[-1].id), made, TurnStats(plain_s=0.0)
        options, self.options = self.options, ChatOptions()
        self.choose(options)

    def _tell(self, before: str) -> None:
        """Have it kept that another branch is shown, if that is so."""
        if self.branches.leaf != before:
            self.chronicle.move(self.branches.leaf)


def _made(kept: Figures) -> Made:
    """How a kept answer was made; settings of another version that do not fit are as if it had had none of its own."""
    try:
        sampling = msgspec.convert(kept.sampling, SamplingConfig) if kept.sampling else None
    except msgspec.ValidationError:
        sampling = None
    return Made(kept.seed, sampling, kept.stats, kept.reason, kept.model)
