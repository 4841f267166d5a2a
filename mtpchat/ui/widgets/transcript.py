"""The conversation: the only large thing on the screen. It follows the end until the reader scrolls away."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import events
from textual.binding import BindingType
from textual.content import Content
from textual.geometry import Size
from textual.message import Message as TextualMessage
from textual.scrollbar import ScrollBar
from textual.widget import Widget

from mtpchat.messages import Attachment, Message
from mtpchat.ui.keys import bindings
from mtpchat.ui.provenance import Marks
from mtpchat.ui.widgets.answer import Answer, ThinkingView
from mtpchat.ui.widgets.entries import Entries
from mtpchat.ui.widgets.entry import Entry, Siblings, set_awake
from mtpchat.ui.widgets.messages import UserMessage
from mtpchat.ui.widgets.nearness import AWAKE_PAGES, first_whole, rest_far
from mtpchat.ui.widgets.thinking import Thinking

_LEADS_AWAY = ("leave", "screen.find")


class Transcript(Entries, can_focus=True):
    """Messages, answers, notices and errors in their order.

    Args:
        view: how thinking is shown.
        clock: seconds, monotonic.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings("transcript")

    class Left(TextualMessage):
        """The reader wants to type again; `typed` is what was typed already."""

        def __init__(self, typed: str = "") -> None:
            super().__init__()
            self.typed = typed

    def __init__(self, view: ThinkingView, *, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._view = view
        self._clock = clock
        self._resting_planned = False
        self._rested_at = 0  # lines of the chat then
        self._making_whole = False
        self._led_away = False
        self._shows_origin = False
        self._marks: dict[str, Marks] = {}
        self.tokens_of: Callable[[tuple[Attachment, ...]], Sequence[int | None]] = lambda _files: ()
        """Tokens of files of messages, as far as they were counted."""
        self.types_through = True
        """Whether a letter that is no key goes to the prompt."""

    def on_mount(self) -> None:
        self.anchor()

    async def add(self, entry: Widget) -> None:
        """Put an entry at the end."""
        await self.mount(entry)

    async def show(
        self,
        messages: Sequence[Message],
        siblings: Sequence[Siblings] = (),
        stay_at: int | None = None,
        figures_of: Callable[[int], Content] = lambda _index: Content(),
    ) -> None:
        """Draw a chat anew; messages at its beginning that stand there already are left as they are.

        Args:
            siblings: of each message, its place among its alternatives.
            stay_at: the message that is read, and marked again; without one, the end is shown.
            figures_of: the line under the answer at a place of the chat.
        """
        kept = self._kept(messages)
        texts = [message.content for message in messages]
        size = self.size or self.app.size
        whole = first_whole(texts, size.width, size.height, stay_at)
        entries = [
            self._entry(message, figures_of(at), apart=at not in whole)
            for at, message in enumerate(messages[kept:], kept)
        ]
        place = self.children.index(self.entries[kept - 1]) + 1 if kept else 0
        if stay_at is not None:
            self.release_anchor()
        with self.app.batch_update():
            await self.remove_children(self.children[place:])
            await self.mount_all(entries)
        self.number()
        for at, entry in enumerate(self.entries[:kept]):
            if isinstance(entry, Answer):
                entry.set_figures(figures_of(at))
        for entry, place_and_count in zip(self.entries, siblings, strict=False):
            entry.set_siblings(place_and_count)
        if stay_at is None:
            self.to_end()
        else:
            self.mark(self.entry_at(stay_at))
            self.call_after_refresh(self.bring_into_view)

    async def add_answer(self) -> Answer:
        """An empty answer below what was said so far."""
        answer = Answer(view=self._view, clock=self._clock, shows_origin=self._shows_origin)
        await self.mount(answer)
        self.number()
        return answer

    async def add_prompt(self, prompt: UserMessage) -> None:
        """What the user says."""
        await self.mount(prompt)
        self.number()

    def remember_origin(self, answer: Answer) -> None:
        """Keep the marks of a finished answer for when the chat is drawn anew."""
        if answer.marks:
            self._marks[answer.text] = answer.marks

    async def show_origin(self, shows: bool) -> None:
        """Mark guessed text in all answers of this run, or no longer."""
        self._shows_origin = shows
        with self.app.batch_update():
            for answer in self.query(Answer):
                await answer.show_origin(shows)

    def last_answer(self) -> Answer | None:
        """The latest answer on the screen."""
        answers = self.query(Answer)
        return answers.last() if answers else None

    async def drop_after_last_prompt(self) -> None:
        """Take away what follows the last message of the user, because it will be said anew."""
        prompts = [one for one in self.entries if isinstance(one, UserMessage)]
        if prompts and prompts[-1].index is not None:
            await self.drop_from(prompts[-1].index + 1)

    async def drop_from(self, index: int) -> None:
        """Take away the message with this place and all that follows."""
        self.number()
        place = 0
        if index:
            before = self.entry_at(index - 1)
            if before is None:
                return
            place = self.children.index(before) + 1
        await self.remove_children(self.children[place:])

    def rest_soon(self) -> None:
        """Let entries far from the view rest, after the next layout.

        With a hundred long answers, laying out all of them took two thirds of a core while the next one streamed.
        """
        if not self._resting_planned:
            self._resting_planned = True
            self.call_after_refresh(self._rest)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self.rest_soon()

    def action_page_up(self) -> None:
        self._scroll_by(-(self.size.height - 2))

    def action_page_down(self) -> None:
        self._scroll_by(self.size.height - 2)

    def action_half_up(self) -> None:
        self._scroll_by(-(self.size.height // 2))

    def action_half_down(self) -> None:
        self._scroll_by(self.size.height // 2)

    def action_line_up(self) -> None:
        self._scroll_by(-1)

    def action_line_down(self) -> None:
        self._scroll_by(1)

    def action_top(self) -> None:
        self.scroll_to(y=0, animate=False, immediate=True)

    def action_end(self) -> None:
        self.to_end()

    def action_unfold(self) -> None:
        """Open or fold the thinking of the marked answer, or the latest one."""
        lines = (self.marked.query(Thinking) if self.marked is not None else None) or self.query(Thinking)
        if lines:
            lines.last().action_unfold()

    def action_leave(self) -> None:
        self.post_message(self.Left())

    def on_focus(self) -> None:
        self._led_away = False

    async def on_key(self, event: events.Key) -> None:
        """Any other printable key means that the reader wants to type.

        Over a slow line, keys come many at a time. What was typed behind a key that leads away from here is here
        before the focus has moved; it is text, and must not act on messages.
        """
        known = self.screen.active_bindings.get(event.key)
        action = known.binding.action if known is not None and known.node is self else ""
        if self._led_away or (known is None and self.types_through):
            if event.is_printable and event.character:
                event.stop()
                event.prevent_default()
                self._led_away = True
                self.post_message(self.Left(event.character))
        elif action in _LEADS_AWAY:
            event.stop()
            event.prevent_default()
            await self.run_action(action)
            self._led_away = True

    def _kept(self, messages: Sequence[Message]) -> int:
        """How many messages at the beginning stand there already."""
        count = 0
        for entry, message in zip(self.entries, messages, strict=False):
            if not entry.shows(message):
                break
            count += 1
        return count

    def _size_updated(self, size: Size, virtual_size: Size, container_size: Size, layout: bool = True) -> bool:
        if size.width != self._size.width:
            self._wake_blocks()
        # More to scroll through moves nothing else; when the scrollbar comes or goes, that asks for a layout itself.
        if abs(virtual_size.height - self._rested_at) >= size.height // 4:
            self._rested_at = virtual_size.height
            self.rest_soon()  # what an answer has pushed far away costs it nothing any more
        return super()._size_updated(size, virtual_size, container_size, layout=False)

    def _wake_blocks(self) -> None:
        """Heights of what rests in an answer that grows are other ones at another width."""
        for answer in self.query_children(Answer):
            for block in answer.blocks_above_end if answer.grows else ():
                set_awake(block, True)
        self.rest_soon()

    def _scroll_update(self, virtual_size: Size) -> None:
        """Bring the scrollbar up to date; it is painted along with the layout that called this, not once more."""
        self._refresh_scrollbars()
        if self.show_vertical_scrollbar:
            bar = self.vertical_scrollbar
            bar.set_reactive(ScrollBar.window_virtual_size, virtual_size.height)
            bar.set_reactive(ScrollBar.window_size, self.container_size.height)
            bar._set_dirty()
        self.scroll_y = self.validate_scroll_y(self.scroll_y)

    def _rest(self) -> None:
        self._resting_planned = False
        if not self.size.height:  # another view covers the chat: nothing is known about what will be in sight
            return
        wanted = rest_far(self.children, self.scroll_y, self.size.height)
        if wanted and not self._making_whole:
            self._making_whole = True
            self.run_worker(self._make_whole(wanted), group="whole")
        reach = AWAKE_PAGES * self.size.height
        top, bottom = self.scroll_y - reach, self.scroll_y + self.size.height + reach
        for answer in self.query_children(Answer):
            for block in answer.blocks_above_end if answer.grows else ():
                region = block.virtual_region.translate(answer.virtual_region.offset)
                if region.height:
                    set_awake(block, region.bottom >= top and region.y <= bottom)

    async def _make_whole(self, wanted: list[Entry]) -> None:
        """Make what is near; the reader may be elsewhere after each, so look again then."""
        try:
            for entry in wanted[:1]:
                await entry.make_whole()
        finally:
            self._making_whole = False
        self.rest_soon()

    def _scroll_by(self, lines: int) -> None:
        self.scroll_to(y=self.scroll_y + lines, animate=False, immediate=True)

    def user_message(self, text: str, attachments: tuple[Attachment, ...] = ()) -> UserMessage:
        """An entry for what the user says; where it stands is for the caller to choose."""
        return UserMessage(text, attachments, self.tokens_of(attachments))

    def _entry(self, message: Message, figures: Content, *, apart: bool) -> Widget:
        if message.role == "user":
            entry = self.user_message(message.content, message.attachments)
            if apart:
                entry.begin_apart()
            return entry
        return Answer(
            message.content,
            message.thinking,
            view=self._view,
            marks=self._marks.get(message.content),
            shows_origin=self._shows_origin,
            figures=figures,
            apart=apart,
        )
