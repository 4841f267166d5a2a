"""Changes of a conversation as statements; each may be carried out twice with the same result.

While an answer is generated, its text is appended to `journal`, which costs what is new and not what is there already.
When it ends, its row gets the whole text and the journal's rows go. What a killed process leaves in the journal is
folded into its message when a file is opened; that does no harm to an answer that another instance is just generating,
because a message is at any time its row followed by its journal.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
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
    new_id,
)
from mtpchat.store import figures, search

_BY_MODEL = 2
"""`chat.renamed` of a title that the model gave; 1 is the user's, 0 the first words."""
_COUNTED_BY_THE_WAY = 20


def apply(connection: sqlite3.Connection, change: Change) -> None:
    """Carry out one change; within a transaction. Raises sqlite3.Error."""
    match change:
        case TurnBegun():
            _begin(connection, change)
        case Grown():
            grow(connection, change.answer, [change])
        case TurnEnded():
            _begin(connection, change.begun)
            _end(connection, change)
        case LeafMoved(chat, leaf):
            connection.execute("UPDATE chat SET leaf = ? WHERE id = ?", (leaf or None, chat))
        case Placed():
            _place(connection, change)
        case Renamed(chat, title):
            connection.execute("UPDATE chat SET title = ?, renamed = 1 WHERE id = ?", (_clean(title), chat))
        case Titled(chat, title):
            named = (_clean(title), _BY_MODEL, chat)
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
    merged = {**msgspec.json.decode(row[0], type=dict[str, object]), **options}
    kept = {name: value for name, value in merged.items() if value is not None}
    text = _clean(msgspec.json.encode(kept).decode())
    connection.execute("UPDATE chat SET options = ? WHERE id = ?", (text, chat))


def grow(connection: sqlite3.Connection, answer: str, pieces: Sequence[Grown]) -> None:
    """Append to the journal of an answer, and show it as the last message of its chat from now on."""
    rows = [(answer, piece.channel, _clean(piece.text)) for piece in pieces]
    connection.executemany("INSERT INTO journal (message_id, channel, text) VALUES (?, ?, ?)", rows)
    connection.execute(
        "UPDATE chat SET leaf = ?1 WHERE leaf IS NOT ?1 AND id = (SELECT chat_id FROM message WHERE id = ?1)", (answer,)
    )


def fold_journals(connection: sqlite3.Connection) -> None:
    """Put what journals hold into their messages; within a transaction."""
    for (message,) in connection.execute("SELECT DISTINCT message_id FROM journal").fetchall():
        content, thinking = journalled(connection, message)
        row = connection.execute("SELECT content, thinking FROM message WHERE id = ?", (message,)).fetchone()
        set_text(connection, message, row[0] + content, row[1] + thinking, complete=False)
        connection.execute("DELETE FROM journal WHERE message_id = ?", (message,))


def journalled(connection: sqlite3.Connection, message: str) -> tuple[str, str]:
    """What the journal adds to a message: (answer, thinking)."""
    texts: dict[str, list[str]] = {"answer": [], "thinking": []}
    for channel, text in connection.execute(
        "SELECT channel, text FROM journal WHERE message_id = ? ORDER BY number", (message,)
    ):
        texts.setdefault(channel, []).append(text)
    return "".join(texts["answer"]), "".join(texts["thinking"])


def _begin(connection: sqlite3.Connection, change: TurnBegun) -> None:
    began = change.path[0].created if change.path else change.started
    parent = change.path[-1].id if change.path else ""
    connection.execute(
        "INSERT INTO chat (id, title, created, updated, leaf) VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING",
        (change.chat, _clean(change.title), began, change.started, parent or None),
    )
    if not _exists(connection, parent):
        for said in change.path:
            _insert(connection, change.chat, said)
    carried_on = _exists(connection, change.answer)
    _insert(connection, change.chat, Said(change.answer, parent, "assistant", "", "", change.started, False))
    leaf = change.answer if carried_on else parent
    connection.execute(
        "UPDATE chat SET updated = max(updated, ?), deleted_at = NULL, leaf = ? WHERE id = ?",
        (change.started, leaf or None, change.chat),
    )
    how = change.how
    connection.execute(
        "INSERT INTO turn (id, message_id, started, model, model_name, drafter, kind, sampling, seed, system,"
        " machine) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING",
        (
            change.turn,
            change.answer,
            change.started,
            _clean(how.model),
            _clean(how.model_name),
            _clean(how.drafter),
            how.kind,
            _clean(msgspec.json.encode(how.sampling).decode()),
            how.seed,
            _clean(how.system),
            _clean(how.machine),
        ),
    )


def _end(connection: sqlite3.Connection, change: TurnEnded) -> None:
    begun, message = change.begun, change.message
    connection.execute("DELETE FROM journal WHERE message_id = ?", (begun.answer,))
    if message is None:
        # Nothing was said, so nothing is lost; an answer that was to be carried on has text and stays.
        connection.execute("DELETE FROM message WHERE id = ? AND content = '' AND thinking = ''", (begun.answer,))
    else:
        set_text(connection, message.id, message.content, message.thinking, complete=message.complete)
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
    connection.execute(
        "UPDATE chat SET leaf = ?, updated = max(updated, ?) WHERE id = ?",
        (change.leaf or None, change.ended, begun.chat),
    )
    search.update(connection)
    figures.count(connection, _COUNTED_BY_THE_WAY)


def _place(connection: sqlite3.Connection, change: Placed) -> None:
    leaf = change.path[-1].id if change.path else None
    connection.execute(
        "INSERT INTO chat (id, title, created, updated, options)"
        " VALUES (?, ?, ?, ?, coalesce((SELECT options FROM chat WHERE id = ?), '{}')) ON CONFLICT (id) DO NOTHING",
        (change.chat, _clean(change.title), change.at, change.at, change.origin),
    )
    for said in change.path:
        _insert(connection, change.chat, said)
    for old, new in change.copies:
        # How a copied answer was made is known of the copy, too; its counters are counted once.
        connection.execute(
            "INSERT INTO turn (id, message_id, started, ended, model, model_name, drafter, kind, sampling, seed,"
            " system, machine, reason) SELECT id || '.' || ?1, ?1, started, ended, model, model_name, drafter, kind,"
            " sampling, seed, system, machine, reason FROM turn WHERE message_id = ?2 ON CONFLICT (id) DO NOTHING",
            (new, old),
        )
    connection.execute(
        "UPDATE chat SET leaf = ?, updated = max(updated, ?), deleted_at = NULL WHERE id = ?",
        (leaf, change.at, change.chat),
    )
    search.update(connection)


def _insert(connection: sqlite3.Connection, chat: str, said: Said) -> None:
    connection.execute(
        "INSERT INTO message (id, chat_id, parent_id, role, content, thinking, created, complete, attachments)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING",
        (
            said.id,
            chat,
            said.parent or None,
            said.role,
            _clean(said.content),
            _clean(said.thinking),
            said.created,
            said.complete,
            _clean(msgspec.json.encode(said.attachments).decode()),
        ),
    )


def set_text(connection: sqlite3.Connection, message: str, content: str, thinking: str, *, complete: bool) -> None:
    """Give a message its text; one that it had and that does not begin like it is kept beside it."""
    row = connection.execute("SELECT number, content, indexed FROM message WHERE id = ?", (message,)).fetchone()
    if row is None:
        return
    content = _clean(content)
    if not content.startswith(row[1]):
        _copy_beside(connection, message)
    indexed = row[2] if row[1] == content else search.forget(connection, *row)
    connection.execute(
        "UPDATE message SET content = ?, thinking = ?, complete = ?, indexed = ? WHERE number = ?",
        (content, _clean(thinking), complete, indexed, row[0]),
    )


def _copy_beside(connection: sqlite3.Connection, message: str) -> None:
    """Keep a text that is going to be replaced by one that does not go on from it: two instances carried it on."""
    connection.execute(
        "INSERT INTO message (id, chat_id, parent_id, role, content, thinking, created, complete)"
        " SELECT ?, chat_id, parent_id, role, content, thinking, created, complete FROM message WHERE id = ?",
        (new_id(), message),
    )


def _exists(connection: sqlite3.Connection, message: str) -> bool:
    return connection.execute("SELECT 1 FROM message WHERE id = ?", (message,)).fetchone() is not None


def _clean(text: str) -> str:
    """Half of a surrogate pair, which no encoding can write, becomes the sign for what is unreadable."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode("utf-8")
    return text
