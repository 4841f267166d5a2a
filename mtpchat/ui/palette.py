"""Ctrl+P: every slash command and every theme, found by typing."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, cast

from textual.command import DiscoveryHit, Hit, Hits, Provider

from mtpchat.commands.registry import all_commands

if TYPE_CHECKING:
    from mtpchat.ui.chat_screen import ChatScreen

_Row = tuple[str, str, str]


class CommandProvider(Provider):
    """Rows are (line to run, name, help). A command that needs an argument is put into the prompt instead of run."""

    async def discover(self) -> Hits:
        """Everything, before anything is typed."""
        for line, name, about in self._rows():
            yield DiscoveryHit(name, partial(self._choose, line), help=about)

    async def search(self, query: str) -> Hits:
        """What resembles the query."""
        matcher = self.matcher(query)
        for line, name, about in self._rows():
            score = max(matcher.match(name), matcher.match(about) * 0.8)
            if score > 0:
                yield Hit(score, matcher.highlight(name), partial(self._choose, line), help=about)

    def _rows(self) -> Iterator[_Row]:
        for command in all_commands():
            line = f"/{command.name} " if command.takes_argument else f"/{command.name}"
            yield line, f"/{command.name}", command.summary
        for theme in self._chat.theme_names:
            yield f"/theme {theme}", f"Theme: {theme}", "change the colours"

    async def _choose(self, line: str) -> None:
        if line.endswith(" "):
            self._chat.fill_prompt(line)
        else:
            await self._chat.run_command(line)

    @property
    def _chat(self) -> ChatScreen:
        return cast("ChatScreen", self.screen)
