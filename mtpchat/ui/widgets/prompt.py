"""Where the user types: grows with the text, remembers, completes, folds what is too large."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Literal

from textual import events
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.widgets import TextArea
from textual.widgets.text_area import Selection

from mtpchat.attachments.mentions import Place
from mtpchat.commands.base import MenuRow
from mtpchat.ui.chips import Chips, Written
from mtpchat.ui.fields import index_of, location_of, next_field
from mtpchat.ui.history import History
from mtpchat.ui.history_search import history_rows
from mtpchat.ui.keys import actions
from mtpchat.ui.mentions import Mentions, Offer
from mtpchat.ui.safe_text import safe_text
from mtpchat.ui.waiting import WaitingLine
from mtpchat.ui.widgets.cluster_area import ClusterArea
from mtpchat.ui.widgets.menu import Menu

Complete = Callable[[str], Sequence[MenuRow]]


class Prompt(ClusterArea):
    """A text area that sends with Enter.

    Attributes:
        line: the prompts that wait, which Up takes back into an empty prompt.

    Args:
        menu: the list that this prompt steers.
        history: earlier prompts.
        complete: rows for a line that begins with a slash.
        keymap: keys of the user's own, by id.
    """

    class Submitted(Message):
        """The user sent this. It is empty only while the line of those that wait makes something of that."""

        def __init__(self, written: Written) -> None:
            super().__init__()
            self.written = written

    class Edited(Message):
        """The text has changed."""

    class Editing(Message):
        """The text is wanted in the user's own editor."""

    class Grown(Message):
        """The prompt has another height."""

    class Leaving(Message):
        """Tab was pressed without a menu."""

    class Listed(Message):
        """More is known about the files that an @ may mean."""

    def __init__(self, menu: Menu, history: History, complete: Complete, keymap: Mapping[str, str]) -> None:
        self._chips = Chips()
        super().__init__(soft_wrap=True, show_line_numbers=False, highlight_cursor_line=False, id="prompt")
        self._actions = actions("prompt", keymap)
        self._menu = menu
        self._history = history
        self._complete = complete
        self.line = WaitingLine()
        self._mentions = Mentions(Place.here(), lambda: self.post_message(self.Listed()))
        self._offer: Offer | None = None
        self._mode: Literal["commands", "history", "files"] = "commands"
        self._quiet_text: str | None = None
        self._followed = ""
        self._before_search: Written | None = None
        self._fields: frozenset[str] = frozenset()
        self._given_back = ""
        self._covered = Written("")

    @property
    def written(self) -> Written:
        """What stands here, with folded pastes unfolded."""
        return self._chips.written(self.text)

    async def _on_key(self, event: events.Key) -> None:
        # Not bindings: those of a priority run ahead of letters that still wait in this widget's queue, and a line that
        # was typed fast would be sent without its end.
        if event.character == "/":
            self.make_way()
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
            case "drop_waiting":
                return not self.text and bool(self.line.prompts) and not self._menu.is_open
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

    def stretches(self, line: str) -> Sequence[tuple[int, int]]:
        """See ClusterArea: half the label of a folded paste would stand for nothing."""
        return self._chips.labels(line)

    def load_text(self, text: str) -> None:
        """See TextArea. Texts come from files and models, too; no control character of theirs reaches the terminal."""
        super().load_text(safe_text(text))

    def put(self, text: str | Written) -> None:
        """Replace the text, with the cursor at its end and the menu closed. A known prompt is folded as it was."""
        written = text if isinstance(text, Written) else self.folded(text)
        self._chips.clear()
        self._fields = frozenset()
        self.load_text(self._chips.show(written))
        self._quiet_text = self.text
        self.move_cursor(self.document.end)
        self._mode = "commands"
        self._given_back, self._covered = "", Written("")
        self._menu.close()

    def folded(self, text: str) -> Written:
        """A text that was sent before, folded as it was then."""
        return self._history.folded(text)

    def begin(self, line: str) -> None:
        """`put` the beginning of a command, and offer what could follow; what stands here is remembered."""
        self.remember(self.written)
        self.put(line)
        self._quiet_text = None

    def give_back(self, text: str | Written) -> None:
        """`put` a text that was sent before. As long as it is unchanged, a command can be typed in its place, and it
        stands here again afterwards."""
        self.put(text)
        self._given_back = self.text

    def make_way(self) -> None:
        """A command begins: what was given back and is unchanged gives way to it."""
        if self.text and self.text == self._given_back:
            covered = self.written
            self.remember(covered)
            self.put("")
            self._covered = covered

    def fill(self, written: Written, fields: Collection[str]) -> None:
        """`put` a text with places to be filled in; the first is selected, Tab goes to the next."""
        self.put(written)
        self._fields = frozenset(fields)
        self._to_field(0)

    def put_edited(self, text: str) -> None:
        """The text after it was edited elsewhere; folded pastes that are still in it stay folded."""
        self.put(self._chips.find_again(text))

    def remember(self, written: Written) -> None:
        """Keep a text that gives way to another among the earlier prompts."""
        self._history.add(written.stripped())

    def take(self, row: MenuRow) -> None:
        """Put a row of the menu into the prompt."""
        if self._mode == "files":
            self._take_file(row)
            return
        from_history = self._mode == "history"
        self._leave_menu()
        if from_history:
            self.put(row.insert or self.written)
            return
        self._quiet_text = None if row.insert.endswith(" ") else row.insert
        self.load_text(row.insert)
        self.move_cursor(self.document.end)

    def close_menu(self) -> None:
        """Close the menu until the text changes again; leaving a search brings back what had been typed before it."""
        before, searching = self._before_search, self._mode == "history"
        self._leave_menu()
        if searching and before is not None:
            self.put(before)

    def _leave_menu(self) -> None:
        self._before_search = None
        self._offer = None
        self._mode = "commands"
        self._quiet_text = self.text
        self._menu.close()

    def action_send(self) -> None:
        """Send; with a menu open, take the marked row and send that if nothing is missing."""
        row = self._menu.marked
        if row is not None and self._mode in ("history", "files"):
            self.take(row)
            return
        if row is not None and self.text.strip() not in (row.insert.strip(), row.label):
            self.take(row)
            if row.insert.endswith(" "):
                return
        if self._fields and self.selected_text.strip("{}") not in self._fields and self._to_field(0):
            return
        self._submit()

    def action_newline(self) -> None:
        """A line end at the cursor."""
        self.insert("\n", maintain_selection_offset=False)

    def action_complete(self) -> None:
        """Take the marked row, or the first one; without a menu go to the next place to fill in, else to the chat."""
        row = self._menu.marked or next(iter(self._menu.rows), None)
        if row is not None:
            self.take(row)
        elif not self._to_field(index_of(self.text, self.selection.end)):
            self.post_message(self.Leaving())

    def action_previous(self) -> None:
        """Up."""
        if self._menu.is_open:
            self._menu.move(-1)
            return
        if not self.text or self._holds_unchanged:
            waiting = self.line.take_beside(-1)
            if waiting is not None or self.line.holds:
                self.put(waiting or self.written)
                return
        older = self._history.older(self.written)
        if older is not None:
            self.put(older)

    def action_next(self) -> None:
        """Down."""
        if self._menu.is_open:
            self._menu.move(1)
            return
        if self._holds_unchanged:
            self.put(self.line.take_beside(1) or "")
            return
        newer = self._history.newer()
        if newer is not None:
            self.put(newer)

    @property
    def _holds_unchanged(self) -> bool:
        held = self.line.held
        return held is not None and self.line.prompts[held] == self.written

    def action_drop_waiting(self) -> None:
        """Take the newest waiting prompt, or the one that is being edited, out of the line."""
        held = self.line.held
        self.line.drop(len(self.line.prompts) if held is None else held + 1)

    def action_edit_outside(self) -> None:
        """The text in the user's own editor."""
        self.post_message(self.Editing())

    def action_search_history(self) -> None:
        """Show earlier prompts that contain the text; once more goes further back, Esc brings back what was typed."""
        if self._mode == "history" and self._menu.is_open:
            self._menu.move(1)
            return
        self._mode = "history"
        self._before_search = self.written
        self._show_history()

    async def _on_paste(self, event: events.Paste) -> None:
        event.prevent_default()
        event.stop()
        row, column = min(self.selection)
        before = self.document.get_line(row)[:column]
        files = None if self.text.startswith("/") else self._mentions.dropped(event.text, before)
        text = safe_text(files or event.text.replace("\r\n", "\n").replace("\r", "\n"))
        text = text if files else self._chips.fold(text)
        result = self.replace(text, *self.selection, maintain_selection_offset=False)
        self.move_cursor(result.end_location)

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        """Keep the menu in step with the text."""
        event.stop()
        if not self.text and self._covered.text:
            self.give_back(self._covered)
        self._follow_text()
        self.post_message(self.Edited())

    def _follow_text(self) -> None:
        before, self._followed = self._followed, self.text
        if self.text in (self._quiet_text, before):
            return
        self._quiet_text = None
        if self._mode == "history":
            self._show_history()
            return
        if self._follow_mention():
            return
        line = self.text
        rows = self._complete(line) if line.startswith("/") and "\n" not in line else ()
        self._menu.show(rows, mark=0 if line == line.rstrip() else None)

    @property
    def _before_cursor(self) -> str:
        row, column = self.cursor_location
        return self.document.get_line(row)[:column]

    def on_prompt_listed(self, event: Listed) -> None:
        """Files were found after their menu had been wanted."""
        event.stop()
        if self._mode != "history" and self.text != self._quiet_text:
            self._follow_mention()

    def on_text_area_selection_changed(self, event: TextArea.SelectionChanged) -> None:
        """The cursor may have left a mention."""
        event.stop()
        if self._mode == "files":
            self._follow_mention()

    def _follow_mention(self) -> bool:
        """Keep the menu of files in step with what stands before the cursor; False when that is no mention."""
        is_text = self.selection.is_empty and not self.text.startswith("/")
        offer = self._mentions.offer(self._before_cursor, max(self.size.width // 2 - 6, 12)) if is_text else None
        if offer is not None and offer != self._offer:  # else the mark stays where the user has moved it
            self._mode = "files"
            self._menu.show(offer.rows, mark=offer.mark)
        elif offer is None and self._mode == "files":
            self._mode = "commands"
            self._menu.close()
        self._offer = offer
        return offer is not None

    def _take_file(self, row: MenuRow) -> None:
        """Put a file in the place of the mention before the cursor; a folder is gone on with."""
        line, column = self.cursor_location
        offer = self._offer
        self._leave_menu()
        if offer is not None:
            self._quiet_text = None
            result = self.replace(row.insert, (line, offer.start), (line, column), maintain_selection_offset=False)
            self.move_cursor(result.end_location)

    def _show_history(self) -> None:
        wanted = self.written.text if not self.written.folds else ""
        room = self.size.width - 4
        self._menu.show(history_rows(self._history.search(wanted), wanted, room), mark=0)

    def _to_field(self, start: int) -> bool:
        """Select the next place to fill in at or behind an index of the text; False when none is left."""
        span = next_field(self.text, self._fields, start)
        if span is None:
            self._fields = frozenset()
            return False
        first, last = (location_of(self.text, index) for index in span)
        self.selection = Selection(first, last)
        return True

    def _submit(self) -> None:
        written = self.written.stripped()
        if not written.text.strip() and not self.line.wants_enter:
            return
        covered = self._covered
        self._history.add(written)
        self.put("")
        if covered.text:
            self.give_back(covered)
        self.post_message(self.Submitted(written))
