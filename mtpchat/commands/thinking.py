"""/think: whether, or how much, the model thinks before it answers; only what its chat template can be told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mtpchat.commands.base import CommandContext, Completion, Reply
from mtpchat.commands.registry import command, unknown
from mtpchat.errors import CommandError

if TYPE_CHECKING:
    from mtpchat.engine.session import Session

_MEANINGS = {
    "auto": "as the model does by itself",
    "on": "think before the answer",
    "off": "answer at once",
    "low": "think a little",
    "medium": "think some",
    "high": "think long",
}


def _levels(session: Session) -> tuple[str, ...]:
    known = session.facts.thinking if session.facts is not None else ()
    return ("auto", *known) if known else ()


def _complete(context: CommandContext, _argument: str) -> Sequence[Completion]:
    now = context.session.terms.thinking
    return [
        Completion(level, _MEANINGS[level] + (" (now)" if level == now else "")) for level in _levels(context.session)
    ]


@command(
    "think",
    "whether, or how much, the model thinks before it answers",
    "/think [on | off | low | medium | high | auto]",
    complete=_complete,
    while_busy=True,
)
def think(context: CommandContext, argument: str) -> Reply:
    session, wanted = context.session, argument.casefold()
    if session.facts is None:
        raise CommandError("No model is loaded", hint="/model lists what is there.")
    levels = _levels(session)
    if not levels:
        raise CommandError(
            "The chat template of this model cannot be told whether to think",
            hint="Its thoughts, if it has any, can be hidden: ui.show_thinking.",
        )
    if not wanted:
        return Reply(f"Thinking: {session.terms.thinking} · this model knows {', '.join(levels)}")
    if wanted not in levels:
        if wanted in _MEANINGS:
            raise CommandError(f"This model cannot be told to think {wanted!r}", hint=f"It knows {', '.join(levels)}.")
        raise unknown("level of thinking", argument, levels)
    session.terms.choose(thinking="" if wanted == session.config.model.thinking else wanted)
    return Reply(f"Thinking: {wanted}, {_MEANINGS[wanted]}; from the next answer on")
