"""Settings of the running chat: /set, /seed, /theme and /config."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from mtpchat.commands.base import ChangeTheme, ChooseTheme, CommandContext, Completion, Reply, ShowPage
from mtpchat.commands.page import code, fenced, plain, table
from mtpchat.commands.registry import command, unknown
from mtpchat.config import SamplingConfig
from mtpchat.config_text import render, setting_manual
from mtpchat.errors import CommandError

_SAMPLERS = SamplingConfig.__struct_fields__


def _meanings() -> dict[str, str]:
    """Sampler -> its sentence in the manual."""
    manual = setting_manual()
    return {name: manual.get(f"sampling.{name}", "") for name in _SAMPLERS}


def _text(value: object) -> str:
    """A setting as it is typed."""
    return ", ".join(str(one) for one in value) if isinstance(value, tuple) else str(value)


def _complete_set(context: CommandContext, argument: str) -> Sequence[Completion]:
    sampling = context.session.config.sampling
    key, space, _ = argument.partition(" ")
    if not space:
        return [
            Completion(f"{name} ", f"{_text(getattr(sampling, name)) or '–'} · {meaning}")
            for name, meaning in _meanings().items()
        ]
    if key not in _SAMPLERS:
        return ()
    usual = getattr(SamplingConfig(), key)
    offers = {_text(getattr(sampling, key)): "now", _text(usual): "default"}
    return [Completion(f"{key} {value}", summary) for value, summary in offers.items() if value]


def _key(typed: str) -> str:
    """The sampler that a word names, or is the beginning of. Raises CommandError for none or several."""
    wanted = typed.casefold().replace("-", "_")
    begun = [name for name in _SAMPLERS if name.startswith(wanted)]
    if wanted in begun or len(begun) == 1:
        return wanted if wanted in begun else begun[0]
    raise unknown("sampler", typed, begun or _SAMPLERS)


@command("set", "list or change a sampler", "/set [KEY [VALUE]]", complete=_complete_set, while_busy=True)
def set_sampler(context: CommandContext, argument: str) -> Reply:
    sampling = context.session.config.sampling
    if not argument:
        body = [
            (code(name), code(_text(getattr(sampling, name)) or "–"), plain(meaning))
            for name, meaning in _meanings().items()
        ]
        return Reply(effect=ShowPage("Samplers", table(("Key", "Now", "Meaning"), body)))
    words = re.split(r"\s*=\s*|\s+", argument.strip(), maxsplit=1)
    key = _key(words[0])
    if len(words) == 1:
        return Reply(f"{key} is {_text(getattr(sampling, key)) or '–'}. {_meanings()[key]}".rstrip())
    value = context.session.set_sampling(key, words[1])
    return Reply(f"{key} is {_text(value)}, from the next answer on")


def _complete_seed(context: CommandContext, _argument: str) -> Sequence[Completion]:
    last = context.session.seed
    repeat = [Completion(str(last), "that of the last answer")] if last is not None else []
    return [Completion("random", "a new one for each answer"), *repeat]


@command("seed", "show or fix the seed", "/seed [N | random]", complete=_complete_seed, while_busy=True)
def seed(context: CommandContext, argument: str) -> Reply:
    session = context.session
    if not argument:
        fixed = session.config.sampling.seed
        if fixed >= 0:
            return Reply(f"The seed is fixed at {fixed}; /seed random frees it")
        drawn = "" if session.seed is None else f"; the last answer had {session.seed}"
        return Reply(f"A new seed is drawn for each answer{drawn}")
    if argument.casefold() == "random":
        session.set_sampling("seed", "-1")
        return Reply("A new seed is drawn for each answer")
    if not re.fullmatch(r"[0-9]{1,19}", argument):
        raise CommandError(f'"{argument}" is not a seed', hint="/seed N with a whole number from 0 up, or /seed random")
    value = session.set_sampling("seed", argument)
    return Reply(f"The seed is {value}, from the next answer on")


def _complete_theme(context: CommandContext, _argument: str) -> Sequence[Completion]:
    return [Completion(name, "in use" if name == context.theme else "") for name in context.themes]


@command(
    "theme",
    "choose the colours; without a name, by looking at them",
    "/theme [NAME]",
    complete=_complete_theme,
    while_busy=True,
)
def theme(context: CommandContext, argument: str) -> Reply:
    if not argument:
        return Reply(effect=ChooseTheme())
    name = next((one for one in context.themes if one.casefold() == argument.casefold()), None)
    if name is None:
        raise unknown("theme", argument, tuple(context.themes))
    return Reply("For this run; s in the list of /theme keeps it", effect=ChangeTheme(name))


@command("config", "the settings in force, and where their file is", while_busy=True)
def config(context: CommandContext, _argument: str) -> Reply:
    path = context.config_path
    there = "" if Path(path).is_file() else " (does not exist yet; `mtpchat config init` writes it)"
    settings = render(context.session.config)
    page = (
        f"File: {code(path)}{there}\n\nIn force now, with flags and changes of this chat:\n\n{fenced(settings, 'toml')}"
    )
    return Reply(effect=ShowPage("Settings", page))
