"""`mtpchat chats states`: what models remember of kept chats, on disk; a list, and how to be rid of it."""

from __future__ import annotations

import argparse
import json
import os
import sqlite3
from contextlib import closing
from datetime import datetime
from typing import TextIO

from mtpchat import paths
from mtpchat.config import Config
from mtpchat.errors import StorageError
from mtpchat.headless_output import EXIT_OK
from mtpchat.state_record import FoundState
from mtpchat.store.database import open_for_reading
from mtpchat.store.states import StateFolder
from mtpchat.ui.safe_text import safe_line


def states(arguments: argparse.Namespace, config: Config, stdout: TextIO) -> int:
    """List the states, those used last first, or remove them with --clear."""
    folder = StateFolder(paths.states_dir(), int(config.chats.state_max_gb * 1e9))
    found = folder.records()
    total = sum(one.size for one in found)
    if arguments.clear:
        folder.clear()
    titles = _titles(config)
    if arguments.json:
        rows = [_row(one, titles) for one in found]
        report = {"folder": str(folder.folder), "allowed": folder.allowance(), "states": rows}
        stdout.write(json.dumps({**report, "cleared": bool(arguments.clear)}) + "\n")
        return EXIT_OK
    if arguments.clear:
        stdout.write(f"{_counted(len(found))} removed, {_size(total)}\n")
        return EXIT_OK
    for one in found:
        title = safe_line(titles.get(one.record.chat, "")) or "(no title)"
        used = datetime.fromtimestamp(one.used).strftime("%Y-%m-%d %H:%M")
        stdout.write(f"{one.record.length:>9,} tokens  {_size(one.size):>9}  {used}  {title}\n")
    kept = f"{_counted(len(found))}, {_size(total)}" if found else "No state is kept"
    stdout.write(f"{kept}; up to {_size(folder.allowance())} in {safe_line(str(folder.folder))}\n")
    return EXIT_OK


def _row(one: FoundState, titles: dict[str, str]) -> dict[str, object]:
    record = one.record
    return {
        "chat": record.chat,
        "title": titles.get(record.chat, ""),
        "tokens": record.length,
        "bytes": one.size,
        "used": one.used,
        "drafter": bool(record.draft_key),
    }


def _titles(config: Config) -> dict[str, str]:
    """Titles of the kept chats by id; none where they cannot be read."""
    path = paths.chats_file(config.paths.chats)
    if not os.path.exists(path):
        return {}
    try:
        with closing(open_for_reading(path)) as connection:
            return dict(connection.execute("SELECT id, title FROM chat").fetchall())
    except (sqlite3.Error, StorageError):
        return {}


def _counted(count: int) -> str:
    return f"{count} state{'' if count == 1 else 's'}"


def _size(size: int) -> str:
    return f"{size / 1e9:,.1f} GB" if size >= 1e9 else f"{size / 1e6:,.1f} MB"
