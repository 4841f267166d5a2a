"""A screen over the chat with a field, a list and details beside or below it; the arrows work wherever the focus is."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, TypeVar

from textual import events
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll

from mtpchat.ui.dialog import Dialog
from mtpchat.ui.widgets.row_list import RowList

WIDE = 100
"""From so many cells on, the details stand beside the list."""
_LOW = 22

T = TypeVar("T")


class PickerScreen(Dialog[T]):
    """What screens with a list have in common."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+c", "leave", "Leave", show=False, priority=True),
        Binding("up", "move(-1)", show=False, priority=True),
        Binding("down", "move(1)", show=False, priority=True),
        Binding("pageup", "page(-1)", show=False, priority=True),
        Binding("pagedown", "page(1)", show=False, priority=True),
        Binding("ctrl+up", "details(-1)", show=False, priority=True),
        Binding("ctrl+down", "details(1)", show=False, priority=True),
        Binding("ctrl+home", "move(-1000000)", show=False, priority=True),
        Binding("ctrl+end", "move(1000000)", show=False, priority=True),
    ]

    list: RowList[Any]

    @abstractmethod
    def action_leave(self) -> None:
        """Esc."""

    @abstractmethod
    def follow_size(self) -> None:
        """Show everything for the size that the screen has now."""

    def on_resize(self, event: events.Resize) -> None:
        self.set_class(event.size.width >= WIDE, "-wide")
        self.set_class(event.size.height < _LOW, "-low")
        self.follow_size()

    def action_move(self, by: int) -> None:
        """Another row."""
        self.list.move(by)

    def action_page(self, direction: int) -> None:
        """A page further."""
        self.action_move(direction * max(self.list.page - 1, 1))

    def action_details(self, lines: int) -> None:
        """Scroll the details, where they do not fit."""
        body = self.query_one("#picker-details", VerticalScroll)
        body.scroll_to(y=body.scroll_y + lines, animate=False)
