"""Changes of a conversation as statements; each may be carried out twice with the same result.

While an answer is generated, its text is appended to `journal`, which costs what is new and not what is there already.
When it ends, its row gets the whole text and the journal's rows go. What a killed process leaves in the journal is
folded into its message when a file is opened; that does no harm to an answer that another instance is just generating,
because a message is at any time its row followed by its journal.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from functools import partial
from typing import assert_never

import msgspec

from mtpchat.chats import (
    Change,
    Deleted,
    Grown,
    LeafMoved,
    OptionsSet,
    Pinned,
    Placed,
    Renamed,
    Said,
    Titled,
    TurnBegun,
    TurnEnded,
)
from mtpchat.store import depths, figures, runs, search
from mtpchat.store.database import guarded
from mtpchat.store.runs import writable

_BY_MODEL = 2
"""`chat.renamed` of a title that the model gave; 1 is the user's, 0 the first words."""
_BY_THE_WAY = 20
"""So many turns are counted, and messages indexed, with the end of one."""


def apply(connection: sqlite3.Connection, change: Change, *, late: bool = False) -> None:
    """Carry out one change; within a transaction.

    Args:
        late: it comes from an earlier run of the program, so that what it is about was not used last.

    Raises:
        sqlite3.Error: it cannot be written.
    """
    match change:
        case TurnBegun():
            _begin(connection, change, late=late)
        case Grown():
            grow(connection, [change])
        case TurnEnded():
            _begin(connection, change.begun, late=late)
            _end(connection, change, late=late)
        case LeafMoved(chat, leaf):
            _show(connection, chat, leaf)
        case Placed():
            _place(connection, change, late=late)
        case Renamed(chat, title):
            connection.execute("UPDATE chat SET title = ?, renamed = 1 WHERE id = ?", (writable(title), chat))
        case Titled(chat, title):
            named = (writable(title), _BY_MODEL, chat)
            connection.execute("UPDATE chat SET title = ?, renamed = ? WHERE id = ? AND renamed != 1", named)
        case Pinned(chat, pinned):
            connection.execute("UPDATE chat SET pinned = ? WHERE id = ?", (pinned, chat))
        case OptionsSet(chat, options):
            _choose(connection, chat, options)
        case Deleted(chat, at):
            connection.execute("UPDATE chat SET deleted_at = ? WHERE id = ?", (at, chat))
        case _:
            assert_never(change)


def _choose(connection: sqlite3.Connection, chat: str, options: dict[str, object]) -> None:
    row = connection.execute("SELECT options FROM chat WHERE id = ?", (chat,)).fetchone()
    if row is None:
        return
    merged = {**_options(row[0]), **options}
    kept = {name: value for name, value in merged.items() if value is not None}
    text = writable(msgspec.json.encode(kept).decode())
    connection.execute("UPDATE chat SET options = ? WHERE id = ?", (text, chat))


def _options(text: str) -> dict[str, object]:
    """Choices by name; none where a byte has changed on the disk."""
    try:
        return msgspec.json.decode(text, type=dict[str, object])
    except (ValueError, RecursionError):  # msgspec's errors are ValueErrors
        return {}


def grow(connection: sqlite3.Connection, pieces: Sequence[Grown]) -> None:
    """Append what one run has said to the journal, and show its answer as the last message of the chat from now on."""
    answer = runs.message_of(connection, pieces[0].turn, pieces[0].answer)
    rows = [(answer, piece.channel, writable(piece.text)) for piece in pieces]
    connection.executemany("INSERT INTO journal (message_id, channel, text) VALUES (?, ?, ?)", rows)
    connection.execute(
        "UPDATE chat SET leaf = ?1 WHERE leaf IS NOT ?1 AND id = (SELECT chat_id FROM message WHERE id = ?1)", (answer,)
    )


def _show(connection: sqlite3.Connection, chat: str, leaf: str) -> None:
    """Show the branch that ends with a message, "" for none; where the chat forks, that is the way that was taken last.

    The one that was shown before may have come by a journal or from a file, so that it has not been noted yet.
    """
    before = "SELECT message.id FROM message JOIN chat ON leaf = message.id WHERE chat.id = ?"
    connection.execute(f"INSERT OR IGNORE INTO shown (message_id) {before}", (chat,))
    connection.execute("UPDATE chat SET leaf = ? WHERE id = ?", (leaf or None, chat))
    connection.execute("INSERT OR REPLACE INTO shown (message_id) SELECT id FROM message WHERE id = ?", (leaf,))


def fold_journals(connection: sqlite3.Connection) -> None:
    """Put what journals hold into their messages; within a transaction."""
    for (message,) in connection.execute("SELECT DISTINCT message_id FROM journal").fetchall():
        answer, thinking = runs.text_of(connection, message)
        set_text(connection, message, answer, thinking, complete=False)
        connection.execute("DELETE FROM journal WHERE message_id = ?", (message,))


def _begin(connection: sqlite3.Connection, change: TurnBegun, *, late: bool) -> None:
    if connection.execute("SELECT 1 FROM turn WHERE id = ?", (change.turn,)).fetchone():
        return
    path = runs.as_kept(connection, change.chat, change.path)
    if path:
        depths.note(connection, path[-1].id)
    began = path[0].created if path else change.started
    parent = path[-1].id if path else ""
    connection.execute(
        "INSERT INTO chat (id, title, created, updated, leaf) VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING",
        (change.chat, writable(change.title), began, change.started, parent or None),
    )
    if not _exists(connection, parent):
        for said in path:
            _insert(connection, change.chat, said)
    carried_on = change.so_far is not None or _exists(connection, change.answer)
    so_far = change.so_far or ("", "")
    _insert(connection, change.chat, Said(change.answer, parent, "assistant", *so_far, change.started, False))
    answer = runs.enter(connection, change)
    _use(connection, change.chat, change.started, late=late)
    _show(connection, change.chat, answer if carried_on else parent)
    _note_turn(connection, change, answer)


def _note_turn(connection: sqlite3.Connection, change: TurnBegun, answer: str) -> None:
    how = change.how
    connection.execute(
        "INSERT INTO turn (id, message_id, started, model, model_name, drafter, kind, sampling, seed, system,"
        " machine, own) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            change.turn,
            answer,
            change.started,
            writable(how.model),
            writable(how.model_name),
            writable(how.drafter),
            how.kind,
            writable(msgspec.json.encode(how.sampling).decode()),
            how.seed,
            writable(how.system),
            writable(how.machine),
            how.own,
        ),
    )


def _end(connection: sqlite3.Connection, change: TurnEnded, *, late: bool) -> None:
    begun, message = change.begun, change.message
    if runs.is_over(connection, begun.turn):
        return
    answer = runs.message_of(connection, begun.turn, begun.answer)
    connection.execute("DELETE FROM journal WHERE message_id = ?", (answer,))
    if message is None:
        # Nothing was said, so nothing is lost; an answer that was to be carried on has text and stays.
        connection.execute("DELETE FROM message WHERE id = ? AND content = '' AND thinking = ''", (answer,))
    else:
        set_text(connection, answer, message.content, message.thinking, complete=message.complete)
    is_first = connection.execute("SELECT 1 FROM turn WHERE id = ? AND ended IS NULL", (begun.turn,)).fetchone()
    connection.execute(
        "UPDATE turn SET ended = ?, reason = ?, stats = ?, kind = coalesce(?, kind) WHERE id = ?",
        (
            change.ended,
            change.reason,
            msgspec.json.encode(change.stats).decode() if change.stats is not None else None,
            change.stats.kind if change.stats is not None else None,
            begun.turn,
        ),
    )
    if is_first:
        _use(connection, begun.chat, change.ended, late=late, undelete=False)
    _show(connection, begun.chat, answer if change.leaf == begun.answer else change.leaf)
    _count_and_index(connection)


def _count_and_index(connection: sqlite3.Connection) -> None:
    """What was just said, and a little of what is left to do; an old row that makes no sense does no harm to it."""
    guarded(connection, partial(search.update, connection, _BY_THE_WAY), "the index")
    guarded(connection, partial(figures.count, connection, _BY_THE_WAY), "the figures")


def _use(connection: sqlite3.Connection, chat: str, at: float, *, late: bool = False, undelete: bool = True) -> None:
    """The chat is used: it comes before all others in lists, also when the clock was set back meanwhile."""
    later = "(SELECT coalesce(used, updated) + 0.001 FROM chat ORDER BY coalesce(used, updated) DESC LIMIT 1)"
    connection.execute(
        f"UPDATE chat SET used = max(coalesce(used, updated), ?1{'' if late else f', {later}'}),"
        f" updated = max(updated, ?1){', deleted_at = NULL' if undelete else ''} WHERE id = ?2",
        (at, chat),
    )


def _place(connection: sqlite3.Connection, change: Placed, *, late: bool) -> None:
    path = runs.as_kept(connection, change.chat, change.path)
    leaf = path[-1].id if path else ""
    is_known = _exists(connection, leaf)
    connection.execute(
        "INSERT INTO chat (id, title, created, updated, options)"
        " VALUES (?, ?, ?, ?, coalesce((SELECT options FROM chat WHERE id = ?), '{}')) ON CONFLICT (id) DO NOTHING",
        (change.chat, writable(change.title), change.at, change.at, change.origin),
    )
    for said in path[-2:-1]:
        depths.note(connection, said.id)
    for said in path:
        _insert(connection, change.chat, said)
    for old, new in change.copies:
        # How a copied answer was made is known of the copy, too; its counters are counted once.
        connection.execute(
            "INSERT INTO turn (id, message_id, started, ended, model, model_name, drafter, kind, sampling, seed,"
            " system, machine, own, reason) SELECT id || '.' || ?1, ?1, started, ended, model, model_name, drafter,"
            " kind, sampling, seed, system, machine, own, reason FROM turn WHERE message_id = ?2"
            " ON CONFLICT (id) DO NOTHING",
            (new, old),
        )
    if not is_known:
        _use(connection, change.chat, change.at, late=late)
    _show(connection, change.chat, leaf)
    _count_and_index(connection)


def _insert(connection: sqlite3.Connection, chat: str, said: Said) -> None:
    connection.execute(
        "INSERT INTO message (id, chat_id, parent_id, depth, role, content, thinking, created, complete, attachments)"
        " VALUES (?1, ?2, ?3, CASE WHEN ?3 IS NULL THEN 1 ELSE 1 + (SELECT depth FROM message WHERE id = ?3) END,"
        " ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT (id) DO NOTHING",
        (
            said.id,
            chat,
            said.parent or None,
            said.role,
            writable(said.content),
            writable(said.thinking),
            said.created,
            said.complete,
            writable(msgspec.json.encode(said.attachments).decode()),
        ),
    )


def set_text(connection: sqlite3.Connection, message: str, content: str, thinking: str, *, complete: bool) -> None:
    """Give a message its text, in place of the one that it had."""
    row = connection.execute(
        "SELECT number, CAST(content AS TEXT), indexed, CAST(attachments AS TEXT) FROM message WHERE id = ?", (message,)
    ).fetchone()
    if row is None:
        return
    content = writable(content)
    indexed = row[2] if row[1] == content else search.forget(connection, *row)
    connection.execute(
        "UPDATE message SET content = ?, thinking = ?, complete = ?, indexed = ? WHERE number = ?",
        (content, writable(thinking), complete, indexed, row[0]),
    )


def _exists(connection: sqlite3.Connection, message: str) -> bool:
    return connection.execute("SELECT 1 FROM message WHERE id = ?", (message,)).fetchone() is not None
