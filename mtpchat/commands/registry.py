"""Finds slash commands, runs them and completes them; menu, help, palette and README are generated from here.

A new command is one function with `@command(...)` in any module of this package.
"""

from __future__ import annotations

import importlib
import logging
import pkgutil
from collections.abc import Callable, Sequence
from functools import cache

import mtpchat.commands
from mtpchat.commands.base import Command, CommandContext, Completion, MenuRow, Reply
from mtpchat.commands.page import code, table
from mtpchat.config_schema import nearest
from mtpchat.errors import CommandError, MtpChatError

_log = logging.getLogger(__name__)
_registered: dict[str, Command] = {}

Run = Callable[[CommandContext, str], Reply]
Complete = Callable[[CommandContext, str], Sequence[Completion]]


def _nothing(_context: CommandContext, _argument: str) -> Sequence[Completion]:
    return ()


def command(
    name: str,
    summary: str,
    usage: str = "",
    *,
    complete: Complete = _nothing,
    while_busy: bool = False,
    aliases: tuple[str, ...] = (),
    many_lines: bool = False,
) -> Callable[[Run], Run]:
    """Register the decorated function as `/name`.

    Args:
        name: without the slash.
        summary: one line, no full stop.
        usage: as in "/draft N | MIN-MAX | auto"; left out for a command without argument.
        complete: possible arguments; the registry keeps those that begin with what was typed.
        while_busy: may run while an answer is being generated.
        aliases: other names it answers to.
        many_lines: its argument may have several lines.
    """

    def register(run: Run) -> Run:
        if name in _registered:
            raise ValueError(f"two commands are called /{name}")
        usual = usage or f"/{name}"
        _registered[name] = Command(name, summary, usual, run, complete, while_busy, aliases, many_lines)
        return run

    return register


@cache
def all_commands() -> tuple[Command, ...]:
    """Every command of this package, by name."""
    for module in pkgutil.iter_modules(mtpchat.commands.__path__):
        importlib.import_module(f"{mtpchat.commands.__name__}.{module.name}")
    return tuple(sorted(_registered.values(), key=lambda one: one.name))


def find(name: str) -> Command | None:
    """The command that answers to `name` (without the slash, any case), or None."""
    wanted = name.casefold()
    return next((one for one in all_commands() if wanted == one.name or wanted in one.aliases), None)


def unknown(what: str, word: str, valid: Sequence[str]) -> CommandError:
    """The error for an argument that is none of `valid`: names the nearest one, or else all of them."""
    close = nearest(word.casefold(), valid)
    advice = f"did you mean {close}?" if close else f"one of: {', '.join(valid)}" if valid else ""
    return CommandError(f'There is no {what} "{word}"', hint=advice)


_FAREWELLS = frozenset({"exit", "quit", ":q", ":q!", ":wq"})


def is_command(text: str) -> bool:
    """Whether what was sent is a line for `dispatch` rather than words for the model.

    A path is none, and neither is a text of several lines, unless its command takes such. Words that leave any other
    program of a terminal leave this one, too.
    """
    if text.strip() in _FAREWELLS:
        return True
    first = text.split(maxsplit=1)[0] if text.strip() else ""
    if not first.startswith("/") or "/" in first[1:]:
        return False
    found = find(first[1:])
    return "\n" not in text.strip() or (found is not None and found.many_lines)


def split(line: str) -> tuple[str, str]:
    """Name and argument of a line: "/draft  1-6 " is ("draft", "1-6")."""
    if line.strip() in _FAREWELLS:
        return "quit", ""
    words = line.strip().removeprefix("/").split(None, 1)
    return (words[0] if words else ""), (words[1] if len(words) > 1 else "")


def dispatch(context: CommandContext, line: str) -> Reply:
    """Run a line such as "/draft 3". Never raises: a mistake of the user or of ours is a reply with level "error"."""
    name, argument = split(line)
    try:
        return _dispatch(context, name, argument)
    except MtpChatError as error:
        return Reply(" ".join(error.message.split()), level="error", hint=error.hint)
    except Exception as error:  # noqa: BLE001  one of three catch-alls: a faulty command must not end the chat
        _log.exception("command /%s failed", name)
        return Reply(f"/{name} failed: {error or type(error).__name__}", level="error", hint="The log has the details.")


def _dispatch(context: CommandContext, name: str, argument: str) -> Reply:
    found = find(name)
    if found is None:
        close = nearest(name.casefold(), [one.name for one in all_commands()])
        advice = f"did you mean /{close}?" if close else "/help lists what there is"
        raise CommandError(f"There is no command /{name}", hint=advice)
    if context.session.busy and not found.while_busy:
        event = "the answer is finished" if context.session.facts is not None else "the model is loaded"
        raise CommandError(f"/{found.name} has to wait until {event}", hint="Esc stops it now.")
    if argument and not found.takes_argument:
        raise CommandError(f"/{found.name} takes no argument")
    return found.run(context, argument)


def complete(context: CommandContext, line: str) -> list[MenuRow]:
    """Rows of the menu for what stands in the prompt; empty when `line` is not a command or nothing fits."""
    typed = line.lstrip()
    if not typed.startswith("/") or "\n" in typed:
        return []
    name, space, argument = typed[1:].partition(" ")
    if not space:
        return [_row(one) for one in _named_like(name.casefold())]
    found = find(name)
    if found is None:
        return []
    begun = argument.lstrip()
    return [
        MenuRow(f"/{name} {row.value}", row.value.rstrip(), row.summary)
        for row in found.complete(context, begun)
        if row.value.casefold().startswith(begun.casefold())
    ]


def _named_like(typed: str) -> list[Command]:
    """Commands whose name begins with `typed`, then those that have it elsewhere or in an alias."""
    commands = all_commands()
    first = [one for one in commands if one.name.startswith(typed)]
    return first + [
        one for one in commands if one not in first and any(typed in name for name in (one.name, *one.aliases))
    ]


def _row(one: Command) -> MenuRow:
    return MenuRow(f"/{one.name} " if one.takes_argument else f"/{one.name}", f"/{one.name}", one.summary)


def command_table() -> str:
    """All commands as a Markdown table, for the README and the help page."""
    return table(("Command", "What it does"), [(code(one.usage), one.summary) for one in all_commands()])
