"""A list of any length: only the rows on the screen are painted, and the mark stays on its item when others come."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Sequence
from typing import Generic, TypeVar

from textual import events
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

T = TypeVar("T")


class RowList(Widget, Generic[T]):
    """Rows with one of them marked; the screen moves the mark."""

    class Marked(Message):
        """Another row is marked, or none."""

    class Chosen(Message):
        """The marked row was clicked once more."""

    def __init__(self) -> None:
        super().__init__()
        self._items: tuple[T, ...] = ()
        self._at = 0
        self._top = 0
        self._instead = Content("")
        self._moved = False

    @abstractmethod
    def key(self, item: T) -> Hashable:
        """What an item is known by."""

    @abstractmethod
    def paint(self, item: T, width: int, *, marked: bool) -> Content:
        """One line of exactly `width` cells."""

    @property
    def items(self) -> tuple[T, ...]:
        """What is listed."""
        return self._items

    @property
    def marked(self) -> T | None:
        """The row that Enter takes."""
        return self._items[self._at] if self._items else None

    @property
    def marked_line(self) -> int:
        """Line of the marked row within the widget's content."""
        return self._at - self._top

    @property
    def is_near_end(self) -> bool:
        """Whether two pages more would go beyond the last row."""
        return self._at + 2 * self.page >= len(self._items)

    def show(self, items: Sequence[T], instead: Content) -> None:
        """List `items`, or `instead` when there are none. A mark that the user has set stays on its item."""
        before = self.marked
        self._items, self._instead = tuple(items), instead
        places = {self.key(one): at for at, one in enumerate(self._items)}
        kept = places.get(self.key(before)) if before is not None and self._moved else None
        self._at = kept if kept is not None else 0
        self._moved = kept is not None
        self._follow()
        if self.marked != before:
            self.post_message(self.Marked())

    def move(self, by: int) -> None:
        """Move the mark; it stops at the ends."""
        if not self._items:
            return
        at = min(max(self._at + by, 0), len(self._items) - 1)
        self._moved = True
        if at != self._at:
            self._at = at
            self._follow()
            self.post_message(self.Marked())

    @property
    def page(self) -> int:
        """Rows on the screen."""
        return max(self.content_size.height, 1)

    def _follow(self) -> None:
        self._top = min(max(self._top, self._at - self.page + 1), self._at)
        self._top = max(min(self._top, len(self._items) - self.page), 0)
        self.refresh()

    def on_resize(self) -> None:
        self._follow()

    def on_click(self, event: events.Click) -> None:
        event.stop()
        at = self._top + event.y - self.gutter.top
        if not 0 <= at < len(self._items):
            return
        if at == self._at:
            self.post_message(self.Chosen())
        self.move(at - self._at)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.move(3)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.move(-3)

    def render(self) -> Content:
        """The rows on the screen."""
        if not self._items:
            return self._instead
        width = self.content_size.width
        shown = self._items[self._top : self._top + self.page]
        lines = [self.paint(one, width - 1, marked=at == self._at) for at, one in enumerate(shown, self._top)]
        return Content("\n").join(Content.assemble(line, self._more(at)) for at, line in enumerate(lines, self._top))

    def _more(self, at: int) -> Content:
        """A sign at the end of the first and last row when the list goes on there."""
        if at == self._top and self._top > 0:
            return Content.styled("↑", "$mt-muted")
        goes_on = at == self._top + self.page - 1 and at < len(self._items) - 1
        return Content.styled("↓" if goes_on else " ", "$mt-muted")
