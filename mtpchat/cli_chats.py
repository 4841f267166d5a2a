"""`mtpchat chats`: kept chats on the command line.

What is shown to people is harmless to terminals. `export` into a file or pipe gives the texts as they are.
"""

from __future__ import annotations

import argparse
import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import TextIO

from mtpchat import paths
from mtpchat.chats import ChatLine, Hit
from mtpchat.config import Config
from mtpchat.gguf.cursor import human_size
from mtpchat.headless_output import EXIT_OK
from mtpchat.store import chores, reading
from mtpchat.store.database import explain, is_damage, open_database, open_for_reading
from mtpchat.store.settling import settle
from mtpchat.ui.safe_text import safe_line, safe_text

_LINES = 50
_RESULTS = 20
_READING = ("list", "show", "search", "export")


def run(arguments: argparse.Namespace, config: Config, stdout: TextIO) -> int:
    """Carry out one of the commands. Raises CommandError for a chat that is not there, and StorageError."""
    path = paths.chats_file(config.paths.chats)
    what = arguments.command.removeprefix("chats ")
    if what == "path":
        stdout.write(f"{safe_line(str(path))}\n")
        return EXIT_OK
    if what == "states":
        from mtpchat.cli_states import states

        return states(arguments, config, stdout)
    if what == "list" and not os.path.exists(path):
        stdout.write("[]\n" if arguments.json else "No chat has been saved yet.\n")
        return EXIT_OK
    if what == "import":
        return _import(path, arguments, stdout)
    with _opened(path, verb="read" if what in _READING else "changed") as connection:
        match what:
            case "list":
                _list(connection, arguments, stdout)
            case "show":
                _show(connection, arguments, stdout)
            case "search":
                _search(connection, arguments, stdout)
            case "export":
                from mtpchat.cli_chats_exchange import export

                export(connection, arguments, stdout)
            case _:
                from mtpchat.cli_chats_change import change

                change(connection, what, arguments, stdout)
    stdout.flush()
    return EXIT_OK


def _import(path: Path, arguments: argparse.Namespace, stdout: TextIO) -> int:
    """Take in files; the file of chats is made if there is none, except for a look at what would be taken in."""
    from mtpchat.cli_chats_exchange import import_files

    if arguments.dry_run and not os.path.exists(path):
        return import_files(None, arguments, stdout)
    with _opened(path, make=not arguments.dry_run) as connection:
        return import_files(connection, arguments, stdout)


@contextmanager
def _opened(path: Path, *, make: bool = False, verb: str = "changed") -> Iterator[sqlite3.Connection]:
    """The file; as it is where nothing may be written. Raises StorageError, also when there is none unless `make`."""
    try:
        with closing(_open(path, make=make)) as connection:
            yield connection
    except sqlite3.Error as error:
        raise explain(error, path, verb) from error


def _open(path: Path, *, make: bool) -> sqlite3.Connection:
    if make or os.path.exists(path):
        try:
            connection = open_database(path)
            try:
                settle(connection, path)
            except BaseException:
                connection.close()
                raise
            return connection
        except sqlite3.Error as error:
            if make or is_damage(error):
                raise
    return open_for_reading(path)


def _list(connection: sqlite3.Connection, arguments: argparse.Namespace, stdout: TextIO) -> None:
    most = arguments.limit or _LINES
    lines = reading.deleted(connection, most) if arguments.deleted else reading.recent(connection, most)
    if arguments.json:
        write_json(stdout, [_line_object(line) for line in lines])
        return
    if not lines:
        stdout.write("No chat is deleted.\n" if arguments.deleted else "No chat has been saved yet.\n")
    for line in lines:
        number = f"{line.number:>4}{'*' if line.pinned else ' '} " if line.number else ""  # deleted ones have none
        stdout.write(f"{number}{line.id}  {when(line.updated)}  {line.messages:>4}  {title(line)}\n")


def _show(connection: sqlite3.Connection, arguments: argparse.Namespace, stdout: TextIO) -> None:
    chat = reading.load(connection, arguments.operands[0])
    if arguments.json:
        write_json(stdout, reading.whole(connection, chat.line.id))
        return
    stdout.write(f"{title(chat.line)}  ({chat.line.id}, {when(chat.line.updated)})\n")
    for said in chat.path:
        who = {"user": "You", "assistant": "Answer", "system": "System"}[said.role]
        stdout.write(f"\n{who}{'' if said.complete else ' (stopped)'}\n")
        stdout.write("".join(f"  {line}\n" for line in safe_text(said.content).split("\n")))
        for file in said.attachments:
            stdout.write(f"  [{safe_line(file.name)}, {human_size(len(file.text.encode('utf-8', 'replace')))}]\n")


def _search(connection: sqlite3.Connection, arguments: argparse.Namespace, stdout: TextIO) -> None:
    text = " ".join(arguments.operands)
    with suppress(sqlite3.Error):  # nothing may be written: what is indexed is searched
        chores.catch_up(connection)
    hits = reading.find(connection, text, arguments.limit or _RESULTS, deleted=arguments.deleted)
    if arguments.json:
        write_json(stdout, [_hit_object(hit) for hit in hits])
        return
    if not hits:
        stdout.write("Nothing was found.\n")
    for hit in hits:
        more = f"  (+{hit.count - 1})" if hit.count > 1 else ""
        stdout.write(f"{hit.line.id}  {when(hit.line.updated)}  {title(hit.line)}{more}\n")
        file = f"[{safe_line(hit.file)}] " if hit.file else ""
        stdout.write(f"    {file}{safe_line(hit.snippet)}\n" if file or hit.snippet else "")


def when(seconds: float) -> str:
    """Local time to the minute."""
    return datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M")


def title(line: ChatLine) -> str:
    """A title, harmless and on one line."""
    return safe_line(line.title) or "(no title)"


def _line_object(line: ChatLine) -> dict[str, object]:
    return {
        "number": line.number,
        "id": line.id,
        "title": line.title,
        "created": line.created,
        "updated": line.updated,
        "messages": line.messages,
        "pinned": line.pinned,
        "deleted": line.deleted,
        "model": line.model,
        "named": line.named,
    }


def _hit_object(hit: Hit) -> dict[str, object]:
    found = {"id": hit.line.id, "title": hit.line.title, "updated": hit.line.updated, "message": hit.message}
    return {**found, "role": hit.role, "snippet": hit.snippet, "file": hit.file or None, "messages": hit.count}


def write_json(stdout: TextIO, value: object, indent: int | None = None) -> None:
    """ASCII: no control character and no encoding can spoil it."""
    stdout.write(json.dumps(value, indent=indent) + "\n")
