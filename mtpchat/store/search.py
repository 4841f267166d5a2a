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
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from mtpchat.errors import StorageError
from mtpchat.store.attached import NONE, files_of, with_files
from mtpchat.store.places import counted, fold, has_all, is_begun, patterns, spaced, words_of

WORDS, FILES = "words", "files"
"""The index of what was said, and that of messages with files, which has their names and texts besides."""
MERGE = "merge"
_UNINDEXED = f"indexed != 1 AND (content != '' OR attachments != '{NONE}')"
_LETTERS_AT_ONCE, _ROWS_AT_ONCE, _PAGES_AT_ONCE = 1_000_000, 2000, 64
_SOMETHING_MERGED = 2
_KNOWN_LETTERS, _SAMPLE, _VERY_MANY, _SCARCE = 3, 200, 100_000, 5
_FILES_LISTED = 300
_RANKED = 1000
"""So many of the newest matches are ranked; a search for a word of every message stays quick."""
_K1, _B, _TYPICAL_LENGTH = 1.2, 0.75, 600
STALE = 2
"""`message.indexed` of a text that has changed since it was indexed, by a SQLite that could not say so to the index."""


_Row = tuple[int, str, str]
"""Number, chat and text of a message."""


@dataclass(frozen=True, slots=True)
class Match:
    """A chat with the words.

    Attributes:
        number: of its best message, 0 when they stand in the title alone.
        count: how many of its messages have them; of very many the newest are counted.
        in_files: it takes the files of that message to have all the words.
    """

    chat: str
    number: int
    count: int
    in_files: bool = False


def has_search(connection: sqlite3.Connection) -> bool:
    """Whether this SQLite has FTS5."""
    return bool(connection.execute("SELECT 1 FROM pragma_module_list WHERE name = 'fts5'").fetchone())


def prepare(connection: sqlite3.Connection) -> None:
    """Make what is missing of the index; within a transaction. Does nothing without FTS5."""
    if not has_search(connection):
        return
    there = _tables(connection)
    for table in {WORDS, FILES} - there:
        connection.execute(
            f"CREATE VIRTUAL TABLE {table} USING fts5"
            "(body, content='', prefix='2 3', tokenize='unicode61 remove_diacritics 2')"
        )
    if WORDS not in there:
        connection.execute("UPDATE message SET indexed = 0 WHERE indexed != 0")
    if FILES not in there:
        newest = connection.execute("SELECT max(number) FROM message").fetchone()[0]
        connection.execute("DELETE FROM chore WHERE name = ?", (FILES,))
        connection.executemany("INSERT INTO chore VALUES (?, ?)", [(FILES, newest)] if newest else [])


def _tables(connection: sqlite3.Connection) -> set[str]:
    """Those of the index that there are."""
    return {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE name IN ('words', 'files')")}


def is_behind(connection: sqlite3.Connection) -> bool:
    """Whether there are messages to be indexed."""
    return bool(connection.execute(f"SELECT 1 FROM message WHERE {_UNINDEXED} LIMIT 1").fetchone())


def update(connection: sqlite3.Connection, limit: int = 1000) -> int:
    """Index up to `limit` messages that are not; within a transaction. Returns how many there were."""
    if not has_search(connection):
        return 0
    rebuild_stale(connection)
    rows = connection.execute(
        f"SELECT number, CAST(content AS TEXT), CAST(attachments AS TEXT) FROM message WHERE {_UNINDEXED} LIMIT ?",
        (limit,),
    )
    count, letters = 0, 0
    for number, content, attachments in rows.fetchall():
        if content:
            connection.execute("INSERT INTO words (rowid, body) VALUES (?, ?)", (number, spaced(content)))
        letters += len(content) + _index_files(connection, number, content, attachments)
        connection.execute("UPDATE message SET indexed = 1 WHERE number = ?", (number,))
        count += 1
        if letters > _LETTERS_AT_ONCE:
            break
    return count


def update_files(connection: sqlite3.Connection, newest: int) -> int | None:
    """Index files of messages that an older version has indexed without them; within a transaction.

    Args:
        newest: number of the newest message that may be one of those.

    Returns:
        The same afterwards; None when there is none any more.
    """
    rows = connection.execute(
        "SELECT number, CAST(content AS TEXT), CAST(attachments AS TEXT) FROM message"
        " WHERE number BETWEEN ? AND ? AND attachments != ? AND indexed = 1 ORDER BY number DESC",
        (newest - _ROWS_AT_ONCE + 1, newest, NONE),
    )
    letters = 0
    for number, content, attachments in rows:
        letters += _index_files(connection, number, content, attachments)
        if letters > _LETTERS_AT_ONCE:
            return int(number) - 1
    return newest - _ROWS_AT_ONCE if newest > _ROWS_AT_ONCE else None


def _index_files(connection: sqlite3.Connection, number: int, content: str, attachments: str) -> int:
    """Returns how many letters that were."""
    body = with_files(content, files_of(attachments)) if attachments != NONE else ""
    if body and not _has_files(connection, number):
        connection.execute("INSERT INTO files (rowid, body) VALUES (?, ?)", (number, spaced(body)))
    return len(body)


def _has_files(connection: sqlite3.Connection, number: int) -> bool:
    """Whether the index has the files of that message."""
    return connection.execute("SELECT 1 FROM files_docsize WHERE id = ?", (number,)).fetchone() is not None


def forget(connection: sqlite3.Connection, number: int, content: str, indexed: int, attachments: str = NONE) -> int:
    """Take a text that is going to change out of the index. Returns what `message.indexed` must be afterwards."""
    if indexed != 1:
        return indexed
    if not has_search(connection):
        return STALE
    removed = [(WORDS, content)]
    if attachments != NONE and _has_files(connection, number):
        removed.append((FILES, with_files(content, files_of(attachments))))
    for table, body in removed:
        if body:
            connection.execute(
                f"INSERT INTO {table} ({table}, rowid, body) VALUES ('delete', ?, ?)", (number, spaced(body))
            )
    return 0


def rebuild_stale(connection: sqlite3.Connection) -> None:
    """Empty an index that has words which it could not be told to forget; `update` fills it again."""
    # The index of messages that are not indexed is only used by a question that repeats its condition.
    stale = "SELECT 1 FROM message WHERE indexed != 1 AND indexed = ? LIMIT 1"
    if connection.execute(stale, (STALE,)).fetchone():
        connection.execute("INSERT INTO words (words) VALUES ('delete-all')")
        connection.execute("INSERT INTO files (files) VALUES ('delete-all')")
        connection.execute("UPDATE message SET indexed = 0 WHERE indexed != 0")


def merge(connection: sqlite3.Connection, reached: int) -> int | None:
    """Merge some pages of the index, so that in the end words which were taken out are really gone from the file.

    Args:
        reached: 0 to begin with.

    Returns:
        How far that has come; None when it is done. Source: "The 'merge' command" of the documentation of FTS5.
    """
    table, begins = (WORDS, FILES)[reached // 2], reached % 2 == 0
    before = connection.total_changes
    connection.execute(
        f"INSERT INTO {table} ({table}, rank) VALUES ('merge', ?)", (-_PAGES_AT_ONCE if begins else _PAGES_AT_ONCE,)
    )
    if connection.total_changes - before >= _SOMETHING_MERGED:
        return reached | 1
    return reached // 2 * 2 + 2 if table == WORDS else None


def drop(path: Path) -> None:
    """Remove a damaged index; it is made anew when the file is opened the next time. Raises sqlite3.Error.

    A damaged one cannot be dropped as such: its entry in the schema goes first, then what it consisted of.
    """
    with closing(sqlite3.connect(path, timeout=2.0, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("DELETE FROM sqlite_master WHERE name IN ('words', 'files')")
        connection.execute("PRAGMA writable_schema = RESET")
        connection.execute("COMMIT")
    with closing(sqlite3.connect(path, timeout=2.0, isolation_level=None)) as connection:
        for table in (WORDS, FILES):
            for part in ("data", "idx", "docsize", "config"):
                connection.execute(f"DROP TABLE IF EXISTS {table}_{part}")


def find(connection: sqlite3.Connection, text: str, limit: int, *, deleted: bool = False) -> list[Match]:
    """Chats with all the words of `text` in their title or in one message and its files; the last may be only begun.

    Those with the words in the title come first, then the best of those that say them, then those whose files do.

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
    found = _said(connection, text, deleted=deleted)
    if len(found) < limit:
        brought = _brought(connection, text, deleted=deleted)
        found |= {chat: match for chat, match in brought.items() if chat not in found}
    titled = _titled(connection, text, limit, deleted=deleted)
    first = [chat for chat in found if chat in titled]
    then = [chat for chat in titled if chat not in found]
    last = [chat for chat in found if chat not in titled]
    return [found.get(chat) or Match(chat, 0, 0) for chat in [*first, *then, *last][:limit]]


def _titled(connection: sqlite3.Connection, text: str, limit: int, *, deleted: bool) -> dict[str, None]:
    """Chats with the words in the title, the latest first. There are some thousand titles: they need no index.

    Of titles in ASCII, most are put aside by SQLite; the others are looked at letter by letter.
    """
    words = [fold(word) for word in words_of(text)]
    alike = " AND ".join("title LIKE ? ESCAPE '\\'" for _ in words) if all(map(str.isascii, words)) else "0"
    alikes = [f"%{word.replace('_', chr(92) + '_')}%" for word in words] if alike != "0" else []
    rows = connection.execute(
        f"SELECT id, title FROM chat WHERE {_is(deleted)}"
        f" AND ({alike} OR length(title) != length(CAST(title AS BLOB))) ORDER BY coalesce(used, updated) DESC",
        alikes,
    )
    return dict.fromkeys(islice((chat for chat, title in rows if has_all(title, text)), limit))


def _said(connection: sqlite3.Connection, text: str, *, deleted: bool) -> dict[str, Match]:
    """Chats with the words in a message, the best first."""
    wanted = [word.casefold() for word in words_of(text)]
    best: dict[str, tuple[float, int]] = {}
    counts: Counter[str] = Counter()
    for number, chat, content in _newest(connection, text, deleted=deleted):
        counts[chat] += 1
        best[chat] = max(best.get(chat, (0.0, 0)), (_score(content, wanted), number))
    order = sorted(best, key=best.__getitem__, reverse=True)
    return {chat: Match(chat, best[chat][1], counts[chat]) for chat in order}


def _brought(connection: sqlite3.Connection, text: str, *, deleted: bool) -> dict[str, Match]:
    """Chats with the words in a message and its files, the newest first. The files may be large, so none is read."""
    if FILES not in _tables(connection):
        return {}
    newest: dict[str, int] = {}
    counts: Counter[str] = Counter()
    for number, chat, _ in _matching(connection, FILES, as_query(text), deleted=deleted).fetchmany(_FILES_LISTED):
        counts[chat] += 1
        newest.setdefault(chat, number)
    return {chat: Match(chat, number, counts[chat], in_files=True) for chat, number in newest.items()}


def _newest(connection: sqlite3.Connection, text: str, *, deleted: bool) -> list[_Row]:
    """The newest messages that match.

    The index goes through all messages that have a word with some beginning before it gives the first of them, if it
    does not know that beginning (it knows those of two and three letters). So where very many messages have one with
    the first three letters, those are looked at one by one.
    """
    last = words_of(text)[-1]
    if is_begun(text) and len(last) > _KNOWN_LETTERS and last.isascii() and last.isalnum():
        wider = as_query(text.removesuffix(last) + last[:_KNOWN_LETTERS])
        found = _narrowed(_matching(connection, WORDS, wider, deleted=deleted), patterns(text)[-1])
        if found is not None:
            return found
    return _matching(connection, WORDS, as_query(text), deleted=deleted).fetchmany(_RANKED)


def _narrowed(candidates: sqlite3.Cursor, word: re.Pattern[str]) -> list[_Row] | None:
    """Those of the candidates that have a word; None where the index finds them sooner: few are there, or have it."""
    some = candidates.fetchmany(_SAMPLE)
    if len(some) == _SAMPLE and _SAMPLE * some[0][0] < _VERY_MANY * (some[0][0] - some[-1][0]):
        return None
    found: list[_Row] = []
    seen = 0
    while some and len(found) < _RANKED:
        found += [row for row in some if word.search(fold(row[2]))]
        seen += len(some)
        if len(found) * _SCARCE < seen:
            return None
        some = candidates.fetchmany(_SAMPLE)
    return found[:_RANKED]


def _matching(connection: sqlite3.Connection, index: str, question: str, *, deleted: bool) -> sqlite3.Cursor:
    """Rows of messages, the newest first."""
    # Of very many matches few are deleted: they are put aside before their messages are looked at.
    trashed = "SELECT number FROM chat CROSS JOIN message ON chat_id = chat.id WHERE deleted_at IS NOT NULL"
    among = f" AND +{index}.rowid IN ({trashed})" if deleted else ""
    return connection.execute(
        f"SELECT number, chat_id, content FROM {index} CROSS JOIN message ON number = {index}.rowid"
        f" CROSS JOIN chat ON chat.id = chat_id WHERE {index} MATCH ?{among} AND {_is(deleted)}"
        f" ORDER BY {index}.rowid DESC",
        (question,),
    )


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
