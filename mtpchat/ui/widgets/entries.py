"""The messages of a chat as things to act on: which is which, which one is marked, and what the reader wants of it."""

from __future__ import annotations

from typing import Literal

from textual import events, on
from textual.message import Message as TextualMessage
from textual.widget import Widget

from mtpchat.ui.widgets.entry import Entry, Walked, set_awake
from mtpchat.ui.widgets.folding import Folded
from mtpchat.ui.widgets.messages import UserMessage
from mtpchat.ui.widgets.window import Window

Act = Literal["edit", "retry", "copy", "copy_code", "save_code", "editor", "fork", "copy_chat"]
"""What can be done with the marked message, or with the chat."""


class Entries(Window):
    """A column of messages, and of lines between them that are none."""

    class Marked(TextualMessage):
        """Another message is marked, or none."""

    class Wanted(TextualMessage):
        """The reader wants something done; `entry` is the message that is marked."""

        def __init__(self, what: Act, entry: Entry | None) -> None:
            super().__init__()
            self.what = what
            self.entry = entry

    def __init__(self) -> None:
        super().__init__()
        self._marked: Entry | None = None

    @property
    def entries(self) -> list[Entry]:
        """Messages on the screen, in their order."""
        return [child for child in self.children if isinstance(child, Entry)]

    def entry_at(self, index: int) -> Entry | None:
        """The message with this place in the chat."""
        return next((one for one in self.entries if one.index == index), None)

    def number(self) -> None:
        """Tell each message its place in the chat, and each prompt which of them it is."""
        prompts = 0
        for place, entry in enumerate(self.entries):
            if isinstance(entry, UserMessage):
                prompts += 1
                entry.set_number(prompts)
            entry.index = place

    @property
    def marked(self) -> Entry | None:
        """The message that keys act on."""
        return self._marked if self._marked is not None and self._marked.is_attached else None

    def mark(self, entry: Entry | None) -> None:
        """Mark a message, or none."""
        before, self._marked = self.marked, entry
        if before is not None and before is not entry:
            before.set_marked(False)
        if entry is not None:
            entry.set_marked(True)
        if before is not entry:
            self.post_message(self.Marked())

    def jump_to(self, entry: Entry) -> None:
        """Mark a message and bring its first line to the top."""
        self.mark(entry)
        self.scroll_to(y=entry.virtual_region.y, animate=False, immediate=True)

    def to_end(self) -> None:
        """Go to the end and follow it."""
        self.anchor()
        self.scroll_end(animate=False, immediate=False)

    def bring_into_view(self) -> None:
        """Scroll to the marked message if nothing of it is in view."""
        if self.marked is not None and not self._in_view(self.marked):
            self.jump_to(self.marked)

    def action_message(self, step: int, prompts_alone: bool = False) -> None:
        """Mark the next message (1) or the one before (-1) and bring it to the top."""
        entries = self.entries
        here = self._current()
        if here is None:
            return
        top = here.virtual_region.y
        if step < 0 and top < self.scroll_y and (isinstance(here, UserMessage) or not prompts_alone):
            self.jump_to(here)  # its beginning is above the view
            return
        rest = entries[entries.index(here) + 1 :] if step > 0 else reversed(entries[: entries.index(here)])
        to = next((one for one in rest if isinstance(one, UserMessage) or not prompts_alone), None)
        if to is not None:
            self.jump_to(to)
        elif step > 0:
            self.to_end()

    def action_act(self, what: Act) -> None:
        """Ask for something to be done with the message that is marked, if it is in view, or else the one that is."""
        self.mark(self._current())
        self.post_message(self.Wanted(what, self.marked))

    def action_walk(self, step: int) -> None:
        """Another alternative of the marked message."""
        entry = self._current()
        if entry is not None:
            self.mark(entry)
            self.post_message(Walked(entry, step))

    async def action_fold(self) -> None:
        """Hide most of the marked message, or show all of it."""
        entry = self._current()
        self.mark(entry)
        if entry is None:
            return
        set_awake(entry, True)
        if entry.whole:
            self._fold(entry)
        else:
            await entry.make_whole()
            self.call_after_refresh(self._fold, entry)

    def _fold(self, entry: Entry) -> None:
        if entry.fold():
            self.call_after_refresh(self.bring_into_view)
        else:
            self.notify("It is too short to be folded", timeout=2, markup=False)

    @on(Folded.Opened)
    def _unfold(self, event: Folded.Opened) -> None:
        event.stop()
        entry = self._entry_of(event._sender)
        if entry is not None and entry.folded:
            entry.fold()

    def on_focus(self) -> None:
        self.mark(self._current(last=True))

    def on_blur(self) -> None:
        if self.marked is not None:
            self.marked.set_marked(False)

    def on_click(self, event: events.Click) -> None:
        """Mark what was clicked, unless text was selected."""
        clicked, _region = self.screen.get_widget_at(event.screen_x, event.screen_y)
        entry = self._entry_of(clicked)
        if entry is not None and not self.screen.get_selected_text():
            self.mark(entry)

    def _entry_of(self, widget: object) -> Entry | None:
        if not isinstance(widget, Widget):
            return None
        return next((one for one in widget.ancestors_with_self if isinstance(one, Entry)), None)

    def _in_view(self, entry: Entry) -> bool:
        region = entry.virtual_region
        return region.bottom > self.scroll_y and region.y < self.scroll_y + self.size.height

    def _current(self, *, last: bool = False) -> Entry | None:
        """The marked message if it is in view, else the first (or last) one that is."""
        if self.marked is not None and self._in_view(self.marked):
            return self.marked
        seen = [one for one in self.entries if self._in_view(one)]
        return (seen[-1] if last else seen[0]) if seen else None
