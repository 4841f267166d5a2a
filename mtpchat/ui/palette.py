"""Ctrl+P: every slash command, action and theme, found by name or description, with its key beside it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, cast

from textual import events, on
from textual.command import CommandList, CommandPalette, DiscoveryHit, Hit, Hits, Provider
from textual.content import Content
from textual.widgets import Input, OptionList
from textual.worker import Worker

from mtpchat.commands.registry import all_commands
from mtpchat.ui.dialog import Dialog
from mtpchat.ui.keys import KEYS, shown

if TYPE_CHECKING:
    from mtpchat.ui.chat_screen import ChatScreen

_COMMAND_OF = {
    "chats": "chats", "help": "help", "quit": "quit", "provenance": "provenance", "panel": "spec", "theme": "theme",
    "speculation": "mtp",
}  # fmt: skip
"""Key -> the command that does the same, or nearly so."""
_LEFT_OUT = {"palette", "stop", "page_up", "page_down", "panel_up", "panel_down"}
_BY_DESCRIPTION = 0.8


@dataclass(frozen=True, slots=True)
class _Row:
    """What can be chosen.

    Attributes:
        line: to run, or to put into the prompt if it ends with a space; "" for an action.
        action: of the chat screen, for what has a key and no command.
        key: as it is written on the screen, or "".
    """

    name: str
    about: str
    line: str = ""
    action: str = ""
    key: str = ""


class Palette(CommandPalette, Dialog[None]):
    """Textual's palette, for those who type faster than it opens and closes: nothing of it is carried out twice."""

    @on(events.Mount)
    @on(events.Click)
    @on(Input.Submitted)
    @on(OptionList.OptionSelected)
    def _too_late(self, event: events.Mount | events.Click | Input.Submitted | OptionList.OptionSelected) -> None:
        if self.app.screen is not self:
            event.stop()
            event.prevent_default()

    def _gather_commands(self, search_value: str) -> Worker[None]:
        worker = super()._gather_commands(search_value)
        worker.exit_on_error = False  # its list may be gone before it begins
        return worker

    def _action_command_list(self, action: str) -> None:
        if self.query_one(CommandList).scrollable_content_region.height:  # else it has not been laid out yet
            super()._action_command_list(action)


class CommandProvider(Provider):
    """A command that needs an argument is put into the prompt instead of run."""

    async def discover(self) -> Hits:
        """Everything, before anything is typed."""
        for row in self._rows():
            yield DiscoveryHit(_with_key(Content(row.name), row), partial(self._choose, row), row.name, row.about)

    async def search(self, query: str) -> Hits:
        """What resembles the query, by name or by description."""
        matcher = self.matcher(query)
        for row in self._rows():
            by_name = matcher.match(row.name)
            score = max(by_name, _by_words(query, row.about), matcher.match(row.about) * _BY_DESCRIPTION)
            if score > 0:
                shown_name = matcher.highlight(row.name) if by_name else Content(row.name)
                yield Hit(score, _with_key(shown_name, row), partial(self._choose, row), row.name, row.about)

    def _rows(self) -> Iterator[_Row]:
        keymap = self._chat.session.config.keys
        key_of = {command: shown(key_id, keymap) for key_id, command in _COMMAND_OF.items()}
        for command in all_commands():
            line = f"/{command.name} " if command.takes_argument else f"/{command.name}"
            yield _Row(f"/{command.name}", command.summary, line, key=key_of.get(command.name, ""))
        for key in KEYS:
            if key.scope in ("app", "chat") and key.id not in _LEFT_OUT and key.id not in _COMMAND_OF:
                name, _, about = key.description.partition("; ")
                yield _Row(name, about, action=key.action, key=shown(key.id, keymap))
        for theme in self._chat.theme_names:
            yield _Row(f"Theme: {theme}", "change the colours", f"/theme {theme}")

    async def _choose(self, row: _Row) -> None:
        if row.action:
            await self._chat.run_action(row.action)
        elif row.line.endswith(" "):
            self._chat.fill_prompt(row.line)
        else:
            await self._chat.run_command(row.line)

    @property
    def _chat(self) -> ChatScreen:
        return cast("ChatScreen", self.screen)


def _with_key(name: Content, row: _Row) -> Content:
    return Content.assemble(name, Content.styled(f"   {row.key}", "$mt-muted")) if row.key else name


def _by_words(query: str, about: str) -> float:
    """How well a description has the very words of the query; scattered letters are what the matcher is for."""
    words = query.casefold().split()
    text = about.casefold()
    return _BY_DESCRIPTION if words and all(word in text for word in words) else 0.0
