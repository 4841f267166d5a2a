"""`mtpchat help`, `mtpchat --help` and the page of a single command."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence

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
    if not words:
        return parser.format_help()
    named = words[1:] if words[0] == "help" else words
    if not named:
        return f"{parser.format_help()}\n{_in_the_chat()}"
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
        if name in re.split(r"\W+", group.title or ""):
            formatter = parser._get_formatter()
            formatter.start_section("flags")
            formatter.add_arguments(group._group_actions)
            formatter.end_section()
            yield f"\n{formatter.format_help()}"


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
