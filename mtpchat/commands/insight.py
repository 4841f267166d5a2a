"""Speculation explained: /why in words, /provenance in the text itself."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

from mtpchat.commands.base import CommandContext, Completion, Reply
from mtpchat.commands.registry import command, unknown
from mtpchat.engine.diagnosis import diagnose
from mtpchat.engine.evidence import Evidence, ModelFile
from mtpchat.errors import ModelError
from mtpchat.gguf.facts import facts_of, read_model

_MOST_FINDINGS = 3


@command("why", "why speculation helps or does not, from what was measured", while_busy=True)
def why(context: CommandContext, _argument: str) -> Reply:
    if context.session.facts is None and context.session.busy:
        return Reply("The model is being loaded: nothing is measured yet")
    findings = diagnose(evidence(context))[:_MOST_FINDINGS]
    lines = [f"{one.sentence}\n  → {one.remedy}" if one.remedy else one.sentence for one in findings]
    return Reply("\n".join(lines))


def evidence(context: CommandContext) -> Evidence:
    """All that this chat knows about its own speculation."""
    session = context.session
    return Evidence(
        facts=session.facts,
        control=session.control,
        config=session.config,
        stats=session.stats,
        totals=session.totals,
        report=session.report,
        file=_model_file(session.facts.path) if session.facts is not None else None,
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
    )


def _model_file(path: str) -> ModelFile | None:
    """What the header says; None when the file has gone or changed meanwhile."""
    try:
        header = read_model(path)
        facts = facts_of(header)
    except ModelError:
        return None
    return ModelFile(
        layers=facts.trunk,
        heads=facts.heads,
        heads_there=facts.heads_there,
        trouble=facts.trouble,
        can_roll_back=facts.can_roll_back,
        experts=header.integer(f"{facts.architecture}.expert_count") or 0,
    )


def _complete_switch(_context: CommandContext, _argument: str) -> Sequence[Completion]:
    return [Completion("on", "underline guessed text in the colour of its source"), Completion("off", "plain text")]


@command(
    "provenance",
    "mark the text that was guessed, by who had guessed it",
    "/provenance [on | off]",
    complete=_complete_switch,
    while_busy=True,
    aliases=("origin",),
)
def provenance(context: CommandContext, argument: str) -> Reply:
    session = context.session
    word = argument.casefold()
    if word not in {"", "on", "off"}:
        raise unknown("way to show provenance", argument, ("on", "off"))
    wanted = not session.control.provenance if not word else word == "on"
    session.set_control(replace(session.control, provenance=wanted))
    if not wanted:
        return Reply("Guessed text looks like all other text")
    return Reply("Guessed text is underlined from the next token on, in the colour of its source")
