"""What may wait is done in short pieces, while nothing else is to be done, and gone on with by the next run."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from mtpchat.store import chores, reading, search
from mtpchat.store.chat_store import ChatStore
from mtpchat.store.database import open_database, transaction
from mtpchat.store.schema import MIGRATIONS, migrate
from mtpchat.store.scribe import Scribe
from mtpchat.store.settling import settle
from tests.store.talk import Talk, settled
from tests.store.test_scribe import Noted

OPEN = Callable[..., ChatStore]


@pytest.fixture
def connection(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(open_database(path)) as opened:
        with transaction(opened, durable=False):
            search.prepare(opened)
        yield opened


def fill(connection: sqlite3.Connection, chats: int, messages: int) -> None:
    connection.execute("BEGIN")
    for chat in range(chats):
        connection.execute(
            "INSERT INTO chat (id, title, created, updated, leaf) VALUES (?, 'T', 1, ?, ?)",
            (f"chat{chat:04}", chat, f"{chat}-{messages - 1}"),
        )
        connection.executemany(
            "INSERT INTO message (id, chat_id, parent_id, role, content, created, complete)"
            " VALUES (?, ?, ?, 'user', 'otter', 1, 1)",
            (
                (f"{chat}-{number}", f"chat{chat:04}", f"{chat}-{number - 1}" if number else None)
                for number in range(messages)
            ),
        )
    connection.execute("COMMIT")


def test_branches_of_an_older_version_are_counted_by_and_by(tmp_path: Path) -> None:
    path = tmp_path / "chats.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as older:
        migrate(older, MIGRATIONS[:3])
        fill(older, 120, 3)
    with closing(open_database(path)) as connection:
        settle(connection, path)
        assert [line.messages for line in reading.recent(connection, -1)] == [3] * 120
        assert chores.catch_up(connection, 20.0)
        left = connection.execute("SELECT count(*) FROM chat JOIN message ON message.id = leaf WHERE depth IS NOT 3")
        assert left.fetchone() == (0,)
        assert connection.execute("SELECT * FROM chore").fetchall() == []


def test_however_much_is_not_indexed_it_is_in_the_end(connection: sqlite3.Connection, path: Path) -> None:
    fill(connection, 1, 2500)
    settle(connection, path)
    assert chores.anything_left(connection)
    assert chores.catch_up(connection, 20.0)
    assert not chores.anything_left(connection)
    assert [hit.count for hit in reading.find(connection, "otter", 5)] == [search._RANKED]


def test_a_piece_leaves_the_file_to_others_in_between(connection: sqlite3.Connection, path: Path) -> None:
    fill(connection, 3, 300)
    with closing(sqlite3.connect(path, timeout=0.0, isolation_level=None)) as other:
        while chores.step(connection):
            other.execute("UPDATE chat SET pinned = 1 - pinned")


def test_what_one_run_leaves_the_next_one_does(open_store: OPEN, path: Path, connection: sqlite3.Connection) -> None:
    fill(connection, 1, 1500)
    assert chores.step(connection)
    store = open_store()
    settled(store)
    while chores.anything_left(connection):
        pass
    assert unindexed(connection) == 0


def test_without_full_text_search_nothing_is_tried_over_and_over(
    connection: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(connection, 1, 30)
    connection.execute("INSERT INTO chore VALUES ('files', 30)")
    monkeypatch.setattr(search, "has_search", lambda connection: False)
    assert not chores.step(connection)
    assert chores.anything_left(connection), "another build of Python does it"


def unindexed(connection: sqlite3.Connection) -> int:
    (count,) = connection.execute("SELECT count(*) FROM message WHERE indexed != 1 AND content != ''").fetchone()
    return int(count)


def test_a_turn_is_not_disturbed(path: Path, connection: sqlite3.Connection) -> None:
    fill(connection, 1, 1500)
    noted = Noted()
    talk = Talk(noted)  # type: ignore[arg-type]
    begun = talk.begin("Why?")
    scribe = Scribe(path, lambda sentence: None, flush_s=1000.0, retry_s=1000.0, busy_s=5.0)
    scribe.take(begun)
    scribe.work()
    left = unindexed(connection)
    assert left > 100
    assert scribe.pause_s() is None
    scribe.work()
    assert unindexed(connection) == left
    talk.end(begun, "So.")
    scribe.take(noted.changes[-1])  # type: ignore[arg-type]
    scribe.work()
    assert scribe.pause_s()
    while scribe.pause_s() is not None:
        scribe.work()
    assert not chores.anything_left(connection)
    assert scribe.close() == ""
