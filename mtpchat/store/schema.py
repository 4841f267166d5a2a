"""The tables of the file of chats, and how older files become newer ones.

`user_version` counts the migrations that a file has had. Each migration runs in a transaction of its own that looks at
the version again once it may write, because another instance may be doing the same at that moment.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from mtpchat.errors import StorageError

APPLICATION_ID = 0x6D747063
"""Says that a file is ours ("mtpc"), so that a path that names some other database does no harm to it."""

_FIRST = """
CREATE TABLE chat (
    id TEXT PRIMARY KEY,
    title TEXT NOT NULL,
    renamed INTEGER NOT NULL DEFAULT 0,
    created REAL NOT NULL,
    updated REAL NOT NULL,
    leaf TEXT,
    pinned INTEGER NOT NULL DEFAULT 0,
    deleted_at REAL
);
CREATE INDEX chat_updated ON chat (updated);
CREATE TABLE message (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    chat_id TEXT NOT NULL REFERENCES chat (id) ON DELETE CASCADE,
    parent_id TEXT REFERENCES message (id) ON DELETE CASCADE,
    role TEXT NOT NULL CHECK (role IN ('system', 'user', 'assistant')),
    content TEXT NOT NULL,
    thinking TEXT NOT NULL DEFAULT '',
    created REAL NOT NULL,
    complete INTEGER NOT NULL,
    indexed INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX message_chat ON message (chat_id);
CREATE INDEX message_parent ON message (parent_id);
CREATE INDEX message_unindexed ON message (indexed) WHERE indexed != 1;
CREATE TABLE turn (
    id TEXT PRIMARY KEY,
    message_id TEXT NOT NULL REFERENCES message (id) ON DELETE CASCADE,
    started REAL NOT NULL,
    ended REAL,
    model TEXT NOT NULL,
    model_name TEXT NOT NULL,
    drafter TEXT NOT NULL,
    kind TEXT NOT NULL,
    sampling TEXT NOT NULL,
    seed INTEGER NOT NULL,
    system TEXT NOT NULL,
    stats TEXT,
    reason TEXT
);
CREATE INDEX turn_message ON turn (message_id);
CREATE TABLE journal (
    number INTEGER PRIMARY KEY,
    message_id TEXT NOT NULL REFERENCES message (id) ON DELETE CASCADE,
    channel TEXT NOT NULL,
    text TEXT NOT NULL
);
CREATE INDEX journal_message ON journal (message_id);
"""

_SECOND = """
ALTER TABLE message ADD COLUMN attachments TEXT NOT NULL DEFAULT '[]';
ALTER TABLE chat ADD COLUMN options TEXT NOT NULL DEFAULT '{}';
"""

_THIRD = """
ALTER TABLE turn ADD COLUMN machine TEXT NOT NULL DEFAULT '';
ALTER TABLE turn ADD COLUMN counted INTEGER NOT NULL DEFAULT 0;
CREATE INDEX turn_uncounted ON turn (counted) WHERE counted = 0 AND stats IS NOT NULL;
CREATE TABLE figure (
    day TEXT NOT NULL,
    model TEXT NOT NULL,
    machine TEXT NOT NULL,
    kind TEXT NOT NULL,
    content TEXT NOT NULL,
    turns INTEGER NOT NULL,
    prompt_tokens INTEGER NOT NULL,
    cached_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    steps INTEGER NOT NULL,
    drafted INTEGER NOT NULL,
    accepted INTEGER NOT NULL,
    forced INTEGER NOT NULL,
    looped_tokens INTEGER NOT NULL,
    prefill_s REAL NOT NULL,
    decode_s REAL NOT NULL,
    compared_turns INTEGER NOT NULL,
    compared_s REAL NOT NULL,
    gained_s REAL NOT NULL,
    lost_s REAL NOT NULL,
    PRIMARY KEY (day, model, machine, kind, content)
) WITHOUT ROWID;
"""

_FOURTH = """
ALTER TABLE turn ADD COLUMN own INTEGER NOT NULL DEFAULT 0;
CREATE TABLE shown (
    number INTEGER PRIMARY KEY,
    message_id TEXT NOT NULL UNIQUE REFERENCES message (id) ON DELETE CASCADE
);
"""
"""`own`: the settings of that answer alone, not those of the chat. `shown`: messages that branches ended with when they
were shown, in the order in which that was last so: the way that was taken where a chat forks."""

_FIFTH = """
ALTER TABLE message ADD COLUMN depth INTEGER;
ALTER TABLE message ADD COLUMN writer TEXT NOT NULL DEFAULT '';
ALTER TABLE turn ADD COLUMN left_answer INTEGER;
ALTER TABLE turn ADD COLUMN left_thinking INTEGER;
ALTER TABLE chat ADD COLUMN used REAL;
DROP INDEX chat_updated;
CREATE INDEX chat_used ON chat (coalesce(used, updated));
CREATE INDEX chat_listed ON chat (pinned DESC, coalesce(used, updated) DESC, id) WHERE deleted_at IS NULL;
CREATE TABLE chore (name TEXT PRIMARY KEY, number INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO chore SELECT 'depths', 0 WHERE EXISTS (SELECT 1 FROM message);
"""
"""No row of a message is touched, so that a large file opens at once; chores.py does that by and by.

`depth`: how many messages a branch has down to this one; NULL is not known. `writer`, `left_...`: see runs.py. `used`:
like `updated`, but what was used later is always greater, whatever the clock says; NULL is as `updated`."""

MIGRATIONS: tuple[str, ...] = (_FIRST, _SECOND, _THIRD, _FOURTH, _FIFTH)
"""Scripts of plain statements; migration i makes version i + 1 of version i. What has shipped is never edited."""


def migrate(connection: sqlite3.Connection, migrations: Sequence[str] = MIGRATIONS) -> None:
    """Bring a file up to date, one version after the other.

    Raises:
        StorageError: the file is some other program's, or of a newer version; it is unchanged then.
        sqlite3.Error: a migration failed; the file is as it was before that migration.
    """
    while True:
        version = _version(connection, len(migrations))
        if version == len(migrations):
            return
        connection.execute("BEGIN IMMEDIATE")
        try:
            if _version(connection, len(migrations)) == version:
                for statement in migrations[version].split(";\n"):
                    connection.execute(statement)
                connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                connection.execute(f"PRAGMA user_version = {version + 1}")
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


def _version(connection: sqlite3.Connection, newest: int) -> int:
    # One statement sees one state of the file: another instance may be making its tables at this moment.
    try:
        mark, version, tables = connection.execute(
            "SELECT (SELECT application_id FROM pragma_application_id), (SELECT user_version FROM pragma_user_version),"
            " (SELECT count(*) FROM sqlite_master)"
        ).fetchone()
    except (
        UnicodeDecodeError
    ) as error:  # SQLite names the table whose description is damaged, which is no text any more
        damage = sqlite3.DatabaseError("malformed database schema")
        damage.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
        raise damage from error
    if mark != APPLICATION_ID and (mark or version or tables):
        raise StorageError(
            "The file of saved chats is the database of some other program", hint="Set chats under [paths] to another."
        )
    if version > newest:
        raise StorageError(
            f"The file of saved chats was written by a newer mtpchat (version {version}, this one knows {newest})",
            hint="Install that version again, or set chats under [paths] to another file.",
        )
    return int(version)
