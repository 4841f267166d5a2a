"""`mtpchat help`, `mtpchat --help` and the page of a single command."""

from __future__ import annotations

import argparse
import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence

from mtpchat.cli_flags import COMMANDS, DESCRIPTION, EXIT_CODES, Parser, build_parser
from mtpchat.config_schema import nearest, shown
from mtpchat.errors import ConfigError

_WIDTH = 80
_TAKES_CHAT_FLAGS = ("plan", "models", "doctor", "verify", "bench", "tune")
_HAS_JSON = (*_TAKES_CHAT_FLAGS, "inspect", "pull", "chats", "stats")


def help_page(words: Sequence[str]) -> str:
    """The page that was asked for.

    Args:
        words: what stood on the command line beside --help: nothing, a command with its operands, or "help" and the
            name of a command, of the shell or of the chat.

    Raises:
        ConfigError: there is no such command.
    """
    parser = build_parser()
    named = words[1:] if words[:1] == ["help"] else words
    if not named:
        page = _whole_page(parser)
        return f"{page}\n{_in_the_chat()}" if words else page
    name = named[0]
    if name in _names():
        return _command_page(parser, name)
    page = _slash_page(name)
    if page:
        return page
    best = nearest(name, _names())
    raise ConfigError(
        f"There is no command {shown(name)}", hint=f"Did you mean mtpchat help {best}?" if best else "All: mtpchat help"
    )


def _whole_page(parser: Parser) -> str:
    """Everything but the flags of single commands, which have pages of their own."""
    for group in list(parser._action_groups):
        if set(_named_in(group.title)) & set(_names()):
            parser._action_groups.remove(group)
    return parser.format_help()


def _named_in(title: str | None) -> list[str]:
    return re.split(r"\W+", title or "")


def _names() -> list[str]:
    return list(dict.fromkeys(command.partition(" ")[0] for command in COMMANDS))


def _command_page(parser: Parser, name: str) -> str:
    chat = "\nThe flags of the chat, such as -m, count as well: mtpchat --help\n" if name in _TAKES_CHAT_FLAGS else ""
    as_json = "\n--json prints one object instead of text.\n" if name in _HAS_JSON else ""
    parts = [_lines_of(name), *_own_flags(parser, name), chat, as_json, f"\n{EXIT_CODES}"]
    return "".join(parts)


def _lines_of(name: str) -> str:
    """What the whole page says of a command: its lines, and those below that go on with them."""
    lines, own = [], False
    for line in DESCRIPTION.splitlines():
        own = line.startswith(f"  {name} ") or (own and line.startswith("     "))
        lines += [line] if own else []
    return "\n".join(["mtpchat", *lines]) + "\n"


def _own_flags(parser: Parser, name: str) -> Iterator[str]:
    for group in parser._action_groups:
        if name in _named_in(group.title):
            formatter = parser._get_formatter()
            formatter.start_section("flags")
            formatter.add_arguments(_of_command(group._group_actions, name))
            formatter.end_section()
            text = formatter.format_help()
            yield f"\n{text}" if text else ""


def _of_command(actions: Iterable[argparse.Action], name: str) -> Iterator[argparse.Action]:
    """The flags that a command takes; several commands may share a group, and `bench: ...` is a flag of bench alone."""
    for action in actions:
        owners, colon, rest = (action.help or "").partition(": ")
        homes = [word for word in _named_in(owners) if word in _names()] if colon else []
        if homes and name not in homes:
            continue
        if homes and name != "chats":
            action.help = rest
        yield action


def _in_the_chat() -> str:
    from mtpchat.commands.registry import all_commands

    commands = all_commands()
    width = max(len(one.usage) for one in commands)
    lines = ["in the chat:"]
    for one in commands:
        first = f"  {one.usage:<{width}}  "
        lines += textwrap.wrap(one.summary, _WIDTH, initial_indent=first, subsequent_indent=" " * len(first))
    return "\n".join(lines) + "\n\n" + _own_files()


def _own_files() -> str:
    """Where prompt templates and personas of the user's own are."""
    from mtpchat.paths import config_dir
    from mtpchat.presets import personas, templates

    rows = ((templates.FOLDER, "for /prompt NAME"), (personas.FOLDER, "for /persona NAME and --persona NAME"))
    lines = [f"  {config_dir() / folder / 'NAME.toml'}\n      {what}" for folder, what in rows]
    return "\n".join(["your own prompt templates and personas, one file each:", *lines]) + "\n"


def _slash_page(name: str) -> str:
    """A command of the chat in two lines; "" when there is none of that name."""
    from mtpchat.commands.registry import find

    one = find(name.removeprefix("/"))
    return f"{one.usage}\n  {one.summary}\n" if one is not None else ""
