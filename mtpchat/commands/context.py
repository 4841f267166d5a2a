"""/context and /compact: what the model reads of the chat, and what to do when that gets too much."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, get_args

from mtpchat.commands.base import CommandContext, Compact, Completion, Reply, RunTask, ShowChat
from mtpchat.commands.page import plain, table
from mtpchat.commands.registry import command, unknown
from mtpchat.config import Overflow
from mtpchat.engine.overflow import reserve_for
from mtpchat.engine.room import sizes_of
from mtpchat.errors import CommandError
from mtpchat.events import Worked

if TYPE_CHECKING:
    from mtpchat.engine.requests import Engine, Progress, TurnRequest
    from mtpchat.engine.session import Session
    from mtpchat.events import Measured

_MEANINGS: dict[Overflow, str] = {
    "stop": "say so and send nothing",
    "drop": "leave the oldest turns out, never the first one",
    "summarise": "make a summary of the older part, to be looked at first",
}
_BAR_CELLS = 24


def _complete(context: CommandContext, _argument: str) -> Sequence[Completion]:
    now = context.session.terms.overflow
    return [
        Completion(name, meaning + (" (now)" if name == now else ""))
        for name, meaning in (*_MEANINGS.items(), ("auto", "as the settings say"))
    ]


@command(
    "context",
    "how full the context is, and what to do when it is",
    "/context [stop | drop | summarise | auto]",
    complete=_complete,
)
def context_command(context: CommandContext, argument: str) -> Reply:
    session, wanted = context.session, argument.casefold()
    if not wanted:
        if session.facts is None:
            raise CommandError("No model is loaded", hint="/model lists what is there.")
        return Reply(effect=RunTask("/context", _task(session)))
    if wanted not in (*get_args(Overflow), "auto"):
        raise unknown("way to deal with a full context", argument, (*get_args(Overflow), "auto"))
    session.terms.choose(overflow="" if wanted == "auto" else wanted)
    now = session.terms.overflow
    return Reply(f"When this chat does not fit any more: {_MEANINGS[now]}")


def _task(session: Session) -> Callable[[Engine, Progress, Callable[[], bool]], Worked]:
    request, unread, overflow = session.terms.request(), session.terms.unread, session.terms.overflow

    def task(engine: Engine, _progress: Progress, cancelled: Callable[[], bool]) -> Worked:
        measured = engine.measure(request, cancelled)
        line, page = described(request, measured, unread, overflow)
        return Worked(line, "Context", page)

    return task


def described(request: TurnRequest, measured: Measured, unread: range, overflow: Overflow) -> tuple[str, str]:
    """A line and a page about a chat that was measured as a whole.

    Args:
        unread: places of the messages that are left out, the system message not counted.
    """
    has_system = bool(request.messages) and request.messages[0].role == "system"
    said = len(request.messages) - has_system
    fixed, sizes = sizes_of(measured, said)
    attached = sum(measured.attached)
    dropped = sum(sizes[at] for at in unread if at < said)
    reserve = reserve_for(measured.context, request.sampling.max_tokens)
    used = measured.prompt_tokens - dropped
    kept = used - fixed - attached
    rows = [
        ("system message and template", fixed),
        (f"messages ({said - len(unread)})", kept),
        *([("attachments", attached)] if attached else []),
        ("kept for the answer", reserve),
        ("free", max(measured.context - used - reserve, 0)),
    ]
    size = max(measured.context, 1)
    body = table(
        ("", "tokens", "share", ""),
        [(name, f"{count:,}", f"{count / size:.0%}", _bar(count / size)) for name, count in rows],
    )
    line = f"{used:,} of {measured.context:,} tokens · {max(measured.context - used, 0):,} left for the next message"
    line += " and its answer"
    notes = [f"When it is full: **{overflow}** — {plain(_MEANINGS[overflow])}."]
    if unread:
        line += f" · {len(unread)} messages are not read any more"
        notes.insert(0, f"{len(unread)} messages ({dropped:,} tokens) are not read by the model any more.")
    notes.append("`/context stop`, `drop` or `summarise` changes that for this chat, `/compact` makes a summary now.")
    return line, "\n\n".join([body, *notes])


def _bar(share: float) -> str:
    return "█" * round(min(share, 1.0) * _BAR_CELLS) or ("▏" if share > 0 else "")


def _complete_compact(_context: CommandContext, _argument: str) -> Sequence[Completion]:
    return (
        Completion("2", "keep the last two turns as they are"),
        Completion("0", "summarise all of it"),
        Completion("undo", "back to the chat before the summary"),
    )


@command(
    "compact",
    "put a summary in place of the older part of the chat",
    "/compact [TURNS-TO-KEEP | undo]",
    complete=_complete_compact,
)
def compact(context: CommandContext, argument: str) -> Reply:
    session = context.session
    if argument.casefold() == "undo":
        _go_back(session)
        return Reply(
            "The chat is as it was before the summary; ‹ › at the first message changes between the two",
            effect=ShowChat(),
        )
    if session.facts is None:
        raise CommandError("No model is loaded", hint="/model lists what is there.")
    if not session.messages:
        raise CommandError("There is nothing to summarise yet")
    if argument and not re.fullmatch(r"[0-9]{1,6}", argument):
        raise CommandError("/compact takes the number of turns to keep", hint="/compact 2, or /compact alone")
    return Reply(effect=Compact(int(argument) if argument else None))


def _go_back(session: Session) -> None:
    from mtpchat.engine.compact import QUESTION

    if not session.messages or session.messages[0].content != QUESTION:
        raise CommandError("This chat does not begin with a summary", hint="/compact makes one.")
    if not session.without(min(1, len(session.messages) - 1)):
        session.walk(0, -1)
