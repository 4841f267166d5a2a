"""What was said, and what to do with it: /continue, /clear, /export and /system."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mtpchat.commands.base import CommandContext, Completion, Reply, ShowChat, StartTurn
from mtpchat.commands.export import SUFFIXES, form_of, place_for, render
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


@command("system", "show or set the system message; none removes it", "/system [TEXT | none]", many_lines=True)
def system(context: CommandContext, argument: str) -> Reply:
    session = context.session
    if not argument:
        none = "There is no system message; /system TEXT sets one"
        return Reply(f"System message: {session.system}" if session.system else none)
    if argument.casefold() == "none":
        session.system = ""
        return Reply("The system message is gone, from the next answer on")
    session.system = argument
    return Reply("The system message holds from the next answer on")


def _complete_export(_context: CommandContext, argument: str) -> Sequence[Completion]:
    return complete_paths(argument, [Path.cwd()], SUFFIXES)


@command(
    "export", "write the chat to a new .md, .json, .jsonl or .html file", "/export FILE", complete=_complete_export
)
def export(context: CommandContext, argument: str) -> Reply:
    return _export(context, argument, replace=False)


@command("export!", "the same, replacing a file, making a folder", "/export! FILE", complete=_complete_export)
def export_replacing(context: CommandContext, argument: str) -> Reply:
    return _export(context, argument, replace=True)


def _export(context: CommandContext, argument: str, *, replace: bool) -> Reply:
    session = context.session
    if not argument:
        raise CommandError("Where to?", hint="/export FILE, which ends in .md, .json, .jsonl or .html")
    if not session.messages:
        raise CommandError("There is nothing to export yet")
    path = expand(argument)
    text = render(form_of(path), [session.whole()])
    place_for(path, replace=replace, hints=(f"/export! {argument} replaces it.", f"/export! {argument} makes it."))
    write_atomically(path, text)
    count = len(session.messages)
    return Reply(f"Wrote {count} message{'' if count == 1 else 's'} to {path}")
