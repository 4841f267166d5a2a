"""A summary while the model writes it, and then the question: take it, change it, or leave the chat as it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import TextArea

from mtpchat.events import Prefilling
from mtpchat.ui.cells import key_words
from mtpchat.ui.dialog import Dialog
from mtpchat.ui.safe_text import safe_text
from mtpchat.ui.status_line import reading_words
from mtpchat.ui.widgets.messages import Plain

_WRITING = (("esc", "stop"),)
_DECIDING = (("⏎", "take it"), ("e", "edit"), ("esc", "leave the chat as it is"))
_EDITING = (("^S", "take it"), ("esc", "done editing"))


class CompactPreview(Dialog[str | None]):
    """Gives the summary as the user wants it, or None when nothing is to change.

    Args:
        stop: ends the writing.
    """

    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "accept", show=False),
        Binding("ctrl+s", "accept", show=False, priority=True),
        Binding("e", "edit", show=False),
        Binding("escape,ctrl+c", "leave", show=False, priority=True),
    ]

    def __init__(self, stop: Callable[[], None]) -> None:
        super().__init__()
        self._stop = stop
        self._head = Plain(classes="page-title")
        self._foot = Plain(classes="remark")
        self._area = TextArea(read_only=True, show_line_numbers=False, soft_wrap=True)
        self._written = False

    @property
    def text(self) -> str:
        """The summary as it stands there."""
        return self._area.text

    @property
    def written(self) -> bool:
        """Whether the model has written it to its end."""
        return self._written

    def compose(self) -> ComposeResult:
        with Vertical(id="compact"):
            yield self._head
            yield self._area
            yield self._foot

    def on_mount(self) -> None:
        self._show_keys("The model reads what it is about", _WRITING)

    def grow(self, text: str, part: int, parts: int, reading: Prefilling | None = None) -> None:
        """More of the summary has come; `part` of `parts`. Before its first word: how far the model has read."""
        if not self.is_attached:
            return
        self._area.load_text(safe_text(text))
        self._area.scroll_end(animate=False)
        which = f" · part {part} of {parts}" if parts > 1 else ""
        does = "writes a summary" if text else "reads what it is about"
        read = "" if text or reading is None else f" · {reading_words(reading)}"
        self._show_keys(f"The model {does}{which}{read}", _WRITING)

    def finish(self, text: str, remark: str) -> None:
        """It is all there, and can be taken; `remark` says what that would bring."""
        if not self.is_attached:
            return
        self._written = True
        self._area.load_text(safe_text(text))
        self._area.scroll_home(animate=False)
        self._foot.update(Content(remark))
        self._show_keys("Go on from this summary?", _DECIDING)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Enter and `e` are letters while the text is edited."""
        if action == "edit":
            return self._written and self._area.read_only
        return True

    def action_accept(self) -> None:
        """Take it."""
        if self._written and self.text.strip():
            self.dismiss(self.text.strip())

    def action_edit(self) -> None:
        """Write in it."""
        self._area.read_only = False
        self._area.focus()
        self._show_keys("The summary, in your words", _EDITING)

    def action_leave(self) -> None:
        """Stop the writing, end the editing, or leave."""
        if not self._written:
            self._stop()
            self.dismiss(None)
        elif not self._area.read_only:
            self._area.read_only = True
            self.set_focus(None)
            self._show_keys("Go on from this summary?", _DECIDING)
        else:
            self.dismiss(None)

    def _show_keys(self, title: str, keys: Sequence[tuple[str, str]]) -> None:
        self._head.update(Content.assemble(title, "   ", key_words(keys, gap="   ")))
