"""`mtpchat chats export` and `import`: kept chats to files, and chats of files to the kept ones."""

from __future__ import annotations

import argparse
import json
import os
import secrets
import sqlite3
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from mtpchat.chats import ChatLine
from mtpchat.commands.export import FORMS, place_for, render
from mtpchat.commands.files import expand
from mtpchat.errors import ConfigError, ExchangeError
from mtpchat.exchange.files import opened
from mtpchat.exchange.findings import Found, Skipped
from mtpchat.exchange.intake import findings
from mtpchat.exchange.tally import Tally, left_out, progress
from mtpchat.headless_output import EXIT_FAILED, EXIT_OK, Notes
from mtpchat.paths import storage_errors
from mtpchat.store import reading
from mtpchat.store.database import transaction
from mtpchat.store.taking_in import outlook, take_in
from mtpchat.ui.chats_desk import file_name
from mtpchat.ui.safe_text import safe_line, safe_text
from mtpchat.whole_chat import Taken, WholeChat

_MOST_SKIPPED = 10
_STATUS_EACH = 100
_REPLACES = "--force replaces it."
_MAKES = "--force makes it."


def export(connection: sqlite3.Connection, arguments: argparse.Namespace, stdout: TextIO) -> None:
    """Write chats to stdout, a file, or a file each into a folder. Raises CommandError, ConfigError, StorageError."""
    references: Sequence[str] = arguments.operands
    if references == ["all"]:
        references = [line.id for line in reading.recent(connection, -1)]
    lines = [reading.line(connection, reference) for reference in references]
    target: str | None = arguments.output
    if target is None:
        form = arguments.format or ("json" if arguments.json else "md")
        _write_all(connection, lines, form, stdout, safe=stdout.isatty() and form == "md")
        return
    path = expand(target)
    if target.endswith(("/", os.sep)) or os.path.isdir(path):
        form = arguments.format or ("json" if arguments.json else "md")
        count = _write_each(connection, lines, form, path, force=arguments.force)
        stdout.write(f"Wrote {count:,} file{'' if count == 1 else 's'} to {safe_line(str(path))}\n")
        return
    form = arguments.format or FORMS.get(path.suffix.casefold(), "")
    if not form:
        raise ConfigError(f"No format is known for {safe_line(path.name)}", hint="--format md, json, jsonl or html")
    place_for(path, replace=arguments.force, hints=(_REPLACES, _MAKES))
    with _into(path) as file:
        _write_all(connection, lines, form, file, safe=False)
    stdout.write(f"Wrote {len(lines):,} chat{'' if len(lines) == 1 else 's'} to {safe_line(str(path))}\n")


def _write_all(
    connection: sqlite3.Connection, lines: Sequence[ChatLine], form: str, out: TextIO, *, safe: bool
) -> None:
    """One file: chats are read one after the other, except for a page, which begins with a list of them."""
    if form == "html" or len(lines) == 1:
        text = render(form, [reading.whole_chat(connection, line.id) for line in lines])
        out.write(safe_text(text) if safe else text)
        return
    many = form == "json"
    out.write("[\n" if many else "")
    for place, line in enumerate(lines):
        text = render(form, [reading.whole_chat(connection, line.id)])
        between = "" if not place or form == "jsonl" else ",\n" if many else "\n"
        out.write(between + (text.rstrip("\n") if many else safe_text(text) if safe else text))
    out.write("\n]\n" if many else "")


def _write_each(
    connection: sqlite3.Connection, lines: Sequence[ChatLine], form: str, folder: Path, *, force: bool
) -> int:
    used: set[str] = set()
    for line in lines:
        stem = Path(file_name(line)).stem
        name = f"{stem}.{form}" if stem not in used else f"{stem}-{line.id[:8]}.{form}"
        used.add(stem)
        path = folder / name
        place_for(path, replace=force, hints=(_REPLACES, _MAKES))
        with _into(path) as file:
            file.write(render(form, [reading.whole_chat(connection, line.id)]))
    return len(lines)


@contextmanager
def _into(path: Path) -> Iterator[TextIO]:
    """A file that takes its place when it is whole. Raises StorageError."""
    draft = path.with_name(f".{path.name[:100]}.{secrets.token_hex(6)}.tmp")
    with storage_errors(path, "write"):
        try:
            with draft.open("x", encoding="utf-8", newline="") as file:
                yield file
            os.replace(draft, path)
        finally:
            with suppress(OSError):  # it was renamed, or the error that matters is already on its way
                draft.unlink(missing_ok=True)


def import_files(connection: sqlite3.Connection | None, arguments: argparse.Namespace, stdout: TextIO) -> int:
    """Take in the chats of files, each chat whole or not at all, and say what came of it. Returns the exit code.

    Args:
        connection: None where no chat was kept yet, for --dry-run.
    """
    notes = Notes(sys.stderr)
    told: list[dict[str, object]] = []
    failed = False
    for name in arguments.operands:
        tally, error = _import(connection, expand(name), notes, dry=arguments.dry_run)
        failed |= error is not None
        told.append(_object(name, tally, error))
        if not arguments.json:
            stdout.write(_report(name, tally, error, dry=arguments.dry_run))
    if arguments.json:
        stdout.write(json.dumps(told) + "\n")
    if connection is not None and not arguments.dry_run:
        connection.execute("PRAGMA wal_checkpoint(PASSIVE)")  # what was taken in survives a power cut
    return EXIT_FAILED if failed else EXIT_OK


def _import(
    connection: sqlite3.Connection | None, path: Path, notes: Notes, *, dry: bool
) -> tuple[Tally, ExchangeError | None]:
    tally = Tally()
    try:
        with opened(path) as data:
            for found in findings(data, time.time()):
                if isinstance(found, Skipped):
                    tally.skip(found)
                else:
                    _keep(connection, found, tally, dry=dry)
                if (tally.chats + tally.skips) % _STATUS_EACH == 1:
                    notes.status(f"{safe_line(path.name)}: {progress(tally, found.end / len(data))}")
    except ExchangeError as error:
        return tally, error
    finally:
        notes.status("")
    return tally, None


def _keep(connection: sqlite3.Connection | None, found: Found, tally: Tally, *, dry: bool) -> None:
    try:
        tally.count(found, _taken(connection, found.chat, dry=dry))
    except ExchangeError as refusal:
        tally.skip(Skipped(0, f"“{found.chat.title}”: {refusal.message.rstrip('.')}"))


def _taken(connection: sqlite3.Connection | None, chat: WholeChat, *, dry: bool) -> Taken:
    if connection is None:
        return Taken(True, len(chat.messages))
    if dry:
        return outlook(connection, chat)
    with transaction(connection, durable=False):
        return take_in(connection, chat)


def _report(name: str, tally: Tally, error: ExchangeError | None, *, dry: bool) -> str:
    forms = ", ".join(tally.forms)
    lines = [f"{safe_line(name)}{f'  ({forms})' if forms else ''}"]
    if tally.chats or error is None:
        lines.append(f"  {tally.sentence('would be taken in' if dry else 'taken in')}")
    if text := left_out(tally):
        lines.append(f"  {safe_line(text)}")
    for one in tally.skipped[:_MOST_SKIPPED]:
        place = f", line {one.line:,}" if one.line else ""
        lines.append(f"  skipped{place}: {safe_line(one.why)}")
    if tally.skips > _MOST_SKIPPED:
        lines.append(f"  … and {tally.skips - _MOST_SKIPPED:,} more")
    if error is not None:
        place = "stopped at " if error.key else ""
        lines.append(f"  {place}{safe_line(error.sentence)}")
    return "".join(f"{line}\n" for line in lines)


def _object(name: str, tally: Tally, error: ExchangeError | None) -> dict[str, object]:
    return {
        "file": name,
        "formats": dict(tally.forms),
        "chats": tally.added,
        "messages": tally.messages,
        "gone_on": tally.grown,
        "known": tally.known,
        "left_out": {what: number for what, number in tally.left_out.items() if number},
        "skipped": [{"line": one.line or None, "why": one.why} for one in tally.skipped],
        "error": error.message if error is not None else None,
    }
