"""A page of Markdown over the chat: help, statistics, settings."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen

from mtpchat.ui.cells import key_words
from mtpchat.ui.safe_text import safe_line, safe_text
from mtpchat.ui.widgets.markdown import ChatMarkdown
from mtpchat.ui.widgets.messages import Plain


class PageScreen(ModalScreen[None]):
    """Shows one page until Esc."""

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

    def __init__(self, title: str, markdown: str) -> None:
        super().__init__()
        self._page_title = title
        self._markdown = markdown

    def compose(self) -> ComposeResult:
        with Vertical(id="page"):
            close = key_words((("↑↓", "scroll"), ("esc", "close")), gap="   ")
            yield Plain(Content.assemble(safe_line(self._page_title), "   ", close), classes="page-title")
            with VerticalScroll(can_focus=False):
                yield ChatMarkdown(safe_text(self._markdown))

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
