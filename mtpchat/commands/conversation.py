"""What was said, and what to do with it: /continue, /clear, /export and /system."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from mtpchat.commands.base import CommandContext, Completion, Reply, ShowChat, StartTurn
from mtpchat.commands.export import SUFFIXES, Exported, render
from mtpchat.commands.files import complete_paths, expand
from mtpchat.commands.registry import command
from mtpchat.errors import CommandError
from mtpchat.paths import write_atomically


@command("continue", "carry on an answer that was stopped or cut off")
def continue_answer(context: CommandContext, _argument: str) -> Reply:
    messages = context.session.messages
    if not messages or messages[-1].role != "assistant":
        raise CommandError("There is no answer to continue", hint="/retry answers the last prompt")
    if messages[-1].complete:
        raise CommandError("The last answer is complete", hint="/retry answers anew.")
    return Reply(effect=StartTurn("continue"))


@command("clear", "begin a new chat", aliases=("new",))
def clear(context: CommandContext, _argument: str) -> Reply:
    context.session.clear()
    return Reply(effect=ShowChat())


@command("system", "show or set the system message; none removes it", "/system [TEXT | none]")
def system(context: CommandContext, argument: str) -> Reply:
    session = context.session
    if not argument:
        return Reply(f"System message: {session.system}" if session.system else "There is no system message")
    if argument.casefold() == "none":
        session.system = ""
        return Reply("The system message is gone, from the next answer on")
    session.system = argument
    return Reply("The system message holds from the next answer on")


def _complete_export(_context: CommandContext, argument: str) -> Sequence[Completion]:
    return complete_paths(argument, [Path.cwd()], SUFFIXES)


@command("export", "write the conversation to a new .md or .json file", "/export FILE", complete=_complete_export)
def export(context: CommandContext, argument: str) -> Reply:
    return _export(context, argument, replace=False)


@command("export!", "the same, replacing the file if there is one", "/export! FILE", complete=_complete_export)
def export_replacing(context: CommandContext, argument: str) -> Reply:
    return _export(context, argument, replace=True)


def _export(context: CommandContext, argument: str, *, replace: bool) -> Reply:
    session = context.session
    if not argument:
        raise CommandError("Where to?", hint="/export FILE.md or /export FILE.json")
    if not session.messages:
        raise CommandError("There is nothing to export yet")
    path = expand(argument)
    name = session.facts.name if session.facts is not None else ""
    text = render(path, Exported(name, session.system, session.messages))
    if os.path.isdir(path):
        raise CommandError(f"{path} is a folder", hint=f"/export {path / 'chat.md'}")
    if os.path.lexists(path) and not replace:
        raise CommandError(f"{path} exists already", hint=f"/export! {argument} replaces it.")
    write_atomically(path, text)
    count = len(session.messages)
    return Reply(f"Wrote {count} message{'' if count == 1 else 's'} to {path}")
