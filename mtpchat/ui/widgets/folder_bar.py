"""Asks for a folder of models, or one file of them: paths are completed, and what they could become is shown below."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content

from mtpchat.commands.files import complete_paths
from mtpchat.one_line import common_start
from mtpchat.ui.safe_text import safe_line
from mtpchat.ui.widgets.line_bar import LineBar

_HOME = "~/"


class FolderBar(LineBar):
    """A path; Tab completes it as far as it is certain.

    Args:
        entered: called with what was typed.
        shown: called with what it could become.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("tab", "complete", show=False)]

    def __init__(self, entered: Callable[[str], None], shown: Callable[[Sequence[str]], None]) -> None:
        super().__init__("~/models")
        self._entered = entered
        self._shown = shown

    def ask(self) -> None:
        """Begin at home."""
        self.open("folder", _HOME)
        self.field.cursor_position = len(self.field.value)

    def entered(self) -> None:
        """Hand on what was typed."""
        self._entered(self.field.value.strip())

    def changed(self, text: str) -> None:
        """Show what it could become. A whole path, typed or pasted behind the one that stood there, replaces it."""
        if text.startswith((f"{_HOME}~/", f"{_HOME}/")):
            self.field.value = text.removeprefix(_HOME)
            self.field.cursor_position = len(self.field.value)
            return
        self.remark(Content())
        self._shown(self._completions(text))

    def action_complete(self) -> None:
        """Add what all completions begin with."""
        rows = self._completions(self.field.value)
        longer = common_start(rows)
        if len(longer) > len(self.field.value):
            self.field.value = longer
            self.field.cursor_position = len(longer)

    def warn(self, words: str) -> None:
        """Say what is wrong with it."""
        self.remark(Content.styled(safe_line(words), "$mt-warning"))

    def _completions(self, text: str) -> list[str]:
        return [row.value for row in complete_paths(text, [Path.cwd()], (".gguf",))]
