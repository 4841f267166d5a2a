"""One line above the prompt that asks for something: a word, a field, and remarks at the right."""

from __future__ import annotations

from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.message import Message as TextualMessage
from textual.widgets import Input

from mtpchat.ui.widgets.cluster_input import ClusterInput
from mtpchat.ui.widgets.messages import Plain


class LineBar(Horizontal):
    """Hidden until it is opened.

    Args:
        placeholder: what an empty field says.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,shift+enter", "step(-1)", show=False),
        Binding("down", "step(1)", show=False),
    ]

    class Closed(TextualMessage):
        """It is gone."""

    def __init__(self, placeholder: str) -> None:
        super().__init__()
        self._word = Plain(classes="bar-word")
        self.field = ClusterInput(placeholder=placeholder, select_on_focus=False)
        self._remark = Plain(classes="bar-remark")
        self.display = False

    def compose(self) -> ComposeResult:
        yield self._word
        yield self.field
        yield self._remark

    @property
    def is_open(self) -> bool:
        """Whether it can be seen."""
        return self.display

    def open(self, word: str, text: str) -> None:
        """Show it with `text` in the field, all of it marked, so that typing replaces it."""
        self.display = True
        self.say(word)
        self.field.value = text
        self.screen.set_focus(self.field)  # at once: what is typed next is for it
        self.field.select_all()

    def close(self) -> None:
        """Hide it."""
        if self.display:
            self.display = False
            self.post_message(self.Closed())

    def say(self, word: str) -> None:
        """The word at the left."""
        self._word.update(word)

    def remark(self, remark: Content) -> None:
        """What stands at the right."""
        self._remark.update(remark)

    def entered(self) -> None:
        """Enter was pressed in the field."""

    def changed(self, text: str) -> None:
        """Another text stands in the field."""

    def action_step(self, step: int) -> None:
        """Up or Down was pressed in the field."""

    @on(Input.Submitted)
    def _on_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.entered()

    @on(Input.Changed)
    def _on_changed(self, event: Input.Changed) -> None:
        event.stop()
        if self.display:
            self.changed(event.value)

    def on_paste(self, event: events.Paste) -> None:
        event.stop()
