"""A list of models of any length: only the rows on the screen are painted, and the mark stays on its model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from textual import events
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from mtpchat.shelf.listing import Item
from mtpchat.ui.model_picker_view import row


class ModelList(Widget):
    """Rows with one of them marked. It never has the focus: the screen moves the mark.

    Args:
        loaded: path of the model in use, or None.
        clock: seconds since 1970.
    """

    class Marked(Message):
        """Another row is marked, or none."""

    class Chosen(Message):
        """The marked row was clicked once more."""

    def __init__(self, loaded: Path | None, clock: Callable[[], float]) -> None:
        super().__init__()
        self._loaded = loaded
        self._clock = clock
        self._items: tuple[Item, ...] = ()
        self._at = 0
        self._top = 0
        self._instead = Content("")
        self._moved = False

    @property
    def items(self) -> tuple[Item, ...]:
        """What is listed."""
        return self._items

    @property
    def marked(self) -> Item | None:
        """The row that Enter takes."""
        return self._items[self._at] if self._items else None

    def show(self, items: Sequence[Item], instead: Content) -> None:
        """List `items`, or `instead` when there are none. A mark that the user has set stays on its model."""
        before = self.marked
        self._items, self._instead = tuple(items), instead
        places = {one.found.path: at for at, one in enumerate(self._items)}
        kept = places.get(before.found.path) if before is not None and self._moved else None
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
        width, now = self.content_size.width, self._clock()
        shown = self._items[self._top : self._top + self.page]
        lines = [
            row(one, width - 1, marked=at == self._at, loaded=one.found.path == self._loaded, now=now)
            for at, one in enumerate(shown, self._top)
        ]
        return Content("\n").join(Content.assemble(line, self._more(at)) for at, line in enumerate(lines, self._top))

    def _more(self, at: int) -> Content:
        """A sign at the end of the first and last row when the list goes on there."""
        if at == self._top and self._top > 0:
            return Content.styled("↑", "$mt-muted")
        goes_on = at == self._top + self.page - 1 and at < len(self._items) - 1
        return Content.styled("↓" if goes_on else " ", "$mt-muted")
