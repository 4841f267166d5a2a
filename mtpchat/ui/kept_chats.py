"""Kept chats on the screen: the list, opening one, and sentences from whoever writes them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING

from mtpchat.commands.kept_chats import chats_page
from mtpchat.engine.mailbox import call_on_loop
from mtpchat.errors import MtpChatError
from mtpchat.ui.presenter import Presenter

if TYPE_CHECKING:
    from mtpchat.engine.session import Session

_LISTED = 100


class KeptChats:
    """Reads chats without keeping the screen waiting.

    Attributes:
        first_words: a sentence to begin with, below the chat if one is opened.

    Args:
        show_page: shows a page of Markdown with a title.
        start: runs a coroutine beside the screen.
    """

    def __init__(
        self,
        session: Session,
        presenter: Presenter,
        show_page: Callable[[str, str], None],
        start: Callable[[Coroutine[None, None, None]], object],
    ) -> None:
        self._session = session
        self._presenter = presenter
        self._show_page = show_page
        self._start = start
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
            self._start(self._begin(resume, then))

    def list(self) -> None:
        """Show the latest ones."""
        self._start(self._list())

    def open(self, reference: str) -> None:
        """Go on with one."""
        self._start(self._open(reference))

    def _tell(self, sentence: str) -> None:
        self._start(self._presenter.notice(sentence, warning=True))

    async def _begin(self, resume: str | None, then: Callable[[], None]) -> None:
        try:
            if resume is not None:
                await self._open(resume)
            if self.first_words:
                await self._presenter.notice(self.first_words, warning=True)
        finally:
            then()

    async def _list(self) -> None:
        try:
            lines = await self._session.archive.recent(_LISTED)
        except MtpChatError as error:
            await self._presenter.error(error.message, error.hint)
            return
        self._show_page("Chats", chats_page(lines))

    async def _open(self, reference: str) -> None:
        try:
            chat = await self._session.archive.open(reference)
            self._session.resume(chat)
        except MtpChatError as error:
            await self._presenter.error(error.message, error.hint)
            return
        await self._presenter.show_chat(self._session.messages)
        count = len(chat.path)
        await self._presenter.notice(f"{chat.line.title} · {count} message{'' if count == 1 else 's'}")
