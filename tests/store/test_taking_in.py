"""Chats of files come whole or not at all."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from mtpchat.errors import ExchangeError
from mtpchat.store import reading, search
from mtpchat.store.database import open_database, transaction
from mtpchat.store.taking_in import outlook, take_in
from mtpchat.whole_chat import MadeTurn, Node, Taken, WholeChat

TURN = MadeTurn("t1", 5.0, 6.0, model_name="Tiny", machine="Fast CPU", system="Be brief.", stats={"output_tokens": 3})
CHAT = WholeChat(
    "chat00000001",
    "Rivers",
    1.0,
    9.0,
    leaf="c",
    messages=(
        Node("a", "user", "Why?", created=1.0),
        Node("b", "assistant", "Lazy.", "a", created=2.0, turns=(TURN,)),
        Node("c", "assistant", "Because.", "a", created=3.0),
    ),
)


@pytest.fixture
def connection(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(open_database(path)) as opened:
        with transaction(opened, durable=False):
            search.prepare(opened)
        yield opened


def counts(connection: sqlite3.Connection) -> list[int]:
    return [connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in ("chat", "message", "turn")]


def test_a_chat_comes_with_its_branches_turns_and_words(connection: sqlite3.Connection) -> None:
    with transaction(connection, durable=False):
        assert outlook(connection, CHAT) == take_in(connection, CHAT) == Taken(True, 3)
    assert reading.whole_chat(connection, CHAT.id) == CHAT
    assert [hit.line.id for hit in reading.find(connection, "lazy", 5)] == [CHAT.id]
    assert outlook(connection, CHAT) == Taken(False, 0)


@pytest.mark.parametrize("at", ["a", "b", "c"])
def test_what_fails_half_way_leaves_nothing(connection: sqlite3.Connection, at: str) -> None:
    connection.execute(
        f"CREATE TEMP TRIGGER trip BEFORE INSERT ON message WHEN new.id = '{at}' BEGIN SELECT RAISE(ABORT, 'full'); END"
    )
    with pytest.raises(sqlite3.IntegrityError), transaction(connection, durable=False):
        take_in(connection, CHAT)
    assert counts(connection) == [0, 0, 0]


def test_messages_of_another_chat_are_refused_before_anything_is_written(connection: sqlite3.Connection) -> None:
    with transaction(connection, durable=False):
        take_in(connection, CHAT)
    thief = WholeChat("chat00000002", "Mine", leaf="c", messages=(Node("n", "user", "New"), *CHAT.messages))
    with pytest.raises(ExchangeError, match="another chat"), transaction(connection, durable=False):
        take_in(connection, thief)
    assert counts(connection) == [1, 3, 1]


def test_a_deleted_chat_comes_back_only_with_something_new(connection: sqlite3.Connection) -> None:
    with transaction(connection, durable=False):
        take_in(connection, CHAT)
    connection.execute("UPDATE chat SET deleted_at = 5")
    with transaction(connection, durable=False):
        take_in(connection, CHAT)
    assert reading.recent(connection, 9) == []
    more = WholeChat(
        CHAT.id, CHAT.title, 1.0, 10.0, leaf="d", messages=(*CHAT.messages, Node("d", "user", "And?", "c"))
    )
    with transaction(connection, durable=False):
        assert take_in(connection, more) == Taken(False, 1)
    assert [line.id for line in reading.recent(connection, 9)] == [CHAT.id]
    assert [said.content for said in reading.load(connection, CHAT.id).path] == ["Why?", "Because.", "And?"]
