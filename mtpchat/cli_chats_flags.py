"""Flags of `mtpchat chats`, and what those that open a kept chat go with."""

from __future__ import annotations

import argparse

from mtpchat.errors import ConfigError

_WORDS = {
    "list": "the chats that are kept, the latest first",
    "show": "a chat; ID is an id, its beginning, or a number of the list",
    "search": "chats with all these words in their title or in one message",
    "export": "chats as md, json, jsonl or html (--format, -o); `all` is all",
    "import": "take in chats of files, ours or other programs' (--dry-run)",
    "rename": "give a chat another title",
    "pin": "keep chats at the top of the list",
    "unpin": "let them take their place again",
    "delete": "put chats out of sight; undelete brings them back",
    "undelete": "bring deleted chats back; list --deleted shows them",
    "purge": "really let go of deleted chats, all of them or these",
    "path": "where the file of chats is",
    "states": "what models remember of chats, kept on disk; --clear removes it",
}
_OPERANDS = {
    "show": "ID",
    "search": "WORDS...",
    "export": "ID...",
    "import": "FILE...",
    "rename": "ID TITLE...",
    "pin": "ID...",
    "unpin": "ID...",
    "delete": "ID...",
    "undelete": "ID...",
    "purge": "[ID...]",
}
_HINTS = {"import": "Exports of ChatGPT and Open WebUI, ShareGPT, lists of messages, logs of llama-cli, or our own."}
CHATS_COMMANDS = tuple(f"chats {word}" for word in _WORDS)
FORMATS = ("md", "json", "jsonl", "html")


def chats_command_help() -> str:
    """Lines for the page of --help."""
    lines = []
    for word, summary in _WORDS.items():
        usage = f"chats {word} {_OPERANDS.get(word, '')}".rstrip()
        lines.append(f"  {usage:<14} {summary}\n" if len(usage) <= 14 else f"  {usage}\n{'':17}{summary}\n")
    return "".join(lines)


def add_chats_options(parser: argparse.ArgumentParser) -> None:
    """Add the flags."""
    group = parser.add_argument_group("chats")
    forms = "chats export: md, json, jsonl or html"
    group.add_argument("--format", metavar="FORM", choices=FORMATS, default=None, help=forms)
    group.add_argument("-o", "--output", metavar="FILE", help="chats export: a file, or a folder for a file each")
    group.add_argument("--undo", action="store_true", help="chats delete: bring them back, like undelete")
    group.add_argument("--deleted", action="store_true", help="chats list, search: the deleted ones")
    group.add_argument("--clear", action="store_true", help="chats states: remove them all")
    group.add_argument("--limit", metavar="N", type=_count, default=None, help="chats list, search: at most N (50)")


def take_chats_operands(arguments: argparse.Namespace) -> None:
    """Set `.operands` to what follows `chats list` and the like, and leave only those two in `.words`.

    Raises ConfigError for a flag that its command does not have, or for operands that are missing.
    """
    words: list[str] = arguments.words
    what = words[1] if words[:1] == ["chats"] and len(words) > 1 else ""
    if what in _WORDS:
        arguments.operands, arguments.words = words[2:], words[:2]
        wanted = _OPERANDS.get(what, "")
        least = 2 if what == "rename" else 0 if wanted.startswith("[") else 1
        if wanted and len(arguments.operands) < least:
            hint = _HINTS.get(what, "mtpchat chats list shows ids.")
            raise ConfigError(f"chats {what} needs {wanted.rstrip('.')}", hint=hint)
        if arguments.operands and (what not in _OPERANDS or (what == "show" and len(arguments.operands) > 1)):
            raise ConfigError(f"chats {what} takes {'one ID' if what == 'show' else 'no argument'}")
    for given, flag, homes in (
        (arguments.format, "--format", ("export",)),
        (arguments.output, "--output", ("export",)),
        (arguments.undo or None, "--undo", ("delete",)),
        (arguments.deleted or None, "--deleted", ("list", "search")),
        (arguments.clear or None, "--clear", ("states",)),
        (arguments.limit, "--limit", ("list", "search")),
    ):
        if given is not None and what not in homes:
            raise ConfigError(
                f"{flag} belongs to mtpchat chats {' and '.join(homes)}", hint="All flags: mtpchat --help"
            )
    _refuse_opening_elsewhere(arguments, words)


def _refuse_opening_elsewhere(arguments: argparse.Namespace, words: list[str]) -> None:
    if not arguments.go_on and arguments.resume is None:
        return
    flag = "--continue" if arguments.go_on else "--resume"
    if arguments.go_on and arguments.resume is not None:
        raise ConfigError("--continue and --resume name two chats", hint="Leave one of them away.")
    if any(setting.key == "ui.system" for setting in arguments.flags):
        raise ConfigError(
            f"{flag} brings the chat's own system message: it does not go with -sys", hint="/system changes it."
        )
    if words or arguments.prompt is not None:
        raise ConfigError(f"{flag} opens the app: it goes with neither -p nor a command")


def _count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 1_000_000:
        raise argparse.ArgumentTypeError("a number from 1 on is wanted")
    return int(text)
