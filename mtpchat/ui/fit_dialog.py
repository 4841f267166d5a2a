"""The question that comes up when a model, its drafter and the context do not fit into memory together."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content

from mtpchat.events import Failed
from mtpchat.fitting import FitChoice, FitKey
from mtpchat.ui.cells import key_words
from mtpchat.ui.dialog import Dialog
from mtpchat.ui.safe_text import safe_text
from mtpchat.ui.widgets.choice_list import ChoiceList, ChoiceRow
from mtpchat.ui.widgets.messages import Plain

_COSTS: dict[FitKey, str] = {
    "speed": "guesses ahead; remembers less of a long chat",
    "context": "plain answers; remembers more of a long chat",
    "cache": "8-bit cache: near ties may go the other way",
    "offload": "the other layers on the CPU, which is slower",
    "plain": "the least that runs here",
}


class FitDialog(Dialog[FitChoice | None]):
    """Shows what fits. Gives the choice, or None when the user leaves it.

    Args:
        failed: the load that did not fit; its choices are the rows.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,ctrl+c", "leave", show=False)]

    def __init__(self, failed: Failed) -> None:
        super().__init__()
        self._failed = failed

    def compose(self) -> ComposeResult:
        keys = key_words((("↑↓", "choose"), ("⏎", "load"), ("esc", "leave")), gap="   ")
        with Vertical(id="fit"):
            yield Plain(Content.assemble("What should be kept?", "   ", keys), classes="page-title")
            yield Plain(safe_text(self._failed.message), classes="reason")
            yield ChoiceList([row_of(choice) for choice in self._failed.choices])
            yield Plain("For this run alone; the setting model.prefer decides for good.", classes="remark")

    def on_mount(self) -> None:
        self.query_one(ChoiceList).focus()

    @on(ChoiceList.Chosen)
    def _take(self, event: ChoiceList.Chosen) -> None:
        self.dismiss(self._failed.choices[event.index])

    def action_leave(self) -> None:
        """Load nothing."""
        self.dismiss(None)


def row_of(choice: FitChoice) -> ChoiceRow:
    """How a choice is shown."""
    return ChoiceRow(choice.label[:1].upper() + choice.label[1:], choice.needs, _COSTS[choice.key])
