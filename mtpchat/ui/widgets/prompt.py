"""Where the user types: grows with the text, remembers, completes, folds what is too large."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from textual import events
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.widgets import TextArea

from mtpchat.commands.base import MenuRow
from mtpchat.ui.chips import Chips
from mtpchat.ui.history import History
from mtpchat.ui.keys import actions
from mtpchat.ui.safe_text import safe_line, safe_text
from mtpchat.ui.widgets.menu import Menu

Complete = Callable[[str], Sequence[MenuRow]]


class Prompt(TextArea):
    """A text area that sends with Enter.

    Args:
        menu: the list that this prompt steers.
        history: earlier prompts.
        complete: rows for a line that begins with a slash.
        keymap: keys of the user's own, by id.
    """

    class Submitted(Message):
        """The user sent `text`; folded pastes are unfolded in it."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Grown(Message):
        """The prompt has another height."""

    class Leaving(Message):
        """Tab was pressed without a menu."""

    def __init__(self, menu: Menu, history: History, complete: Complete, keymap: Mapping[str, str]) -> None:
        super().__init__(soft_wrap=True, show_line_numbers=False, highlight_cursor_line=False, id="prompt")
        self._actions = actions("prompt", keymap)
        self._menu = menu
        self._history = history
        self._complete = complete
        self._chips = Chips()
        self._mode: Literal["commands", "history"] = "commands"
        self._quiet_text: str | None = None
        self._followed = ""

    async def _on_key(self, event: events.Key) -> None:
        # Not bindings: those of a priority run ahead of letters that still wait in this widget's queue, and a line that
        # was typed fast would be sent without its end.
        action = self._actions.get(event.key)
        if action is None or not self._applies(action):
            await super()._on_key(event)
            return
        event.stop()
        event.prevent_default()
        # The news of a change waits behind keys that were typed at once; the menu must not lag behind the text, or
        # Enter would take a row of the line as it was.
        self._follow_text()
        await self.run_action(action)

    def _applies(self, action: str) -> bool:
        """Up and Down belong to the text unless there is a menu, or no line further that way."""
        match action:
            case "previous":
                return self._menu.is_open or self.navigator.is_first_wrapped_line(self.cursor_location)
            case "next":
                return self._menu.is_open or self.navigator.is_last_wrapped_line(self.cursor_location)
            case "delete_back":
                return self.selection.is_empty and bool(self._chip_before_cursor())
            case _:
                return True

    def render_lines(self, crop: Region) -> list[Strip]:
        """Painted along with whatever changes above and below it: the styles are looked up only when it has changed."""
        lines = self._styles_cache
        if all(y in lines._cache and not lines.is_dirty(y) for y in crop.line_range):
            return super(TextArea, self).render_lines(crop)
        return super().render_lines(crop)

    def on_resize(self) -> None:
        self.post_message(self.Grown())

    def put(self, text: str) -> None:
        """Replace the text, with the cursor at its end and the menu closed."""
        self._quiet_text = self._chips.fold(text)
        self.load_text(self._quiet_text)
        self.move_cursor(self.document.end)
        self._menu.close()

    def take(self, row: MenuRow) -> None:
        """Put a row of the menu into the prompt."""
        from_history = self._mode == "history"
        self.close_menu()
        if from_history:
            self.put(row.insert)
            return
        self._quiet_text = None if row.insert.endswith(" ") else row.insert
        self.load_text(row.insert)
        self.move_cursor(self.document.end)

    def close_menu(self) -> None:
        """Close the menu until the text changes again."""
        self._mode = "commands"
        self._quiet_text = self.text
        self._menu.close()

    def action_send(self) -> None:
        """Send; with a menu open, take the marked row and send that if nothing is missing."""
        row = self._menu.marked
        if row is not None and self._mode == "history":
            self.take(row)
            return
        if row is not None and self.text.strip() not in (row.insert.strip(), row.label):
            self.take(row)
            if row.insert.endswith(" "):
                return
        self._submit()

    def action_newline(self) -> None:
        """A line end at the cursor."""
        self.insert("\n", maintain_selection_offset=False)

    def action_complete(self) -> None:
        """Take the marked row, or the first one; without a menu the focus goes to the chat."""
        row = self._menu.marked or next(iter(self._menu.rows), None)
        if row is None:
            self.post_message(self.Leaving())
            return
        self.take(row)

    def action_previous(self) -> None:
        """Up."""
        if self._menu.is_open:
            self._menu.move(-1)
            return
        older = self._history.older(self._chips.unfold(self.text))
        if older is not None:
            self.put(older)

    def action_next(self) -> None:
        """Down."""
        if self._menu.is_open:
            self._menu.move(1)
            return
        newer = self._history.newer()
        if newer is not None:
            self.put(newer)

    def action_search_history(self) -> None:
        """Show earlier prompts that contain the text; once more goes further back."""
        if self._mode == "history" and self._menu.is_open:
            self._menu.move(1)
            return
        self._mode = "history"
        self._show_history()

    def action_delete_back(self) -> None:
        """Delete a folded paste as one."""
        label = self._chip_before_cursor()
        row, column = self.cursor_location
        self.delete((row, column - len(label)), (row, column), maintain_selection_offset=False)

    async def _on_paste(self, event: events.Paste) -> None:
        event.prevent_default()
        event.stop()
        text = self._chips.fold(safe_text(event.text.replace("\r\n", "\n").replace("\r", "\n")))
        result = self.replace(text, *self.selection, maintain_selection_offset=False)
        self.move_cursor(result.end_location)

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        """Keep the menu in step with the text."""
        event.stop()
        self._follow_text()

    def _follow_text(self) -> None:
        before, self._followed = self._followed, self.text
        if self.text in (self._quiet_text, before):
            return
        self._quiet_text = None
        if self._mode == "history":
            self._show_history()
            return
        line = self.text
        rows = self._complete(line) if line.startswith("/") and "\n" not in line else ()
        self._menu.show(rows, mark=0 if line == line.rstrip() else None)

    def _show_history(self) -> None:
        found = self._history.search(self.text)
        rows = [MenuRow(insert=entry, label=safe_line(entry[:400])) for entry in found]
        if not rows:
            self._mode = "commands"
        self._menu.show(rows, mark=0)

    def _submit(self) -> None:
        text = self._chips.unfold(self.text).strip("\n")
        if not text.strip():
            return
        self._history.add(text)
        self._chips.clear()
        self.put("")
        self._mode = "commands"
        self.post_message(self.Submitted(text))

    def _chip_before_cursor(self) -> str:
        row, column = self.cursor_location
        return self._chips.label_before(self.document.get_line(row)[:column])
