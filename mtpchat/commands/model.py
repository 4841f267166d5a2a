"""Which files are loaded: /model and /drafter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from mtpchat.commands.base import ChooseModel, CommandContext, Completion, Reload, Reply
from mtpchat.commands.files import complete_models, find_model
from mtpchat.commands.registry import command
from mtpchat.config import SpeculativeConfig
from mtpchat.errors import CommandError, sentence
from mtpchat.fallen import FallenPairs
from mtpchat.gguf.facts import facts_of, read_model, require_chat


def _complete_model(context: CommandContext, argument: str) -> Sequence[Completion]:
    return complete_models(argument, context.session.config)


def _complete_drafter(context: CommandContext, argument: str) -> Sequence[Completion]:
    words = [Completion("none", "no drafter file"), Completion("auto", "the best one beside the model")]
    return [*words, *complete_models(argument, context.session.config)]


@command("model", "choose a model from a list, or load one by path or name", "/model [NAME]", complete=_complete_model)
def model(context: CommandContext, argument: str) -> Reply:
    if not argument:
        return Reply(effect=ChooseModel())
    path = find_model(argument, context.session.config)
    if context.session.facts is not None:  # the model in use is given up for one that can be talked to, or not at all
        require_chat(facts_of(read_model(path)))
    return switch_model(context, path)


def switch_model(context: CommandContext, path: Path, name: str = "") -> Reply:
    """Ask for another model to be loaded; the chat stays. The drafter is left out: it belongs to one model.

    Args:
        name: what to call it, where the file's own name tells nothing.
    """
    session = context.session
    old = session.config
    # a drafter belongs to one model; carried over it would be a wrong pair
    speculative = msgspec.structs.replace(old.speculative, drafter="", kind=_kind_without_drafter(old.speculative))
    session.config = msgspec.structs.replace(
        old, model=msgspec.structs.replace(old.model, path=str(path)), speculative=speculative
    )
    dropped = f"; {old.speculative.drafter} is left out, /drafter PATH adds one" if old.speculative.drafter else ""
    return _loading(context, f"Loading {name or path.name}{dropped}")


def _loading(context: CommandContext, text: str) -> Reply:
    """Load what the settings name now; a pair with which the program has died begins with speculation off, once."""
    session = context.session
    _, pair = FallenPairs().held_back(session.config)
    session.set_control(replace(session.control, kind="", mode="off" if pair else session.control.mode))
    return Reply(sentence(text, pair.warning) if pair else text, effect=Reload())


def _kind_without_drafter(settings: SpeculativeConfig) -> str:
    return "auto" if settings.kind == "draft" else settings.kind


@command(
    "drafter", "show, change or drop the drafter file", "/drafter [NAME | auto | none]", complete=_complete_drafter
)
def drafter(context: CommandContext, argument: str) -> Reply:
    session = context.session
    if not argument:
        return Reply(_drafter_now(context))
    if not session.config.model.path:
        raise CommandError("A drafter needs a model", hint="/model lists what is there.")
    settings = session.config.speculative
    match argument.casefold():
        case "none":
            loaded = session.facts is not None and session.facts.drafter
            if not settings.drafter and not loaded:
                return Reply("There is no drafter file to drop")
            # without a file that is named, one would be looked for
            settings = msgspec.structs.replace(settings, drafter="", find="off", kind=_kind_without_drafter(settings))
            text = "Loading again without a drafter file; /drafter auto looks for one"
        case "auto":
            find = "folder" if settings.find == "off" else settings.find
            settings = msgspec.structs.replace(settings, drafter="", find=find, kind=_kind_with_drafter(settings))
            text = "Loading again with the best drafter that is found"
        case _:
            path = find_model(argument, session.config, drafters=True)
            settings = msgspec.structs.replace(settings, drafter=str(path), kind=_kind_with_drafter(settings))
            text = f"Loading again with the drafter {path.name}"
    session.config = msgspec.structs.replace(session.config, speculative=settings)
    return _loading(context, text)


def _kind_with_drafter(settings: SpeculativeConfig) -> str:
    return "auto" if settings.kind in {"none", "ngram"} else settings.kind


def _drafter_now(context: CommandContext) -> str:
    facts = context.session.facts
    if facts is None:
        return "No model is loaded yet"
    if facts.drafter:
        return f"Drafter {facts.drafter}: {facts.choice}"
    return f"No drafter file. {facts.fallback_reason or facts.choice}".rstrip()
