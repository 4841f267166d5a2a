"""Asks where a code block is to be saved. Nothing is replaced and no folder made without a second Enter."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from textual.content import Content
from textual.widget import Widget

from mtpchat.commands.clipboard import amount
from mtpchat.commands.code_blocks import CodeBlock
from mtpchat.commands.files import expand
from mtpchat.errors import CommandError, StorageError
from mtpchat.ui.safe_text import safe_line
from mtpchat.ui.saving import doubt, save, suggestion
from mtpchat.ui.widgets.line_bar import LineBar


class SaveBar(LineBar):
    """A name, with a suggestion; Up and Down choose among the blocks of the message."""

    def __init__(self) -> None:
        super().__init__("name of a file")
        self._blocks: Sequence[CodeBlock] = ()
        self._at = 0
        self._suggested = ""
        self._warned = ""  # the name whose consequences were told
        self._returns: Widget | None = None

    def ask(self, blocks: Sequence[CodeBlock], at: int) -> None:
        """Ask for one of these blocks, beginning with the one numbered `at` from 0."""
        self._returns = self.screen.focused
        self._blocks, self._at = blocks, at
        self._suggest()

    def leave(self) -> None:
        """Save nothing."""
        self.close()
        if self._returns is not None:
            self._returns.focus()

    def changed(self, text: str) -> None:
        self._warned = ""
        self._say_amount()

    def entered(self) -> None:
        name = self.field.value.strip()
        if not name:
            self._warn("It needs a name")
            return
        try:
            path = expand(name)
            question = doubt(path)
            if question and self._warned != name:
                self._warned = name
                self._warn(question)
                return
            lines = save(path, self._blocks[self._at].code)
        except (CommandError, StorageError) as error:
            self._warn(error.message)
            return
        self.notify(f"Saved {lines:,} line{'' if lines == 1 else 's'} to {safe_line(str(path))}", markup=False)
        self.leave()

    def action_step(self, step: int) -> None:
        if len(self._blocks) < 2:
            return
        self._at = (self._at + step) % len(self._blocks)
        self._suggest(self.field.value if self.field.value != self._suggested else "")

    def _suggest(self, name: str = "") -> None:
        self._suggested = suggestion(self._blocks[self._at], Path.cwd())
        self._warned = ""
        count = len(self._blocks)
        self.open(f"save block {self._at + 1}/{count} as" if count > 1 else "save code as", name or self._suggested)
        self._say_amount()

    def _say_amount(self) -> None:
        self.remark(Content.styled(amount(self._blocks[self._at].code), "$mt-muted"))

    def _warn(self, words: str) -> None:
        self.remark(Content.styled(safe_line(words), "$mt-warning"))
