"""Other versions of what was said: /edit, /retry, /amend, /undo, /redo, /fork and /branch. Nothing is overwritten."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mtpchat.commands.base import CommandContext, Completion, EditMessage, Reply, ShowChat, ShowPage, StartTurn
from mtpchat.commands.page import code, plain, table
from mtpchat.commands.registry import command, unknown
from mtpchat.config import SamplingConfig
from mtpchat.errors import CommandError
from mtpchat.messages import Message, Role
from mtpchat.one_line import short

if TYPE_CHECKING:
    from mtpchat.engine.session import Session

_SHOWN = 70
_WORDS: dict[Role, str] = {"user": "prompt", "assistant": "answer", "system": "system message"}


def names(messages: Sequence[Message]) -> list[str]:
    """`prompt 2`, `answer 2`: what each message is called, counted by the prompts."""
    called, prompts = [], 0
    for one in messages:
        prompts += one.role == "user"
        called.append(f"{_WORDS[one.role]} {prompts}")
    return called


def _numbered(session: Session, role: Role, argument: str) -> tuple[int, str]:
    """Index of the message that an argument begins with the number of, else of the last of its role; and the rest.

    Raises:
        CommandError: there is none.
    """
    word = _WORDS[role]
    places = [at for at, one in enumerate(session.messages) if one.role == role]
    if not places:
        raise CommandError(f"There is no {word} yet", hint="Send a message first.")
    number, rest = [*argument.split(None, 1), "", ""][:2]
    if not (number.isascii() and number.isdecimal()):
        return places[-1], argument
    called, wanted = names(session.messages), f"{word} {number.lstrip('0') or '0'}"
    index = next((at for at in places if called[at] == wanted), None)
    if index is None:
        last = called[places[-1]].rpartition(" ")[2]
        raise CommandError(f"There is no {short(wanted, _SHOWN)}", hint=f"the last one is {last}.")
    return index, rest


def _complete_numbers(context: CommandContext, role: Role) -> list[Completion]:
    """The numbers of all prompts or answers, the last one first."""
    messages = context.session.messages
    rows = [
        Completion(f"{name.rpartition(' ')[2]} ", short(one.content, _SHOWN))
        for name, one in zip(names(messages), messages, strict=True)
        if one.role == role
    ]
    return rows[::-1]


def _complete_edit(context: CommandContext, argument: str) -> Sequence[Completion]:
    return _complete_numbers(context, "user") if " " not in argument else ()


@command(
    "edit",
    "put your last message, or your Nth, differently",
    "/edit [N] [TEXT]",
    complete=_complete_edit,
    many_lines=True,
)
def edit(context: CommandContext, argument: str) -> Reply:
    index, text = _numbered(context.session, "user", argument)
    return Reply(effect=EditMessage(index, text))


def _complete_amend(context: CommandContext, argument: str) -> Sequence[Completion]:
    return _complete_numbers(context, "assistant") if " " not in argument else ()


@command(
    "amend",
    "put an answer in your own words",
    "/amend [N] [TEXT]",
    complete=_complete_amend,
    many_lines=True,
)
def amend(context: CommandContext, argument: str) -> Reply:
    session = context.session
    index, text = _numbered(session, "assistant", argument)
    if not text:
        return Reply(effect=EditMessage(index))
    session.amend(index, text)
    place, count = session.siblings(index)
    return Reply(f"Version {place} of {count} of that answer, in your words", effect=ShowChat(stay_at=index))


def _complete_retry(context: CommandContext, argument: str) -> Sequence[Completion]:
    sampling = context.session.config.sampling
    begun, space, word = argument.rpartition(" ")
    before = begun + space
    if "=" in word:
        return ()
    taken = {one.partition("=")[0] for one in begun.split()}
    keys = [
        Completion(f"{before}{key}=", f"now {getattr(sampling, key)}" if key != "seed" else "the same words each time")
        for key in SamplingConfig.__struct_fields__
        if key not in taken
    ]
    return [*keys, *_complete_numbers(context, "user")] if not before else keys


@command(
    "retry",
    "answer once more, with settings for this one answer",
    "/retry [N] [KEY=VALUE ...]",
    complete=_complete_retry,
    aliases=("regenerate",),
)
def retry(context: CommandContext, argument: str) -> Reply:
    from mtpchat.config_file import set_value

    session = context.session
    number, rest = _numbered(session, "user", argument)
    index = number if rest != argument.strip() else None
    config, seed = session.config, None
    for word in rest.split():
        key, equals, value = word.partition("=")
        key = key.casefold().replace("-", "_").removeprefix("sampling.")
        if not equals:
            raise CommandError(f'"{word}" is no setting', hint="/retry temperature=0.9 seed=7")
        if key not in SamplingConfig.__struct_fields__:
            raise unknown("sampler", key, SamplingConfig.__struct_fields__)
        config = set_value(config, f"sampling.{key}", value)
        if key == "seed":
            seed = config.sampling.seed if config.sampling.seed >= 0 else None
    sampling = config.sampling if config is not session.config else None
    return Reply(effect=StartTurn("retry", index, sampling, seed))


@command("undo", "take back the last message and its answer")
def undo(context: CommandContext, _argument: str) -> Reply:
    before = len(context.session.messages)
    text = context.session.undo()
    if len(context.session.messages) == before:
        raise CommandError("There is nothing to take back")
    return Reply("Took back the last message and its answer; /redo brings them back", effect=ShowChat(prompt_text=text))


@command("redo", "bring back what /undo took away")
def redo(context: CommandContext, _argument: str) -> Reply:
    if not context.session.redo():
        raise CommandError("There is nothing to bring back", hint="/branch lists other versions of what was said.")
    return Reply("Brought back what was taken away", effect=ShowChat(brought_back=True))


def _complete_fork(context: CommandContext, _argument: str) -> Sequence[Completion]:
    return [Completion(row.value.rstrip(), row.summary) for row in _complete_numbers(context, "user")]


@command(
    "fork",
    "go on in a new chat with a copy of this one",
    "/fork [N]",
    complete=_complete_fork,
)
def fork(context: CommandContext, argument: str) -> Reply:
    session = context.session
    if not session.archive.keeps:
        raise CommandError("Chats are not kept now, so this one would be lost", hint="start without --no-save.")
    index, rest = _numbered(session, "user", argument)
    if rest:
        raise unknown("message", rest, ())
    messages = session.messages
    later = (at for at in range(index + 1, len(messages)) if messages[at].role == "user")
    end = next(later, len(messages)) - 1
    before = session.chat_id
    session.fork(end)
    count = len(session.messages)
    copied = f"{count} message{'' if count == 1 else 's'}"
    return Reply(f"A new chat with a copy of {copied}; /chats {before} goes back to the other", effect=ShowChat())


def _forks(session: Session) -> list[int]:
    """Indices of messages that have other versions."""
    return [at for at in range(len(session.messages)) if session.siblings(at)[1] > 1]


def _complete_branch(context: CommandContext, _argument: str) -> Sequence[Completion]:
    session = context.session
    called, forks = names(session.messages), _forks(session)
    rows = []
    for index in reversed(forks):
        shown, _ = session.siblings(index)
        where = "" if index == forks[-1] else f" {called[index]}"
        for number, one in enumerate(session.versions(index), 1):
            mark = "shown now · " if number == shown else ""
            rows.append(Completion(f"{number}{where}", f"{mark}{called[index]}: {short(one.content, _SHOWN)}"))
    return rows


@command(
    "branch",
    "list the versions of messages, or show another one",
    "/branch [VERSION [prompt N | answer N]]",
    complete=_complete_branch,
    aliases=("versions",),
)
def branch(context: CommandContext, argument: str) -> Reply:
    session = context.session
    forks = _forks(session)
    if not forks:
        raise CommandError("Nothing here has another version", hint="/edit and /retry make one.")
    if not argument:
        return Reply(effect=ShowPage("Versions", _versions_page(session, forks)))
    match = re.fullmatch(r"([0-9]{1,6})(?: +(prompt|answer) +([0-9]{1,6}))?", argument.casefold())
    if match is None:
        raise CommandError(f'"{argument}" names no version', hint="/branch 2, or /branch 1 prompt 3")
    index = forks[-1] if match[2] is None else _fork_called(session, forks, f"{match[2]} {int(match[3])}")
    place, count = session.siblings(index)
    wanted = int(match[1])
    if not 1 <= wanted <= count:
        raise CommandError(
            f"There are {count} versions of {names(session.messages)[index]}", hint="/branch lists them."
        )
    if wanted == place:
        raise CommandError(f"Version {wanted} is the one that is shown")
    session.walk(index, wanted - place)
    return Reply(effect=ShowChat(stay_at=index))


def _fork_called(session: Session, forks: Sequence[int], name: str) -> int:
    called = names(session.messages)
    found = next((at for at in forks if called[at] == name), None)
    if found is None:
        there = ", ".join(called[at] for at in forks)
        raise CommandError(f"There is no other version of {name}", hint=f"there are others of {there}.")
    return found


def _versions_page(session: Session, forks: Sequence[int]) -> str:
    called, rows = names(session.messages), []
    for index in forks:
        shown, _ = session.siblings(index)
        where = "" if index == forks[-1] else f" {called[index]}"
        for number, one in enumerate(session.versions(index), 1):
            how = "shown" if number == shown else code(f"/branch {number}{where}")
            rows.append((called[index], str(number), plain(short(one.content, _SHOWN)), how))
    return table(("Message", "Version", "Text", "To show it"), rows)
