"""The rows of the screen of chats; a title is edited where it stands."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widgets import Input

from mtpchat.chats import ChatLine
from mtpchat.ui.chats_view import Row, row
from mtpchat.ui.safe_text import safe_line
from mtpchat.ui.widgets.cluster_input import ClusterInput
from mtpchat.ui.widgets.row_list import RowList

_TITLE_AT = 4
"""Cells before a title."""


class TitleInput(ClusterInput):
    """The title of the marked row while it is edited."""

    class Left(Message):
        """The user wants no other title."""

    def on_blur(self) -> None:
        if self.app.app_focus:  # not when another window is looked at: the focus comes back with this one
            self.post_message(self.Left())


class ChatList(RowList[Row], can_focus=True):
    """Chats. With the focus, letters act on the marked one.

    Args:
        current: id of the chat that is open, or "".
        clock: seconds since 1970.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "screen.move(1)", show=False),
        Binding("k", "screen.move(-1)", show=False),
        Binding("g,home", "screen.move(-1000000)", show=False),
        Binding("G,shift+g,end", "screen.move(1000000)", show=False),
        Binding("enter", "screen.open", show=False),
        Binding("r", "screen.rename", show=False),
        Binding("p", "screen.pin", show=False),
        Binding("d", "screen.delete_chat", show=False),
        Binding("u", "screen.undo", show=False),
        Binding("e", "screen.export", show=False),
        Binding("n", "screen.new", show=False),
        Binding("t", "screen.trash", show=False),
        Binding("i", "screen.import", show=False),
        Binding("slash", "screen.search", show=False),
        Binding("q", "screen.leave", show=False),
    ]

    class Renamed(Message):
        """The user has typed a title for a chat."""

        def __init__(self, line: ChatLine, title: str) -> None:
            super().__init__()
            self.line = line
            self.title = title

    def __init__(self, current: str, clock: Callable[[], float]) -> None:
        super().__init__()
        self._current = current
        self._clock = clock
        self._edited: ChatLine | None = None
        self.editor = TitleInput(compact=True, select_on_focus=False)
        self.editor.display = False

    def compose(self) -> ComposeResult:
        yield self.editor

    def key(self, item: Row) -> str:
        """See RowList."""
        return item.line.id

    def paint(self, item: Row, width: int, *, marked: bool) -> Content:
        """See RowList."""
        return row(item, width, marked=marked, is_open=item.line.id == self._current, now=self._clock())

    def step_aside(self) -> None:
        """Mark a neighbour: the marked row is going to leave the list."""
        last = self.marked is self.items[-1] if self.items else True
        self.move(-1 if last else 1)

    @property
    def editing(self) -> bool:
        """Whether a title is being edited."""
        return self._edited is not None

    def edit(self) -> None:
        """Edit the title of the marked row."""
        if self.marked is None:
            return
        self._edited = self.marked.line
        self.editor.value = safe_line(self._edited.title)
        self._place_editor()
        self.editor.display = True
        self.editor.action_end()

    def stop_editing(self) -> None:
        """Show the titles again."""
        self._edited = None
        self.editor.display = False

    def on_resize(self) -> None:
        super().on_resize()
        self._place_editor()

    def _place_editor(self) -> None:
        self.editor.styles.offset = (_TITLE_AT, self.marked_line)
        self.editor.styles.width = max(self.content_size.width - _TITLE_AT - 1, 4)

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()  # no search

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        edited = self._edited
        if edited is not None:
            self.post_message(self.Renamed(edited, event.value))

    def on_click(self, event: events.Click) -> None:
        if not self.editing:
            super().on_click(event)
