"""What is done with the message that the reader has marked: copied, saved, put differently, answered anew."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from mtpchat.commands.clipboard import amount, chat_text
from mtpchat.commands.code_blocks import CodeBlock, code_blocks
from mtpchat.errors import CommandError, MtpChatError
from mtpchat.ui.chips import Written
from mtpchat.ui.external_editor import edit
from mtpchat.ui.figures import figures_content
from mtpchat.ui.hints import Moment
from mtpchat.ui.safe_text import safe_line, safe_text
from mtpchat.ui.widgets.entries import Act
from mtpchat.ui.widgets.entry import ALONE, Entry, Siblings
from mtpchat.ui.widgets.find_bar import FindBar
from mtpchat.ui.widgets.messages import UserMessage
from mtpchat.ui.widgets.save_bar import SaveBar

if TYPE_CHECKING:
    from mtpchat.ui.chat_screen import ChatScreen


class Reading:
    """Carries out what keys and clicks in the chat ask for.

    Attributes:
        find_bar, save_bar: lines above the prompt, hidden until they are wanted.
    """

    def __init__(self, screen: ChatScreen) -> None:
        self._screen = screen
        screen.presenter.siblings_of = self._siblings
        screen.presenter.figures_of = lambda index: figures_content(screen.session, index)
        self.find_bar = FindBar(screen.transcript)
        screen.presenter.chat_drawn = self.find_bar.look_again
        self.save_bar = SaveBar()
        self._edited: Entry | None = None
        self._edited_in = ""  # id of its chat
        self._copied: tuple[Entry, int] | None = None

    @property
    def moment(self) -> Moment | None:
        """Which keys matter, while it is something of this."""
        if self.save_bar.field.has_focus:
            return "saving"
        if self.find_bar.field.has_focus:
            return "seeking" if self.find_bar.hands_over else "finding"
        if not self._screen.transcript.has_focus:
            return "editing" if self._edited is not None and self._screen.prompt.has_focus else None
        if self.find_bar.is_open:
            return "found"
        if self._screen.turns.can_stop:
            return "following"
        marked = self._screen.transcript.marked
        if marked is None:
            return "reading"
        several = marked.index is not None and self._siblings(marked.index)[1] > 1
        if isinstance(marked, UserMessage):
            return "said_versions" if several else "said"
        return "answered_versions" if several else "answered"

    @property
    def leaves_with_escape(self) -> bool:
        """Whether Esc leads from the chat to the prompt: not in vi, where only i and a do."""
        chat = self._screen.transcript
        return (chat.has_focus or chat.has_focus_within) and not self._screen.session.config.ui.vi

    def find(self) -> None:
        """Ask what to find, or, when that is being asked, go to the next match."""
        if self.find_bar.field.has_focus:
            self.find_bar.step(1)
        else:
            self.find_bar.ask()

    async def act(self, what: Act, entry: Entry | None) -> None:
        """Do what was asked; what stands in the way is said in passing."""
        try:
            await self._act(what, entry)
        except MtpChatError as error:
            self._say(error.sentence, warning=True)

    async def _act(self, what: Act, entry: Entry | None) -> None:
        if what == "copy_chat":
            self._copy(chat_text(self._screen.session), "the chat: ")
            return
        if entry is None:
            raise CommandError("There is no message yet")
        match what:
            case "copy":
                self._copy(entry.source)
            case "copy_code":
                self._copy_code(entry)
            case "save_code":
                self.save_bar.ask(_blocks(entry), self._block_of(entry))
            case "edit":
                await self._edit(entry)
            case "editor":
                await self._edit_outside(entry)
            case "retry":
                self._retry(entry)
            case "fork":
                await self._fork(entry)
            case _:
                assert_never(what)

    async def walk(self, entry: Entry, step: int) -> None:
        """Show another alternative of a message, with what follows it."""
        screen = self._screen
        try:
            index = self._index(entry)
            if screen.session.siblings(index)[1] < 2:
                raise CommandError("There is only this one", hint="e or r makes another.")
            self._refuse_if_busy()
            screen.session.walk(index, step)
            await screen.presenter.show_chat(screen.session.messages, stay_at=index)
        except MtpChatError as error:
            self._say(error.message, warning=True)

    def follow_chat(self) -> None:
        """The chat is drawn anew, and may be another one: what concerned a message that is not there any more ends."""
        session = self._screen.session
        if self._edited is not None and (session.chat_id != self._edited_in or not session.messages):
            self._end_edit()

    def close(self) -> bool:
        """Close what is open here, the nearest thing first; False when nothing is."""
        if self.save_bar.is_open:
            self.save_bar.leave()
        elif self.find_bar.is_open:
            self.find_bar.leave()
        elif self._edited is not None and self._screen.prompt.has_focus:
            self._end_edit()
        else:
            return False
        return True

    async def take(self, written: Written) -> bool:
        """Whether what was sent belongs to a message that is being edited; it is sent in its place then."""
        entry = self._edited
        if entry is None:
            return False
        self._end_edit()
        if entry.is_attached and written.text == entry.source:
            self._say("Unchanged: nothing was sent")
            return True
        try:
            self._screen.turns.edit(self._index(entry), written.text)
        except MtpChatError as error:
            self._screen.area.give_back(written)
            self._say(error.message, warning=True)
        return True

    def _copy(self, text: str, what: str = "") -> None:
        self._screen.stage.copy(text)
        self._say(f"Copied {what}{amount(text)}")

    def _copy_code(self, entry: Entry) -> None:
        """The first block, and with each further time the next one."""
        blocks = _blocks(entry)
        again = self._copied is not None and self._copied[0] is entry
        at = (self._block_of(entry) + 1) % len(blocks) if again else 0
        self._copied = entry, at
        which = f"block {at + 1} of {len(blocks)}: " if len(blocks) > 1 else ""
        self._copy(blocks[at].code, which)

    def _block_of(self, entry: Entry) -> int:
        """The block that was copied last, from 0."""
        return self._copied[1] if self._copied is not None and self._copied[0] is entry else 0

    async def _edit(self, entry: Entry) -> None:
        if not isinstance(entry, UserMessage):
            await self._edit_outside(entry)
            return
        self._index(entry)
        prompt = self._screen.prompt
        if self._edited is None:
            self._screen.area.aside = prompt.written
        self._edited, self._edited_in = entry, self._screen.session.chat_id
        prompt.put(entry.source)
        prompt.focus()
        prompt.border_title = "edit · Enter sends it as another version · Esc leaves it as it is"
        self._screen.transcript.mark(entry)

    def _end_edit(self) -> None:
        """Give the prompt back as it was."""
        entry, self._edited = self._edited, None
        prompt, area = self._screen.prompt, self._screen.area
        prompt.border_title = None
        draft, area.aside = area.aside, Written("")
        prompt.put(draft)
        if entry is not None:
            entry.set_marked(False)

    async def _edit_outside(self, entry: Entry) -> None:
        """In the user's editor: words of the user become another version that is answered, words of the model too."""
        index = self._index(entry)
        screen, before = self._screen, entry.source
        text = edit(screen.app, before, name="message")
        if text in (before, safe_text(before)):
            self._say("Unchanged")
            return
        if not text.strip():
            raise CommandError("An empty message is left as it was")
        self._refuse_if_busy()
        if isinstance(entry, UserMessage):
            screen.turns.edit(index, text)
            return
        screen.session.amend(index, text)
        await screen.presenter.show_chat(screen.session.messages, stay_at=index)
        self._say("Another version of the answer, in your words")

    def _retry(self, entry: Entry) -> None:
        index = self._index(entry)
        self._refuse_if_busy()
        said = self._screen.session.messages
        prompt = next((at for at in range(index, -1, -1) if said[at].role == "user"), None)
        if prompt is None:
            raise CommandError("There is no prompt that this answers")
        self._screen.turns.answer("retry", prompt)

    async def _fork(self, entry: Entry) -> None:
        screen, index = self._screen, self._index(entry)
        self._refuse_if_busy()
        screen.session.fork(index)
        await screen.presenter.show_chat(screen.session.messages, stay_at=index)
        await screen.presenter.notice("A new chat from here on; the other one is kept")

    def _siblings(self, index: int) -> Siblings:
        session = self._screen.session
        return session.siblings(index) if index < len(session.messages) else ALONE

    def _index(self, entry: Entry) -> int:
        """Its place in the chat. Raises CommandError when it is no part of it (yet)."""
        said, index = self._screen.session.messages, entry.index
        if index is None or index >= len(said) or not entry.shows(said[index]):
            raise CommandError("It is not finished yet" if entry.grows else "It is not part of the chat")
        return index

    def _refuse_if_busy(self) -> None:
        if self._screen.turns.busy:
            raise CommandError("An answer is being written", hint="Esc in the prompt stops it.")

    def _say(self, words: str, *, warning: bool = False) -> None:
        self._screen.notify(
            safe_line(words),
            timeout=4 if warning else 2,
            markup=False,
            severity="warning" if warning else "information",
        )


def _blocks(entry: Entry) -> list[CodeBlock]:
    blocks = code_blocks(entry.source)
    if not blocks:
        raise CommandError("There is no code in this message")
    return blocks
