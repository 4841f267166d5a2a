"""Prompt templates: /prompt."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mtpchat import paths
from mtpchat.commands.base import CommandContext, Completion, FillPrompt, Reply, ShowPage
from mtpchat.commands.page import code, plain, table
from mtpchat.commands.registry import command
from mtpchat.errors import PresetError
from mtpchat.presets.personas import Persona, put_on
from mtpchat.presets.templates import FOLDER, Template, read_templates


def presets_dir(context: CommandContext) -> Path:
    """The folder beside the settings file in which the folders of the user's own presets are."""
    return Path(context.config_path).parent if context.config_path else paths.config_dir()


def _complete(context: CommandContext, _argument: str) -> Sequence[Completion]:
    found = read_templates(presets_dir(context)).found
    return [Completion(f"{name} " if "input" in one.fields else name, one.description) for name, one in found.items()]


@command(
    "prompt",
    "put a prompt template into the prompt; Tab goes on in it",
    "/prompt [NAME [INPUT]]",
    complete=_complete,
    while_busy=True,
    many_lines=True,
)
def prompt(context: CommandContext, argument: str) -> Reply:
    shelf = read_templates(presets_dir(context))
    if not argument:
        rows = [(code(name), plain(one.description), plain(" ".join(one.fields))) for name, one in shelf.found.items()]
        page = table(("Template", "What it is for", "Fields"), rows)
        page += f"\n\n{code('/prompt NAME')} puts one into the prompt; Tab goes from field to field."
        return Reply(
            effect=ShowPage("Prompt templates", page + own_files(presets_dir(context), FOLDER, shelf.failures))
        )
    name, _, words = argument.partition(" ") if " " in argument.split("\n", 1)[0] else argument.partition("\n")
    template = shelf.get(name, "prompt template")
    words = words.strip()
    missing = tuple(field for field in template.fields if field != "input" or not words)
    text = template.text.strip("\n")
    if words and "input" not in template.fields:
        text = f"{text}\n\n{{input}}"
    return Reply(_dressed(context, name.casefold(), template), effect=FillPrompt(text, words, missing))


def _dressed(context: CommandContext, name: str, template: Template) -> str:
    """Let the template's system message and sampling hold, and say so; "" when it has neither."""
    if not template.system.strip() and not template.sampling:
        return ""
    persona = Persona(description=template.description, sampling=template.sampling, system=template.system)
    put_on(context.session, name, persona)
    parts = ["system message"] if template.system.strip() else []
    parts += [f"{key} {value}" for key, value in template.sampling.items()]
    return f"{', '.join(parts)} of the template from the next answer on; /persona none ends that"


def own_files(config_dir: Path, folder: str, failures: Sequence[PresetError]) -> str:
    """Below a list: where to put files of one's own, and what is wrong with those that were left out."""
    broken = "".join(f"\n- {plain(one.sentence)}" for one in failures)
    wrong = f"\n\nLeft out:\n{broken}" if broken else ""
    return f"\n\nYour own go into {code(str(config_dir / folder))}, one TOML file each.{wrong}"
