"""When a chat gets a title from its own model, and what becomes of it; see title_maker.py for how it is made."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from mtpchat.engine.chat_terms import ChatTerms
from mtpchat.engine.conversation import Conversation
from mtpchat.engine.requests import Engine, Progress, Task, TurnRequest
from mtpchat.errors import Interrupted, MtpChatError
from mtpchat.events import Worked


class Titling:
    """Titles of the chats of one session.

    Args:
        aside: runs a task that gives way to whatever else is wanted.
    """

    def __init__(self, talk: Conversation, terms: ChatTerms, aside: Callable[[Task], Awaitable[Worked]]) -> None:
        self._talk = talk
        self._terms = terms
        self._aside = aside
        self._tried: set[str] = set()

    @property
    def wanted(self) -> bool:
        """Whether the chat could have a better title than its first words."""
        chronicle = self._talk.chronicle
        answered = any(one.role == "assistant" and one.complete for one in self._talk.messages)
        fresh = bool(chronicle.chat) and not chronicle.named and chronicle.chat not in self._tried
        return answered and fresh and chronicle.archive.keeps and not self._terms.unread

    async def make(self) -> str:
        """Ask the model, once for each chat, and keep what it says.

        Returns:
            The title, or "" when there is none: the memory cannot be cut, the model thinks, or somebody was quicker.
        """
        chronicle = self._talk.chronicle
        chat = chronicle.chat
        try:
            title = (await self._aside(title_task(self._terms.request(0)))).line
        except Interrupted:
            return ""  # the next quiet moment is another chance
        except MtpChatError:
            title = ""
        self._tried.add(chat)
        if not title or chronicle.chat != chat or chronicle.named:
            return ""
        chronicle.entitle(title)
        return title


def title_task(request: TurnRequest) -> Task:
    """A task whose line is a title for the conversation of `request`, or ""; raises Interrupted when it is given up."""

    def task(engine: Engine, _progress: Progress, cancelled: Callable[[], bool]) -> Worked:
        from mtpchat.engine.title_maker import make_title  # at the start of the app nobody needs an engine

        return Worked(make_title(engine, request, cancelled))

    return task
