"""Kept chats on the screen: their own screen, opening one, and sentences from whoever writes them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, assert_never

from mtpchat.engine.mailbox import call_on_loop
from mtpchat.errors import MtpChatError
from mtpchat.ui.presenter import Presenter
from mtpchat.ui.safe_text import safe_line
from mtpchat.ui.titles import Titles

if TYPE_CHECKING:
    from mtpchat.engine.session import Session
    from mtpchat.ui.chats_desk import ChatsDesk
    from mtpchat.ui.chats_screen import ChatsScreen, Choice

ShowScreen = Callable[["ChatsScreen", "Callable[[Choice | None], None]"], object]


class KeptChats:
    """Reads chats without keeping the screen waiting.

    Attributes:
        first_words: a sentence to begin with, below the chat if one is opened.

    Args:
        show: shows the screen of chats, and calls what it is given with what came of it.
        start: runs a coroutine beside the screen.
        clock: seconds since 1970.
    """

    def __init__(
        self,
        session: Session,
        presenter: Presenter,
        show: ShowScreen,
        start: Callable[[Callable[[], Coroutine[None, None, None]]], object],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._session = session
        self._presenter = presenter
        self._show = show
        self._start = start
        self._clock = clock
        self._desk: ChatsDesk | None = None
        self._over: ChatsScreen | None = None
        self._titles = Titles(session, start, made=lambda: presenter.show_title(session.title))
        presenter.when_idle = self._titles.consider
        self.first_words = ""

    def begin(self, resume: str | None, then: Callable[[], None]) -> None:
        """Listen for what goes wrong, and open a chat first if one is wanted; then call `then`.

        Nothing is read from the disk unless a chat is wanted.
        """
        loop = asyncio.get_running_loop()
        self._session.archive.listen(lambda sentence: call_on_loop(loop, lambda: self._tell(sentence)))
        if resume is None and not self.first_words:
            then()
        else:
            self._start(partial(self._begin, resume, then))

    def list(self) -> None:
        """Show all of them on a screen of their own."""
        if self._over is not None:
            return
        from mtpchat.ui.chats_desk import ChatsDesk
        from mtpchat.ui.chats_screen import ChatsScreen

        self._desk = self._desk or ChatsDesk(self._session.archive, self._renamed, self._clock)
        self._over = ChatsScreen(self._desk, self._session.chat_id, self._clock, self._why_not)
        self._show(self._over, self._chosen)

    def _why_not(self) -> str:
        answering = self._session.busy and self._session.facts is not None
        return "An answer is being written: esc, and esc in its chat stops it" if answering else ""

    def _renamed(self, chat: str, title: str) -> None:
        if chat == self._session.chat_id:
            self._session.rename(title)

    def _chosen(self, choice: Choice | None) -> None:
        from mtpchat.ui.chats_screen import BeginNew, OpenKept

        self._over = None
        match choice:
            case OpenKept(chat):
                self.open(chat)
            case BeginNew():
                self._start(self._begin_new)
            case None:
                pass
            case _:
                assert_never(choice)

    async def _begin_new(self) -> None:
        try:
            self._session.clear()
        except MtpChatError as error:
            await self._presenter.error(error.message, error.hint)
            return
        await self._presenter.show_chat(self._session.messages)

    def open(self, reference: str) -> None:
        """Go on with one."""
        self._start(partial(self._open, reference))

    def _tell(self, sentence: str) -> None:
        if self._over is not None and self._over.is_current:
            self._over.notify(safe_line(sentence), severity="warning", markup=False)
        self._start(partial(self._presenter.notice, sentence, warning=True))

    async def _begin(self, resume: str | None, then: Callable[[], None]) -> None:
        try:
            if resume is not None:
                await self._open(resume)
            if self.first_words:
                await self._presenter.notice(self.first_words, warning=True)
        finally:
            then()

    async def _open(self, reference: str) -> None:
        try:
            chat = await self._session.archive.open(reference)
            self._session.resume(chat)
        except MtpChatError as error:
            await self._presenter.error(error.message, error.hint)
            return
        await self._presenter.show_chat(self._session.messages)
        count = len(chat.path)
        title = safe_line(chat.line.title) or "(no title)"
        last = self._session.messages[-1] if self._session.messages else None
        cut = " · its last answer is not whole: /continue carries it on" if last and not last.complete else ""
        await self._presenter.notice(f"{title} · {count} message{'' if count == 1 else 's'}{cut}")
