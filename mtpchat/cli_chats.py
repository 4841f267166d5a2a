"""`mtpchat chats`: kept chats on the command line.

What is shown to people is harmless to terminals. `export` into a file or pipe gives the texts as they are.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path
from typing import TextIO

from mtpchat import paths
from mtpchat.attachments.framing import with_files
from mtpchat.chats import ChatLine, Hit, KeptChat, as_message
from mtpchat.commands.export import Exported, as_markdown
from mtpchat.config import Config
from mtpchat.gguf.cursor import human_size
from mtpchat.headless_output import EXIT_OK
from mtpchat.store import reading
from mtpchat.store.database import explain, is_damage, open_database, open_for_reading
from mtpchat.store.settling import settle
from mtpchat.ui.safe_text import safe_line, safe_text

_LINES = 50
_RESULTS = 20


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
    if what == "list" and not path.exists():
        stdout.write("[]\n" if arguments.json else "No chat has been saved yet.\n")
        return EXIT_OK
    with _opened(path) as connection:
        match what:
            case "list":
                _list(connection, arguments, stdout)
            case "show":
                _show(connection, arguments, stdout)
            case "search":
                _search(connection, arguments, stdout)
            case "export":
                _export(connection, arguments, stdout)
            case _:
                from mtpchat.cli_chats_change import change

                change(connection, what, arguments, stdout)
    stdout.flush()
    return EXIT_OK


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    """The file; as it is where nothing may be written. Raises StorageError, also when there is none."""
    try:
        with closing(_open(path)) as connection:
            yield connection
    except sqlite3.Error as error:
        raise explain(error, path, "changed") from error


def _open(path: Path) -> sqlite3.Connection:
    if path.exists():
        try:
            connection = open_database(path)
            try:
                settle(connection, path)
            except BaseException:
                connection.close()
                raise
            return connection
        except sqlite3.Error as error:
            if is_damage(error):
                raise
    return open_for_reading(path)


def _list(connection: sqlite3.Connection, arguments: argparse.Namespace, stdout: TextIO) -> None:
    most = arguments.limit or _LINES
    lines = reading.deleted(connection, most) if arguments.deleted else reading.recent(connection, most)
    if arguments.json:
        write_json(stdout, [_line_object(line) for line in lines])
        return
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
    hits = reading.find(connection, text, arguments.limit or _RESULTS, deleted=arguments.deleted)
    if arguments.json:
        write_json(stdout, [_hit_object(hit) for hit in hits])
        return
    for hit in hits:
        more = f"  (+{hit.count - 1})" if hit.count > 1 else ""
        stdout.write(f"{hit.line.id}  {when(hit.line.updated)}  {title(hit.line)}{more}\n")
        stdout.write(f"    {safe_line(hit.snippet)}\n" if hit.snippet else "")


def _export(connection: sqlite3.Connection, arguments: argparse.Namespace, stdout: TextIO) -> None:
    references: Sequence[str] = arguments.operands
    if references == ["all"]:
        references = [line.id for line in reading.recent(connection, -1)]
    kind = arguments.format or ("json" if arguments.json else "md")
    for place, reference in enumerate(references):
        chat = reading.load(connection, reference)
        if kind == "jsonl":
            write_json(stdout, share_gpt(chat))
        elif kind == "json":
            write_json(stdout, reading.whole(connection, chat.line.id), indent=2)
        else:
            text = _markdown(connection, chat)
            stdout.write("\n" if place else "")
            stdout.write(safe_text(text) if stdout.isatty() else text)


def _markdown(connection: sqlite3.Connection, chat: KeptChat) -> str:
    row = connection.execute(
        "SELECT model_name FROM turn JOIN message ON message.id = message_id WHERE chat_id = ?"
        " ORDER BY started DESC LIMIT 1",
        (chat.line.id,),
    ).fetchone()
    return as_markdown(Exported(row[0] if row else "", chat.system, tuple(map(as_message, chat.path))))


def share_gpt(chat: KeptChat) -> dict[str, object]:
    """The branch that is shown, as one line of the ShareGPT format that training tools read."""
    who = {"user": "human", "assistant": "gpt", "system": "system"}
    turns = [{"from": "system", "value": chat.system}] if chat.system else []
    turns += [{"from": who[said.role], "value": with_files(said.content, said.attachments)} for said in chat.path]
    return {"id": chat.line.id, "title": chat.line.title, "conversations": turns}


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
    return {**found, "role": hit.role, "snippet": hit.snippet, "messages": hit.count}


def write_json(stdout: TextIO, value: object, indent: int | None = None) -> None:
    """ASCII: no control character and no encoding can spoil it."""
    stdout.write(json.dumps(value, indent=indent) + "\n")
