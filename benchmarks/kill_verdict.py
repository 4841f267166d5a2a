"""What must be on the disk after a kill, from what the victims had said; see kill_session.py.

What was confirmed, or said more than a second before the kill, has to be there word for word. Everything else has to
make sense: no message without its parent, no branch that ends nowhere, no half of a file.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from mtpchat.chats import Change, Grown, Placed, Renamed, Said, TurnBegun, TurnEnded
from mtpchat.engine.archive import KeepsNothing
from mtpchat.engine.conversation import Conversation
from mtpchat.store import reading
from mtpchat.store.database import open_database
from mtpchat.store.settling import settle
from mtpchat.store.states import StateFolder
from mtpchat.ui.drafts import Drafts

LAST_SECOND_S = 1.0
UNKNOWN = "\0"
"""Stands for what was there before."""


class Line(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing that a victim told, and when; `settled` says that all before it is on the disk."""

    at: float = 0.0
    change: Change | None = None
    settled: bool = False
    purging: str = ""
    drafting: tuple[str, str] | None = None
    drafted: tuple[str, str] | None = None


@dataclass
class Figures:
    """What was found in all."""

    kills: int = 0
    ended: int = 0
    messages: int = 0
    drafts: int = 0
    states: int = 0
    oldest_loss_s: float = 0.0
    most_litter: int = 0
    faults: list[str] = field(default_factory=list)

    def told(self) -> str:
        faults = "".join(f"\n  {fault}" for fault in self.faults[:20])
        return (
            f"{self.kills} kills: {self.ended} turns had ended and {self.messages} messages were due, "
            f"{len(self.faults)} faults{faults}\n"
            f"oldest word lost of an unfinished answer: {self.oldest_loss_s:.2f} s before the kill\n"
            f"{self.drafts} drafts and {self.states} kept states read back; at most {self.most_litter} unfinished files"
        )


@dataclass
class _Due:
    """What one victim's word makes sure of."""

    texts: dict[str, tuple[str, str, str]] = field(default_factory=dict)
    """Message -> chat, answer, thinking."""
    told: dict[str, tuple[str, str, str]] = field(default_factory=dict)
    """The same of everything that was told, due or not."""
    chats: dict[str, str] = field(default_factory=dict)
    """Answer -> chat."""
    ended: set[str] = field(default_factory=set)
    titles: dict[str, set[str]] = field(default_factory=dict)
    purged: set[str] = field(default_factory=set)
    drafts: dict[str, set[str]] = field(default_factory=dict)
    late: list[tuple[float, str, str, str]] = field(default_factory=list)
    """Text that was not due: when, message, and all of its answer and thinking until then."""


def judge(folder: Path, dead: Sequence[tuple[Sequence[Line], float]], figures: Figures) -> None:
    """Open what they left as the next start does, and look at all of it."""
    dues = [_due(lines, died) for lines, died in dead]
    with closing(open_database(folder / "chats.db", busy_s=20.0)) as connection:
        settle(connection, folder / "chats.db")
        _sound(connection, figures)
        purged = set[str]().union(*(due.purged for due in dues))
        for due, (_, died) in zip(dues, dead, strict=True):
            _said(connection, due, purged, died, figures)
        _titles(connection, dues, purged, figures)
    _files(folder, dues, figures)
    figures.kills += len(dead)


def _due(lines: Sequence[Line], died: float) -> _Due:
    due = _Due()
    last = max((at for at, line in enumerate(lines) if line.settled or line.at < died - LAST_SECOND_S), default=-1)
    for place, line in enumerate(lines):
        if line.purging:
            due.purged.add(line.purging)
        if line.drafting:
            due.drafts.setdefault(line.drafting[0], {UNKNOWN}).add(line.drafting[1])
        if line.drafted:
            due.drafts[line.drafted[0]] = {line.drafted[1]}
        if line.change is not None:
            _note(due, line.change, line.at, is_due=place <= last)
    return due


def _note(due: _Due, change: Change, at: float, *, is_due: bool) -> None:
    match change:
        case TurnBegun(chat=chat, path=path, answer=answer):
            due.chats[answer] = chat
            _note_said(due, chat, path, is_due=is_due)
        case TurnEnded(begun=TurnBegun(chat=chat), message=message) if message is not None:
            due.ended.update([message.id] if is_due else [])
            _note_said(due, chat, [message], is_due=is_due)
        case Placed(chat=chat, path=path):
            _note_said(due, chat, path, is_due=is_due)
        case Grown(answer, channel, text):
            chat, content, thinking = due.told.get(answer, (due.chats.get(answer, ""), "", ""))
            more = (content + text, thinking) if channel == "answer" else (content, thinking + text)
            due.told[answer] = (chat, *more)
            if is_due:
                due.texts[answer] = due.told[answer]
            else:
                due.late.append((at, answer, *more))
        case Renamed(chat, title):
            due.titles[chat] = {title} if is_due else {*due.titles.get(chat, (UNKNOWN,)), title}
        case _:
            pass


def _note_said(due: _Due, chat: str, path: Sequence[Said], *, is_due: bool) -> None:
    for said in path:
        due.told[said.id] = (chat, said.content, said.thinking)
        if is_due:
            due.texts[said.id] = due.told[said.id]


def _sound(connection: sqlite3.Connection, figures: Figures) -> None:
    """The file as such, and every tree in it."""
    faults = figures.faults
    if connection.execute("PRAGMA integrity_check").fetchone() != ("ok",):
        faults.append("the file is damaged")
    if connection.execute("PRAGMA foreign_key_check").fetchall():
        faults.append("something refers to what is not there")
    queries = {
        "a parent in another chat": "SELECT 1 FROM message JOIN message AS above ON above.id = message.parent_id"
        " WHERE above.chat_id != message.chat_id",
        "a branch that ends nowhere": "SELECT 1 FROM chat WHERE leaf IS NOT NULL AND NOT EXISTS"
        " (SELECT 1 FROM message WHERE message.id = leaf AND chat_id = chat.id)",
        "a journal that was not folded": "SELECT 1 FROM journal",
        "a message that is not indexed": "SELECT 1 FROM message WHERE indexed != 1 AND content != ''",
    }
    faults += [name for name, query in queries.items() if connection.execute(query).fetchone()]
    for (chat,) in connection.execute("SELECT id FROM chat").fetchall():
        kept = reading.load(connection, chat)
        talk = Conversation(KeepsNothing())
        talk.resume(kept)
        if talk.messages != tuple(one for one in talk.messages if one.role in ("user", "assistant")):
            faults.append(f"chat {chat} cannot be gone on with")
        if kept.path and kept.path[0].parent:
            faults.append(f"chat {chat} begins in the middle")


def _said(connection: sqlite3.Connection, due: _Due, purged: set[str], died: float, figures: Figures) -> None:
    rows = {row[0]: row[1:] for row in connection.execute("SELECT id, chat_id, content, thinking FROM message")}
    for message, (chat, content, thinking) in due.texts.items():
        if chat in purged:
            continue
        figures.messages += 1
        figures.ended += message in due.ended
        row = rows.get(message)
        if row is None or not (row[1].startswith(content) and row[2].startswith(thinking)):
            beside = any(one[0] == chat and one[1].startswith(content) for one in rows.values())
            if row is None or not beside:
                figures.faults.append(f"message {message}: {content[:40]!r} was due, {row and row[1][:40]!r} is there")
    for at, message, content, thinking in due.late:
        row = rows.get(message)
        whole = row is not None and row[1].startswith(content) and row[2].startswith(thinking)
        if not whole:
            figures.oldest_loss_s = max(figures.oldest_loss_s, died - at)


def _titles(connection: sqlite3.Connection, dues: Sequence[_Due], purged: set[str], figures: Figures) -> None:
    """The one that was given last is due; of those that several gave to one chat, any."""
    wanted: dict[str, set[str]] = {}
    for due in dues:
        for chat, titles in due.titles.items():
            wanted.setdefault(chat, set()).update(titles)
    for chat, titles in wanted.items():
        row = connection.execute("SELECT title FROM chat WHERE id = ?", (chat,)).fetchone()
        if row is not None and chat not in purged and row[0] not in titles and len(titles) == 1:
            figures.faults.append(f"chat {chat} is called {row[0]!r}, not one of {titles}")


def _files(folder: Path, dues: Sequence[_Due], figures: Figures) -> None:
    drafts = Drafts(folder / "drafts")
    wanted: dict[str, set[str]] = {}
    for due in dues:
        for chat, texts in due.drafts.items():
            wanted.setdefault(chat, set()).update(texts)
    for chat, texts in wanted.items():
        figures.drafts += 1
        found = drafts.read(chat).written.text
        if found not in texts and UNKNOWN not in texts:
            figures.faults.append(f"draft {chat}: {found[:40]!r} is none of {len(texts)}")
    states = StateFolder(folder / "states", 1 << 30)
    names = [path.name for path in (folder / "states").glob("*.state")]
    figures.states += len(names)
    figures.faults += [f"state {name} is harmed" for name in names if states.read(name) is None]
    figures.most_litter = max(figures.most_litter, sum(1 for _ in folder.rglob("*.tmp")))
