"""Full-text search over what was said.

The index (FTS5) holds words only, not a second copy of the texts. It is kept up to date by this module rather than by
triggers, so that a Python whose SQLite has no FTS5 can still write chats: their messages are marked and indexed by the
next one that can. Chinese, Japanese and Korean have no spaces between words: each of their characters is a word here,
and a search for several of them is a search for them in a row.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from mtpchat.errors import StorageError
from mtpchat.store.places import counted, fold, has_all, is_begun, spaced, words_of

_RANKED = 2000
"""So many of the newest matches are ranked; a search for a word of every message stays quick."""
_K1, _B, _TYPICAL_LENGTH = 1.2, 0.75, 600
STALE = 2
"""`message.indexed` of a text that has changed since it was indexed, by a SQLite that could not say so to the index."""


@dataclass(frozen=True, slots=True)
class Match:
    """A chat with the words: `number` is its best message, 0 when they stand in the title alone."""

    chat: str
    number: int
    count: int


def has_search(connection: sqlite3.Connection) -> bool:
    """Whether this SQLite has FTS5."""
    return bool(connection.execute("SELECT 1 FROM pragma_module_list WHERE name = 'fts5'").fetchone())


def prepare(connection: sqlite3.Connection) -> None:
    """Make the index if it is missing; within a transaction. Does nothing without FTS5."""
    if has_search(connection):
        there = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'words'").fetchone()
        if not there:
            connection.execute(
                "CREATE VIRTUAL TABLE words USING fts5"
                "(body, content='', prefix='2 3', tokenize='unicode61 remove_diacritics 2')"
            )
            connection.execute("UPDATE message SET indexed = 0")


def update(connection: sqlite3.Connection, limit: int = 1000) -> int:
    """Index up to `limit` messages that are not; within a transaction. Returns how many there were."""
    if not has_search(connection):
        return 0
    # The index of messages that are not indexed is only used by a question that repeats its condition.
    stale = "SELECT 1 FROM message WHERE indexed != 1 AND indexed = ? LIMIT 1"
    if connection.execute(stale, (STALE,)).fetchone():
        rebuild(connection)
    rows = connection.execute(
        "SELECT number, CAST(content AS TEXT) FROM message WHERE indexed != 1 AND content != '' LIMIT ?", (limit,)
    ).fetchall()
    for number, content in rows:
        connection.execute("INSERT INTO words (rowid, body) VALUES (?, ?)", (number, spaced(content)))
        connection.execute("UPDATE message SET indexed = 1 WHERE number = ?", (number,))
    return len(rows)


def forget(connection: sqlite3.Connection, number: int, content: str, indexed: int) -> int:
    """Take a text that is going to change out of the index. Returns what `message.indexed` must be afterwards."""
    if indexed != 1:
        return indexed
    if not has_search(connection):
        return STALE
    connection.execute("INSERT INTO words (words, rowid, body) VALUES ('delete', ?, ?)", (number, spaced(content)))
    return 0


def rebuild(connection: sqlite3.Connection) -> None:
    """Empty the index; `update` fills it again."""
    connection.execute("INSERT INTO words (words) VALUES ('delete-all')")
    connection.execute("UPDATE message SET indexed = 0 WHERE indexed != 0")


def drop(path: Path) -> None:
    """Remove a damaged index; it is made anew when the file is opened the next time. Raises sqlite3.Error.

    A damaged one cannot be dropped as such: its entry in the schema goes first, then what it consisted of.
    """
    with closing(sqlite3.connect(path, timeout=2.0, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("DELETE FROM sqlite_master WHERE name = 'words'")
        connection.execute("PRAGMA writable_schema = RESET")
        connection.execute("COMMIT")
    with closing(sqlite3.connect(path, timeout=2.0, isolation_level=None)) as connection:
        for part in ("data", "idx", "docsize", "config"):
            connection.execute(f"DROP TABLE IF EXISTS words_{part}")


def find(connection: sqlite3.Connection, text: str, limit: int, *, deleted: bool = False) -> list[Match]:
    """Chats with all the words of `text` in their title or in one message; the last word may be only begun.

    Those with the words in the title come first, then the best.

    Args:
        deleted: look among the deleted chats instead.

    Raises:
        StorageError: this SQLite has no FTS5, or there is no index yet.
    """
    if not words_of(text):
        return []
    if not has_search(connection):
        raise StorageError(
            "Saved chats cannot be searched: the SQLite of this Python has no full-text search (FTS5)",
            hint="Another build of Python has it; everything else works without.",
        )
    titled = _titled(connection, text, deleted=deleted)
    best, counts = _said(connection, text, deleted=deleted)
    found = [chat for chat in titled if chat not in best]
    order = sorted(best, key=lambda chat: (chat in titled, *best[chat]), reverse=True)
    in_titles = sum(chat in titled for chat in order)
    chats = [*order[:in_titles], *found, *order[in_titles:]][:limit]
    return [Match(chat, best[chat][1] if chat in best else 0, counts[chat]) for chat in chats]


def _titled(connection: sqlite3.Connection, text: str, *, deleted: bool) -> dict[str, None]:
    """Chats with the words in the title, the latest first. There are some thousand titles: they need no index.

    Of titles in ASCII, most are put aside by SQLite; the others are looked at letter by letter.
    """
    words = [fold(word) for word in words_of(text)]
    alike = " AND ".join("title LIKE ? ESCAPE '\\'" for _ in words) if all(map(str.isascii, words)) else "0"
    patterns = [f"%{word.replace('_', chr(92) + '_')}%" for word in words] if alike != "0" else []
    rows = connection.execute(
        f"SELECT id, title FROM chat WHERE {_is(deleted)} AND ({alike} OR title GLOB '*[^ -~]*') ORDER BY updated DESC",
        patterns,
    )
    return {chat: None for chat, title in rows if has_all(title, text)}


def _said(
    connection: sqlite3.Connection, text: str, *, deleted: bool
) -> tuple[dict[str, tuple[float, int]], Counter[str]]:
    """Chats with the words in a message: (score, number) of the best one, and how many there are."""
    # A word of very many messages is enough by itself: adding those that begin with it would mean to go through all.
    whole, begun = as_query(f"{text} "), as_query(text)
    rows = _newest(connection, whole, deleted=deleted)
    if len(rows) < _RANKED and begun != whole:
        rows = _newest(connection, begun, deleted=deleted)
    wanted = [word.casefold() for word in words_of(text)]
    best: dict[str, tuple[float, int]] = {}
    counts: Counter[str] = Counter()
    for number, chat, content in rows:
        counts[chat] += 1
        best[chat] = max(best.get(chat, (0.0, 0)), (_score(content, wanted), number))
    return best, counts


def _newest(connection: sqlite3.Connection, question: str, *, deleted: bool) -> list[tuple[int, str, str]]:
    """(number, chat, text) of the newest messages that match."""
    return connection.execute(
        "SELECT number, chat_id, content FROM words CROSS JOIN message ON number = words.rowid"
        f" CROSS JOIN chat ON chat.id = chat_id WHERE words MATCH ? AND {_is(deleted)}"
        " ORDER BY words.rowid DESC LIMIT ?",
        (question, _RANKED),
    ).fetchall()


def _is(deleted: bool) -> str:
    return "deleted_at IS NOT NULL" if deleted else "deleted_at IS NULL"


def _score(content: str, words: Sequence[str]) -> float:
    """How much a text is about words that all stand in it: BM25 (Robertson and Zaragoza, 2009) without its weights for
    rare words, which would be the same for all the texts and take a count over all of them.
    """
    damping = _K1 * (1 - _B + _B * len(content) / _TYPICAL_LENGTH)
    return sum(count / (count + damping) for count in counted(content.casefold(), words))


def as_query(text: str) -> str:
    """The words as an expression of FTS5 in which nothing the user typed is syntax; "" when there is no word.

    The last one is taken for the beginning of a word if nothing stands behind it, unless it is a single letter, with
    which half of all words begin.
    """
    words = words_of(text)
    begun = is_begun(text) and len(words[-1]) > 1
    return " ".join(f'"{spaced(word).strip()}"' for word in words) + ("*" if begun else "")
