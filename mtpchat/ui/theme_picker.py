"""Choosing colours: the theme that is marked is the one that is seen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from mtpchat.ui.cells import key_words
from mtpchat.ui.dialog import Dialog
from mtpchat.ui.safe_text import safe_line
from mtpchat.ui.widgets.messages import Plain

_KEYS = (("↑↓", "try"), ("⏎", "use"), ("s", "for good"), ("esc", "leave"))


@dataclass(frozen=True, slots=True)
class ThemeChoice:
    """What was chosen; `save` for good, else for this run."""

    name: str
    save: bool = False


class ThemePicker(Dialog[ThemeChoice | None]):
    """A list beside the chat, which changes its colours with the mark. Gives None when the user leaves it.

    Args:
        themes: name and a sentence about each.
        current: the one in use, which comes back when nothing is chosen.
        preview: shows a theme.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,ctrl+c", "leave", show=False),
        Binding("s", "save", show=False),
        Binding("j", "move('down')", show=False),
        Binding("k", "move('up')", show=False),
    ]

    def __init__(self, themes: Sequence[tuple[str, str]], current: str, preview: Callable[[str], None]) -> None:
        super().__init__()
        self._themes = tuple(themes)
        self._current = current
        self._preview = preview

    def compose(self) -> ComposeResult:
        with Vertical(id="themes"):
            yield Plain("Theme", classes="page-title")
            yield OptionList(*(Option(self._row(name), id=name) for name, _ in self._themes), markup=False)
            yield Plain(classes="remark")
            yield Plain(key_words(_KEYS), classes="keys")

    def on_mount(self) -> None:
        names = [name for name, _ in self._themes]
        options = self.query_one(OptionList)
        options.highlighted = names.index(self._current) if self._current in names else 0
        options.focus()

    def action_move(self, way: str) -> None:
        """Move the mark."""
        options = self.query_one(OptionList)
        options.action_cursor_down() if way == "down" else options.action_cursor_up()

    def action_save(self) -> None:
        """Use the marked theme from now on."""
        self.dismiss(ThemeChoice(self._marked, save=True))

    def action_leave(self) -> None:
        """Everything as it was."""
        self._preview(self._current)
        self.dismiss(None)

    @on(OptionList.OptionHighlighted)
    def _show(self) -> None:
        self._preview(self._marked)
        self.query_one(".remark", Plain).update(Content(safe_line(dict(self._themes)[self._marked])))

    @on(OptionList.OptionSelected)
    def _take(self) -> None:
        self.dismiss(ThemeChoice(self._marked))

    @property
    def _marked(self) -> str:
        return self._themes[self.query_one(OptionList).highlighted or 0][0]

    def _row(self, name: str) -> Content:
        shown = safe_line(name)
        return (
            Content.assemble(shown, Content.styled("  in use", "$mt-muted"))
            if name == self._current
            else Content(shown)
        )
