"""Prompts that wait for the answer before them: /queue."""

from __future__ import annotations

from collections.abc import Sequence

from mtpchat.commands.base import CommandContext, Completion, DropWaiting, EditWaiting, Reply
from mtpchat.commands.registry import command, unknown
from mtpchat.errors import CommandError
from mtpchat.one_line import short

_SHOWN = 70


def _complete(context: CommandContext, argument: str) -> Sequence[Completion]:
    if not context.waiting:
        return ()
    if " " not in argument:
        return [
            Completion("edit ", "take one into the prompt; Enter puts it back in its place"),
            Completion("drop ", "cancel one, or all"),
        ]
    verb = argument.split(" ", 1)[0]
    rows = [Completion(f"{verb} {number}", short(text, _SHOWN)) for number, text in enumerate(context.waiting, 1)]
    return [*rows, Completion("drop all", "every one")] if verb == "drop" else rows


@command(
    "queue",
    "show the prompts that wait, edit or cancel one",
    "/queue [edit N | drop N | drop all]",
    complete=_complete,
    while_busy=True,
)
def queue(context: CommandContext, argument: str) -> Reply:
    waiting = context.waiting
    if not argument:
        lines = [f"{number} · {short(text, _SHOWN)}" for number, text in enumerate(waiting, 1)]
        return Reply("\n".join(lines) if lines else "No prompt waits")
    verb, _, which = argument.casefold().partition(" ")
    if verb not in ("edit", "drop"):
        raise unknown("thing to do with prompts that wait", verb, ("edit", "drop"))
    if not waiting:
        raise CommandError("No prompt waits")
    if verb == "drop" and which.strip() == "all":
        count = len(waiting)
        return Reply(f"Cancelled {count} waiting prompt{'' if count == 1 else 's'}", effect=DropWaiting(None))
    number = _number(which.strip(), verb, len(waiting))
    if verb == "edit":
        return Reply(effect=EditWaiting(number))
    return Reply(f"Cancelled: {short(waiting[number - 1], _SHOWN)}", effect=DropWaiting(number))


def _number(text: str, verb: str, count: int) -> int:
    if text.isascii() and text.isdigit() and 1 <= int(text) <= count:
        return int(text)
    numbers = "1" if count == 1 else f"1 to {count}"
    raise CommandError(f"/queue {verb} needs the number of a waiting prompt", hint=f"there is {numbers}.")
