"""`mtpchat chats` where it changes something: titles, pins, deleting, bringing back, and letting go for good."""

from __future__ import annotations

import argparse
import sqlite3
from collections.abc import Sequence
from typing import TextIO

from mtpchat import paths
from mtpchat.chats import Change, ChatLine, Deleted, Pinned, Renamed, now
from mtpchat.cli_chats import title, write_json
from mtpchat.errors import CommandError
from mtpchat.store import reading, search
from mtpchat.store.changes import apply
from mtpchat.store.database import transaction
from mtpchat.store.purging import purge, wipe
from mtpchat.store.states import StateFolder
from mtpchat.ui.safe_text import safe_line

_ALL = -1


def change(connection: sqlite3.Connection, what: str, arguments: argparse.Namespace, stdout: TextIO) -> None:
    """Carry out `chats rename`, `pin`, `unpin`, `delete`, `undelete` or `purge`.

    Raises CommandError for a chat that is not there; nothing is changed then.
    """
    if what == "purge":
        _purge(connection, arguments, stdout)
        return
    references: Sequence[str] = arguments.operands[:1] if what == "rename" else arguments.operands
    lines = [reading.line(connection, reference) for reference in references]
    changes = [_change(what, line, arguments) for line in lines]
    with transaction(connection, durable=True):
        for one in changes:
            apply(connection, one)
    for one in changes:
        if isinstance(one, Deleted) and one.at is not None:
            _states().forget(one.chat)
    if arguments.json:
        write_json(stdout, [_object(one) for one in changes])
        return
    for line, one in zip(lines, changes, strict=True):
        stdout.write(_sentence(line, one))


def _change(what: str, line: ChatLine, arguments: argparse.Namespace) -> Change:
    match what:
        case "rename":
            wanted = " ".join(" ".join(arguments.operands[1:]).split())
            if not wanted:
                raise CommandError("An empty title is none", hint="mtpchat chats rename ID TITLE")
            return Renamed(line.id, wanted)
        case "pin" | "unpin":
            return Pinned(line.id, what == "pin")
        case "undelete":
            return Deleted(line.id, None)
        case _:
            return Deleted(line.id, None if arguments.undo else now())


def _sentence(line: ChatLine, change: Change) -> str:
    match change:
        case Renamed(title=wanted):
            return f"{title(line)} is now: {safe_line(wanted)}\n"
        case Pinned(pinned=pinned):
            return f"{'pinned' if pinned else 'no longer pinned'}: {title(line)}\n"
        case Deleted(at=None):
            return f"back: {title(line)}\n"
        case _:
            return f"deleted: {title(line)}  (back with: mtpchat chats undelete {line.id})\n"


def _object(change: Change) -> dict[str, object]:
    match change:
        case Renamed(chat, wanted):
            return {"id": chat, "title": wanted}
        case Pinned(chat, pinned):
            return {"id": chat, "pinned": pinned}
        case Deleted(chat, at):
            return {"id": chat, "deleted": at is not None}
        case _:
            raise AssertionError(change)


def _purge(connection: sqlite3.Connection, arguments: argparse.Namespace, stdout: TextIO) -> None:
    if not search.has_search(connection):
        raise CommandError(
            "Chats cannot be let go of: the SQLite of this Python has no full-text search (FTS5)",
            hint="The index of words would keep them; another build of Python has it.",
        )
    lines = [reading.line(connection, reference) for reference in arguments.operands]
    kept = next((line for line in lines if not line.deleted), None)
    if kept is not None:
        raise CommandError(
            f"{title(kept)} is not deleted", hint=f"mtpchat chats delete {kept.id} comes first; both take several."
        )
    if not arguments.operands:
        lines = reading.deleted(connection, _ALL)
    gone = set(purge(connection, [line.id for line in lines]))
    is_wiped = not gone or wipe(connection)
    for chat in gone:
        _states().forget(chat)
    if arguments.json:
        write_json(stdout, [{"id": line.id, "purged": True} for line in lines])
        return
    for line in lines:
        stdout.write(f"gone for good: {title(line)}\n")
    if not lines:
        stdout.write("Nothing is deleted.\n")
    if not is_wiped:
        stdout.write("Another program reads the file of chats: words of them are in its log until that is closed.\n")


def _states() -> StateFolder:
    return StateFolder(paths.states_dir(), 0)
