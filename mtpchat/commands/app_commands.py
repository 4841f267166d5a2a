"""The program itself: /help and /quit."""

from __future__ import annotations

from collections.abc import Sequence

from mtpchat.commands.base import CommandContext, Completion, Quit, Reply, ShowPage
from mtpchat.commands.registry import all_commands, command, command_table, find, unknown


def _complete_help(_context: CommandContext, _argument: str) -> Sequence[Completion]:
    return [Completion(one.name, one.summary) for one in all_commands()]


@command("help", "what can be typed here", "/help [COMMAND]", complete=_complete_help, while_busy=True, aliases=("?",))
def show_help(_context: CommandContext, argument: str) -> Reply:
    if not argument:
        return Reply(effect=ShowPage("Commands", command_table()))
    name = argument.removeprefix("/")
    found = find(name)
    if found is None:
        raise unknown("command", name, [one.name for one in all_commands()])
    return Reply(f"{found.usage} · {found.summary}")


@command("quit", "leave", while_busy=True, aliases=("exit", "q"))
def leave(_context: CommandContext, _argument: str) -> Reply:
    return Reply(effect=Quit())
