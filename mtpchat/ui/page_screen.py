"""A page of Markdown over the chat: help, statistics, settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content

from mtpchat.ui.cells import key_words
from mtpchat.ui.dialog import Dialog
from mtpchat.ui.safe_text import safe_line, safe_text
from mtpchat.ui.widgets.markdown import ChatMarkdown
from mtpchat.ui.widgets.messages import Plain


class PageScreen(Dialog[None]):
    """Shows one page until Esc, or until the reader begins a command, such as one that the page speaks of.

    Args:
        type_on: gets each letter of what the reader types from "/" on, as far as it comes here.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter", "dismiss", "Close", show=False),
        Binding("ctrl+c", "copy_or_close", show=False),
        Binding("j,down", "scroll(1)", show=False),
        Binding("k,up", "scroll(-1)", show=False),
        Binding("pagedown,space", "scroll(12)", show=False),
        Binding("pageup,b", "scroll(-12)", show=False),
        Binding("g,home", "scroll(-100000)", show=False),
        Binding("G,end", "scroll(100000)", show=False),
    ]

    def __init__(self, title: str, markdown: str, type_on: Callable[[str], None]) -> None:
        super().__init__()
        self._type_on = type_on
        self._typing = False
        self._page_title = title
        self._markdown = markdown

    def compose(self) -> ComposeResult:
        with Vertical(id="page"):
            close = key_words((("↑↓", "scroll"), ("esc", "close")), gap="   ")
            yield Plain(Content.assemble(safe_line(self._page_title), "   ", close), classes="page-title")
            with VerticalScroll(can_focus=False):
                yield ChatMarkdown(safe_text(self._markdown))

    async def _on_key(self, event: events.Key) -> None:
        # Letters that were typed at once are here already when the first of them closes the page.
        if not self._typing and event.character != "/":
            return
        event.stop()
        event.prevent_default()
        if not self._typing:
            self.dismiss()
            self._typing = self.is_left  # not where another page lies above it
        if self._typing and event.is_printable and event.character:
            self._type_on(event.character)

    def action_copy_or_close(self) -> None:
        """Copy what is marked; close when nothing is."""
        selected = self.get_selected_text()
        if selected:
            self.app.copy_to_clipboard(selected)
        else:
            self.dismiss()

    def action_scroll(self, lines: int) -> None:
        """Scroll by lines."""
        body = self.query_one(VerticalScroll)
        body.scroll_to(y=body.scroll_y + lines, animate=False)
