"""Full-text search over what was said.

The index (FTS5) holds words only, not a second copy of the texts. It is kept up to date by this module rather than by
triggers, so that a Python whose SQLite has no FTS5 can still write chats: their messages are marked and indexed by the
next one that can. Chinese, Japanese and Korean have no spaces between words: each of their characters is a word here,
and a search for several of them is a search for them in a row.
"""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from mtpchat.errors import StorageError

_WIDE = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_CHARACTER = re.compile(f"([{_WIDE}])")
_WORD = re.compile(rf"[{_WIDE}]+|[^\W{_WIDE}]+")
_RANKED = 2000
"""So many of the newest matches are ranked; a search for a word of every message stays quick."""
_K1, _B, _TYPICAL_LENGTH = 1.2, 0.75, 600
_BEFORE, _SNIPPET = 40, 160
STALE = 2
"""`message.indexed` of a text that has changed since it was indexed, by a SQLite that could not say so to the index."""


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
                "(body, content='', prefix='2', tokenize='unicode61 remove_diacritics 2')"
            )
            connection.execute("UPDATE message SET indexed = 0")


def update(connection: sqlite3.Connection, limit: int = 1000) -> int:
    """Index up to `limit` messages that are not; within a transaction. Returns how many there were."""
    if not has_search(connection):
        return 0
    if connection.execute("SELECT 1 FROM message WHERE indexed = ? LIMIT 1", (STALE,)).fetchone():
        rebuild(connection)
    rows = connection.execute(
        "SELECT number, content FROM message WHERE indexed != 1 AND content != '' LIMIT ?", (limit,)
    ).fetchall()
    for number, content in rows:
        connection.execute("INSERT INTO words (rowid, body) VALUES (?, ?)", (number, _spaced(content)))
        connection.execute("UPDATE message SET indexed = 1 WHERE number = ?", (number,))
    return len(rows)


def forget(connection: sqlite3.Connection, number: int, content: str, indexed: int) -> int:
    """Take a text that is going to change out of the index. Returns what `message.indexed` must be afterwards."""
    if indexed != 1:
        return indexed
    if not has_search(connection):
        return STALE
    connection.execute("INSERT INTO words (words, rowid, body) VALUES ('delete', ?, ?)", (number, _spaced(content)))
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


def find(connection: sqlite3.Connection, text: str, limit: int) -> list[tuple[int, int]]:
    """Messages with all the words of `text`, the last of which may be only begun: (number, how many in its chat).

    One message for each chat, the best first; chats that were deleted stay out.

    Raises:
        StorageError: this SQLite has no FTS5, or there is no index yet.
    """
    question = as_query(text)
    if not question:
        return []
    if not has_search(connection):
        raise StorageError(
            "Saved chats cannot be searched: the SQLite of this Python has no full-text search (FTS5)",
            hint="Another build of Python has it; everything else works without.",
        )
    rows = connection.execute(
        "SELECT number, chat_id, content FROM words CROSS JOIN message ON number = words.rowid"
        " CROSS JOIN chat ON chat.id = chat_id WHERE words MATCH ? AND deleted_at IS NULL"
        " ORDER BY words.rowid DESC LIMIT ?",
        (question, _RANKED),
    )
    wanted = [word.casefold() for word in _WORD.findall(text)]
    best: dict[str, tuple[float, int]] = {}
    counts: Counter[str] = Counter()
    for number, chat, content in rows:
        counts[chat] += 1
        best[chat] = max(best.get(chat, (0.0, 0)), (_score(content, wanted), number))
    order = sorted(best, key=lambda chat: best[chat], reverse=True)
    return [(best[chat][1], counts[chat]) for chat in order[:limit]]


def _score(content: str, words: Sequence[str]) -> float:
    """How much a text is about words that all stand in it: BM25 (Robertson and Zaragoza, 2009) without its weights for
    rare words, which would be the same for all the texts and take a count over all of them.
    """
    folded = content.casefold()
    damping = _K1 * (1 - _B + _B * len(content) / _TYPICAL_LENGTH)
    counts = (max(folded.count(word), 1) for word in words)  # 0 where accents differ
    return sum(count / (count + damping) for count in counts)


def as_query(text: str) -> str:
    """The words as an expression of FTS5 in which nothing the user typed is syntax; "" when there is no word.

    The last one is taken for the beginning of a word, unless it is a single letter, with which half of all words begin.
    """
    words = _WORD.findall(text)
    begun = bool(words) and len(words[-1]) > 1 and not _CHARACTER.match(words[-1])
    return " ".join(f'"{_spaced(word).strip()}"' for word in words) + ("*" if begun else "")


def snippet(content: str, text: str) -> str:
    """A line of `content` around the first of the words of `text`."""
    folded = content.casefold()
    places = [at for word in _WORD.findall(text) if (at := folded.find(word.casefold())) >= 0]
    start = max(0, min(places, default=0) - _BEFORE)
    piece = content[start : start + _SNIPPET]
    head, tail = ("…" if start else ""), ("…" if start + _SNIPPET < len(content) else "")
    return head + " ".join(piece.split()) + tail


def _spaced(text: str) -> str:
    return _CHARACTER.sub(r" \1 ", text)
