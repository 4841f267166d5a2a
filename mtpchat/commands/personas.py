"""Personas: /persona."""

from __future__ import annotations

from collections.abc import Sequence

from mtpchat.commands.base import CommandContext, Completion, Reply, ShowPage
from mtpchat.commands.page import code, plain, table
from mtpchat.commands.registry import command
from mtpchat.commands.templates import own_files, presets_dir
from mtpchat.presets.personas import FOLDER, Persona, put_on, read_personas, shown_name, take_off


def _complete(context: CommandContext, _argument: str) -> Sequence[Completion]:
    rows = [Completion(name, one.description) for name, one in read_personas(presets_dir(context)).found.items()]
    return [*rows, Completion("none", "the system message and sampling from before")]


@command(
    "persona",
    "let a persona answer: system message, sampling, thinking",
    "/persona [NAME | none]",
    complete=_complete,
    while_busy=True,
)
def persona(context: CommandContext, argument: str) -> Reply:
    session, config_dir = context.session, presets_dir(context)
    shelf = read_personas(config_dir)
    if not argument:
        worn = shown_name(session)
        rows = [
            (code(name), plain(one.description), plain(_settings(one)), "in force" if name == worn else "")
            for name, one in shelf.found.items()
        ]
        page = table(("Persona", "What it does", "Settings", ""), rows)
        page += f"\n\n{code('/persona NAME')} lets one answer, {code('/persona none')} nobody in particular."
        return Reply(effect=ShowPage("Personas", page + own_files(config_dir, FOLDER, shelf.failures)))
    if argument.casefold() == "none":
        if session.persona is None:
            return Reply("No persona is in force")
        name = session.persona.name
        take_off(session)
        return Reply(f"{name} is gone, from the next answer on")
    found = shelf.get(argument, "persona")
    put_on(session, argument.casefold(), found)
    settings = _settings(found)
    return Reply(f"{argument.casefold()} holds from the next answer on{f' · {settings}' if settings else ''}")


def _settings(persona: Persona) -> str:
    parts = [f"{key} {value}" for key, value in persona.sampling.items()]
    return ", ".join([*parts, f"thinking {persona.thinking_level}"] if persona.thinking_level else parts)
