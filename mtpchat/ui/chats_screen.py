"""The chats that are kept: searched while one types, looked at beside the list, opened, named, pinned and deleted."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.widgets import Input

from mtpchat.chats import ChatLine, Glimpse
from mtpchat.errors import MtpChatError
from mtpchat.one_line import short
from mtpchat.ui.chats_desk import ChatsDesk, TakingIn, file_name
from mtpchat.ui.chats_view import Moment, Row, details, empty, heading, key_line, trouble
from mtpchat.ui.picker_screen import WIDE, PickerScreen
from mtpchat.ui.safe_text import safe_line, safe_text
from mtpchat.ui.widgets.chat_list import ChatList, TitleInput
from mtpchat.ui.widgets.cluster_input import ClusterInput
from mtpchat.ui.widgets.file_ask import FileAsk
from mtpchat.ui.widgets.messages import Plain

_TYPED_S = 0.06
"""A search begins when nothing was typed for so long."""
_SETTLED_S = 0.05
"""How long a row is marked before it is looked at: holding an arrow key reads nothing."""
_UNDO_S = 8.0
_IMPORT = "Import  "
_TOLD = 60
"""Letters of a title in a sentence."""
_FIRST, _GROWTH = 200, 4
"""So many chats are read first, and so many times as many when the mark comes near the last of them."""


@dataclass(frozen=True, slots=True)
class OpenKept:
    """The user wants to go on with this chat."""

    chat: str


@dataclass(frozen=True, slots=True)
class BeginNew:
    """The user wants a new chat."""


Choice = OpenKept | BeginNew


class ChatsScreen(PickerScreen[Choice | None]):
    """Ends with what the user wants to go on with, or None.

    Args:
        desk: where chats come from and changes go to.
        current: id of the chat that is open, or "".
        clock: seconds since 1970.
        why_not: what stands in the way of another chat at present, or "".
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+o", "leave", show=False, priority=True),
        Binding("tab,shift+tab", "other_focus", show=False, priority=True),
        Binding("f2", "rename", show=False, priority=True),
        Binding("delete", "delete", show=False, priority=True),
    ]

    def __init__(
        self,
        desk: ChatsDesk,
        current: str = "",
        clock: Callable[[], float] = time.time,
        why_not: Callable[[], str] = str,
    ) -> None:
        super().__init__()
        self._desk = desk
        self._why_not = why_not
        self._clock = clock
        self._looking = True
        self._trash = False
        self._most = _FIRST
        self._known: dict[tuple[str, str, float], Glimpse] = {}
        self._exported: ChatLine | None = None
        self._taking: TakingIn | None = None
        self._heading = Plain(classes="heading")
        self.search = ClusterInput(placeholder="search in titles and in what was said", compact=True)
        self._current = current
        self.list: ChatList = ChatList(current, clock)
        self._details = Plain(classes="details")
        self._keys = Plain(classes="picker-keys")
        self.ask = FileAsk("picker-ask")

    @property
    def looking(self) -> bool:
        """Whether the list is not yet what was asked for."""
        return self._looking

    @property
    def busy_naming(self) -> bool:
        """Whether a title or a file name is being typed."""
        return self.list.editing or bool(self.ask.asked)

    def compose(self) -> ComposeResult:
        with Vertical(id="picker"):
            yield self._heading
            yield self.search
            with Horizontal(id="picker-body"):
                yield self.list
                with VerticalScroll(id="picker-details", can_focus=False):
                    yield self._details
            yield self.ask
            yield self._keys

    def on_mount(self) -> None:
        self.search.focus()
        self._look_soon(0.0)

    def follow_size(self) -> None:
        """See PickerScreen."""
        self._show_lines()
        self._show_details()

    # Finding.

    def _look_soon(self, pause_s: float = _TYPED_S) -> None:
        self._looking = True
        # Exclusive: a search that is overtaken by the next one is given up, its answer is never shown.
        self.run_worker(self._look(pause_s), group="look", exclusive=True, exit_on_error=False)

    async def _look(self, pause_s: float) -> None:
        await asyncio.sleep(pause_s)
        text, trash = self.search.value, self._trash
        try:
            rows = await self._desk.look(text, self._most, trash=trash)
            instead = empty(text, trash=trash)
        except MtpChatError as error:
            rows, instead = [], trouble(error.message, error.hint)
        self._looking = False
        self.list.show(rows, instead)
        self._show_lines()
        self._show_details()

    def _show_lines(self) -> None:
        if not self.is_mounted:
            return
        width = max(self.size.width - 4, 0)
        searched = bool(self.search.value.strip())
        self._heading.update(
            heading(len(self.list.items), width, trash=self._trash, searched=searched, more=self._may_be_more)
        )
        self._keys.update(key_line(self._moment, width))

    @property
    def _may_be_more(self) -> bool:
        return len(self.list.items) >= self._most

    @property
    def _moment(self) -> Moment:
        if self.list.editing:
            return "naming"
        if self._taking is not None:
            return "reading"
        if self.ask.asked:
            return "importing" if self.ask.asked == "import" else "exporting"
        if not self.list.has_focus:
            return "searching"
        return "trash" if self._trash else "listing"

    def _show_details(self) -> None:
        marked = self.list.marked
        self.query_one("#picker-details").display = marked is not None
        if marked is None:
            return
        known = self._known.get(self._glimpse_key(marked))
        self._update_details(marked, known)
        if known is None:
            self.run_worker(self._look_closer(marked), group="glimpse", exclusive=True, exit_on_error=False)

    def _glimpse_key(self, row: Row) -> tuple[str, str, float]:
        return row.line.id, self.search.value, row.line.updated

    async def _look_closer(self, row: Row) -> None:
        key = self._glimpse_key(row)
        await asyncio.sleep(_SETTLED_S)
        try:
            glimpse = await self._desk.glimpse(row.line.id, key[1])
        except MtpChatError:
            return  # it has gone meanwhile; the list says so at its next look
        self._known[key] = glimpse
        marked = self.list.marked
        if marked is not None and self._glimpse_key(marked) == key:
            self._update_details(marked, glimpse)

    def _update_details(self, row: Row, glimpse: Glimpse | None) -> None:
        self._details.update(details(row, glimpse, self._clock(), compact=self.size.width < WIDE))

    # What the user does.

    @on(ChatList.Marked)
    def _other_row(self) -> None:
        self.query_one("#picker-details", VerticalScroll).scroll_home(animate=False)
        self._show_details()
        if self._may_be_more and not self._looking and self.list.is_near_end:
            self._most *= _GROWTH
            self._look_soon(0.0)

    @on(events.DescendantFocus)
    @on(events.DescendantBlur)
    def _other_keys(self) -> None:
        self._show_lines()

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        if event.input is self.search:
            self._most = _FIRST
            self._look_soon()

    @on(Input.Submitted)
    def _entered(self, event: Input.Submitted) -> None:
        if event.input is self.ask.input:
            self._move_soon(event.value)
        else:
            self.action_open()

    @on(ChatList.Chosen)
    def action_open(self) -> None:
        """Go on with the marked chat; a deleted one comes back."""
        marked = self.list.marked
        if marked is None or self._is_refused():
            return
        if marked.line.deleted:
            self._desk.bring_back(marked.line)
        self.dismiss(OpenKept(marked.line.id))

    def action_leave(self) -> None:
        """Esc: out of what is being typed, or back to the chat."""
        if self.list.editing:
            self._stop_editing()
        elif self._taking is not None:
            self._taking.stopped = True
        elif self.busy_naming:
            self._stop_asking()
        else:
            self.dismiss(None)

    def action_new(self) -> None:
        """Begin a new chat."""
        if not self._is_refused():
            self.dismiss(BeginNew())

    def _is_refused(self) -> bool:
        reason = self._why_not()
        if reason:
            self._say(reason, warning=True)
        return bool(reason)

    def action_move(self, by: int) -> None:
        """Another row, unless something is being typed."""
        if not self.busy_naming:
            super().action_move(by)

    def action_other_focus(self) -> None:
        """From the search to the list and back."""
        if not self.busy_naming:
            self.set_focus(self.search if self.list.has_focus else self.list)

    def action_search(self) -> None:
        """Back to typing."""
        self.set_focus(self.search)

    def action_pin(self) -> None:
        """Keep the marked chat at the top, or no longer."""
        marked = self.list.marked
        if marked is not None and not marked.line.deleted:
            self._desk.pin(marked.line)
            self._look_soon(0.0)

    def action_trash(self) -> None:
        """Show the deleted chats, or the others."""
        self._trash = not self._trash
        self._look_soon(0.0)

    def action_delete(self) -> None:
        """The Delete key: a letter where one is typed, otherwise the marked chat."""
        focused = self.focused
        if isinstance(focused, Input) and (focused is not self.search or not focused.cursor_at_end):
            focused.action_delete_right()
        else:
            self.action_delete_chat()

    def action_delete_chat(self) -> None:
        """Put the marked chat out of sight."""
        marked = self.list.marked
        if marked is None:
            return
        if marked.line.deleted:
            self._say("It is deleted already. Gone for good, at once: mtpchat chats purge", _UNDO_S)
            return
        self.list.step_aside()
        self._desk.delete(marked.line)
        key = "u" if self.list.has_focus else "Tab and u"
        is_open = ", and so does another message: it is still open" if marked.line.id == self._current else ""
        title = short(safe_text(marked.line.title), _TOLD)
        self._say(f"Deleted “{title}” · {key} brings it back{is_open}", _UNDO_S)
        self._look_soon(0.0)

    def action_undo(self) -> None:
        """Bring back what was deleted last; among the deleted ones, the marked one."""
        marked = self.list.marked
        if self._trash and marked is not None:
            self.list.step_aside()
            self._desk.bring_back(marked.line)
            line: ChatLine | None = marked.line
        else:
            line = self._desk.undo()
        self._say(
            f"“{short(safe_text(line.title), _TOLD)}” is back"
            if line
            else "Nothing was deleted here; t shows older ones"
        )
        self._look_soon(0.0)

    def action_rename(self) -> None:
        """Edit the title where it stands."""
        if not self.busy_naming:
            self.list.edit()
            if self.list.editing:
                self.set_focus(self.list.editor)
            self._show_lines()

    @on(ChatList.Renamed)
    def _renamed(self, event: ChatList.Renamed) -> None:
        self._stop_editing()
        self._desk.rename(event.line, event.title)
        self._look_soon(0.0)

    @on(TitleInput.Left)
    def _stop_editing(self) -> None:
        if self.list.editing:
            self.list.stop_editing()
            self.set_focus(self.list)
            self._show_lines()

    def action_export(self) -> None:
        """Ask for the name of a file, and write the marked chat to it."""
        marked = self.list.marked
        if marked is None or self.busy_naming:
            return
        self._exported = marked.line
        self.ask.ask("export", "Export to  ", file_name(marked.line))
        self._show_lines()

    def action_import(self) -> None:
        """Ask for the name of a file, and take in its chats."""
        if not self.busy_naming:
            self.ask.ask("import", _IMPORT)
            self._show_lines()

    def _move_soon(self, typed: str) -> None:
        if typed.strip() and self._taking is None:
            line = self._exported if self.ask.asked == "export" else None
            self.run_worker(self._move(line, typed), group="file", exclusive=True, exit_on_error=False)

    async def _move(self, line: ChatLine | None, typed: str) -> None:
        """Write a chat to a file, or take in those of a file."""
        try:
            said = f"Wrote {await self._desk.export(line, typed)}" if line else await self._take_in(typed)
        except MtpChatError as error:
            self._say(error.sentence, warning=True)
            return  # the name stays, to be mended
        self._stop_asking()
        self._say(said, _UNDO_S)
        self._look_soon(0.0)

    async def _take_in(self, typed: str) -> str:
        self._taking = TakingIn(lambda far: self.ask.say(f"Reading {far}  "))
        self._show_lines()
        try:
            return await self._desk.take_in(typed, self._taking)
        finally:
            self._taking = None
            self.ask.say(_IMPORT)
            self._show_lines()

    def _stop_asking(self) -> None:
        self.ask.stop()
        self.set_focus(self.list)  # which shows its keys

    def _say(self, sentence: str, seconds: float = 4.0, *, warning: bool = False) -> None:
        self.app.clear_notifications()
        severity: Literal["warning", "information"] = "warning" if warning else "information"
        self.notify(safe_line(sentence), timeout=seconds, severity=severity, markup=False)
