"""A chat as people handle it: what was said, its versions, taking back and bringing back. No engine is needed for that.

Single-threaded: everything here runs on the event loop.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from mtpchat.chats import KeptChat, as_message
from mtpchat.engine.archive import Archive
from mtpchat.engine.conversation import Conversation
from mtpchat.engine.whole import whole_of
from mtpchat.errors import CommandError, EngineError
from mtpchat.messages import Message
from mtpchat.stats import TurnStats
from mtpchat.whole_chat import WholeChat


class Chat(ABC):
    """The conversation of a session. What changes it raises EngineError while `busy`.

    Attributes:
        system: the system message; "" is none.
    """

    def __init__(self, archive: Archive, system: str) -> None:
        """`archive` keeps the chat."""
        self.system = system
        self._talk = Conversation(archive)
        self._stats: TurnStats | None = None
        self._seed: int | None = None
        self._answering = False

    @property
    @abstractmethod
    def busy(self) -> bool:
        """True while a turn or load is in progress."""

    @property
    def messages(self) -> tuple[Message, ...]:
        """The branch that is shown, without the system message."""
        return self._talk.messages

    @property
    def stats(self) -> TurnStats | None:
        """Counters of the running turn, or of the last answer that is shown if it was made in this run."""
        return self._stats

    @property
    def totals(self) -> TurnStats:
        """Counters and times summed over the finished turns of this chat, on all branches."""
        return self._talk.totals

    @property
    def seed(self) -> int | None:
        """Seed of the running turn, or of the last answer that is shown."""
        return self._seed

    @property
    def archive(self) -> Archive:
        """Where the chat is kept."""
        return self._talk.chronicle.archive

    @property
    def chat_id(self) -> str:
        """Id of the chat among those that are kept; "" before its first message."""
        return self._talk.chronicle.chat

    @property
    def title(self) -> str:
        """Title of the chat; "" before its first message."""
        return self._talk.chronicle.title

    def whole(self) -> WholeChat:
        """What was said on all branches, and how."""
        return whole_of(self._talk, self.system)

    def rename(self, title: str) -> None:
        """Give the chat another title. Raises CommandError before its first message."""
        if not self.title:
            raise CommandError("There is no chat to name yet.", hint="Send a message first.")
        self._talk.chronicle.rename(title)

    def siblings(self, index: int) -> tuple[int, int]:
        """Place of a message among its versions, from 1, and how many there are. Raises CommandError for no message."""
        return self._talk.branches.siblings(index)

    def versions(self, index: int) -> tuple[Message, ...]:
        """A message and its alternatives, the oldest first. Raises CommandError where there is no message."""
        return tuple(as_message(said) for said in self._talk.branches.versions(index))

    def figures(self, index: int) -> tuple[TurnStats, str] | None:
        """Counters of an answer, and why it ended ("stop", "length", "context", "cancelled" or "failed").

        None where they are not known, e.g. for what the user said. Raises CommandError where there is no message.
        """
        made = self._talk.made(index)
        return (made.stats, made.reason) if made.stats is not None else None

    def walk(self, index: int, step: int) -> None:
        """Show another version of a message, with what followed it when it was last shown.

        Args:
            step: so many versions further; below 0 back.

        Raises:
            CommandError: there is none.
        """
        self._refuse_if_busy()
        self._talk.walk(index, step)
        self._look()

    def without(self, index: int) -> bool:
        """Show what was shown last of the branches that do not go through a message; False where that is not known.

        Raises CommandError where there is no message.
        """
        self._refuse_if_busy()
        found = self._talk.without(index)
        self._look()
        return found

    def amend(self, index: int, text: str) -> None:
        """Put an answer differently, on a branch beside it; nothing is generated. Raises CommandError."""
        self._refuse_if_busy()
        self._talk.amend(index, text)
        self._look()

    def undo(self) -> str:
        """Take back the last message of the user and its answer; gives its text, "" when there was none."""
        self._refuse_if_busy()
        text = self._talk.undo()
        self._look()
        return text

    def redo(self) -> bool:
        """Bring back what was taken back last; False when there is nothing."""
        self._refuse_if_busy()
        brought = self._talk.redo()
        self._look()
        return brought

    def begin_anew(self, messages: Sequence[Message]) -> None:
        """Go on from these messages, on a branch of their own; what was said stays a branch beside it."""
        self._refuse_if_busy()
        self._talk.begin_anew(messages)
        self._look()

    def fork(self, index: int) -> None:
        """Go on in a new chat, with a copy of everything up to and with that message. Raises CommandError for none."""
        self._refuse_if_busy()
        self._talk.fork(index)
        self._look()

    def resume(self, chat: KeptChat) -> None:
        """Go on with a chat that was kept, its system message included; also while a model is loaded."""
        if self._answering:
            self._refuse_if_busy()
        self._talk.resume(chat)
        self.system = chat.system
        self._look()

    def clear(self) -> None:
        """Begin a new chat, with counters at nothing; settings and system message stay."""
        self._refuse_if_busy()
        self._talk.leave()
        self._look()

    def _look(self) -> None:
        """Seed and counters are those of the answer that is now the last."""
        made = self._talk.last_made()
        self._seed, self._stats = made.seed, made.stats

    def _refuse_if_busy(self) -> None:
        if self.busy:
            raise EngineError("An answer is being generated.", hint="Wait for it, or stop it with Esc.")
