"""Files of every older version become files of this one, and a migration that fails changes nothing."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from mtpchat.chats import Pinned, Renamed
from mtpchat.errors import StorageError
from mtpchat.store import reading
from mtpchat.store.chat_store import ChatStore
from mtpchat.store.database import is_damage, is_sound, open_database, open_for_reading
from mtpchat.store.glimpse import glimpse
from mtpchat.store.schema import APPLICATION_ID, MIGRATIONS, migrate
from tests.store.talk import Talk, settled

FIRST_CHATS = """
INSERT INTO chat (id, title, created, updated, leaf) VALUES ('abcd', 'Old', 1, 2, 'm2');
INSERT INTO message (id, chat_id, parent_id, role, content, created, complete)
    VALUES ('m1', 'abcd', NULL, 'user', 'Q', 1, 1);
INSERT INTO message (id, chat_id, parent_id, role, content, created, complete)
    VALUES ('m2', 'abcd', 'm1', 'assistant', 'A', 1, 1);
INSERT INTO turn (id, message_id, started, model, model_name, drafter, kind, sampling, seed, system)
    VALUES ('t', 'm2', 1, '/m', 'M', '', 'none', '{}', 3, 'S')
"""
"""What a file of version 1 may hold; never edited, like the migrations."""


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(tmp_path / "x.db", isolation_level=None)) as opened:
        yield opened


def schema(connection: sqlite3.Connection) -> list[str]:
    return [row[0] for row in connection.execute("SELECT sql FROM sqlite_master WHERE sql != '' ORDER BY name")]


def version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


@pytest.mark.parametrize("old", range(len(MIGRATIONS) + 1))
def test_a_file_of_any_older_version_is_brought_up_to_date_with_its_chats(tmp_path: Path, old: int) -> None:
    path = tmp_path / "chats.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        migrate(connection, MIGRATIONS[:old])
        assert version(connection) == old
        if old:
            connection.executescript(FIRST_CHATS)
    with closing(open_database(path)) as opened, closing(sqlite3.connect(":memory:", isolation_level=None)) as fresh:
        migrate(fresh)
        assert schema(opened) == schema(fresh)
        assert opened.execute("PRAGMA foreign_key_check").fetchall() == []
        assert opened.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
        if old:
            kept = reading.load(opened, "abcd")
            assert [said.content for said in kept.path] == ["Q", "A"]
            assert (kept.system, kept.seed) == ("S", 3)


def test_a_migration_that_fails_half_way_leaves_the_version_before(connection: sqlite3.Connection) -> None:
    migrate(connection)
    before = schema(connection)
    broken = (*MIGRATIONS, "CREATE TABLE more (x);\nINSERT INTO nowhere VALUES (1)")
    with pytest.raises(sqlite3.OperationalError, match="nowhere"):
        migrate(connection, broken)
    assert (schema(connection), version(connection)) == (before, len(MIGRATIONS))
    migrate(connection, (*MIGRATIONS, "CREATE TABLE more (x);\nINSERT INTO more VALUES (1)"))
    assert version(connection) == len(MIGRATIONS) + 1


def test_many_programs_that_open_a_new_file_at_once_migrate_it_once(tmp_path: Path) -> None:
    path, faults = tmp_path / "chats.db", list[BaseException]()

    def open_it() -> None:
        try:
            open_database(path, busy_s=20.0).close()
        except (sqlite3.Error, StorageError) as fault:
            faults.append(fault)

    threads = [threading.Thread(target=open_it) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []


@pytest.mark.parametrize("statement", ["PRAGMA user_version = 99", "PRAGMA application_id = 7", "CREATE TABLE t (x)"])
def test_files_of_newer_versions_and_other_programs_are_refused_kindly_and_unchanged(
    tmp_path: Path, statement: str
) -> None:
    path = tmp_path / "chats.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        if "version" in statement:
            migrate(connection)
        connection.execute(statement)
    before = path.read_bytes()
    with pytest.raises(StorageError) as caught:
        open_database(path)
    assert caught.value.hint
    assert path.read_bytes() == before


def test_a_file_of_version_1_is_listed_searched_and_gone_on_with(tmp_path: Path) -> None:
    path = tmp_path / "chats.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        migrate(connection, MIGRATIONS[:1])
        connection.executescript(FIRST_CHATS)
    store = ChatStore(path)
    talk = Talk(store, "new000000000")
    talk.turn("And now?", "Otters.")
    (hit,) = store.ask(lambda connection: reading.find(connection, "old", 9)).result(20)
    assert (hit.line.id, hit.line.model, hit.line.named) == ("abcd", "M", False)
    assert store.ask(lambda connection: glimpse(connection, "abcd")).result(20).passages[-1].text == "A"
    store.put(Renamed("abcd", "Renamed"))
    store.put(Pinned("abcd", True))
    assert store.close() == ""
    with closing(open_database(path)) as opened:
        assert [line.title for line in reading.recent(opened, 9)] == ["Renamed", "And now?"]
        assert reading.whole(opened, "abcd")["messages"][1]["attachments"] == []  # type: ignore[index]


@pytest.mark.parametrize("old", range(1, len(MIGRATIONS)))
def test_a_file_of_an_older_version_can_be_read_where_it_may_not_be_written(tmp_path: Path, old: int) -> None:
    path = tmp_path / "chats.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        migrate(connection, MIGRATIONS[:old])
        connection.executescript(FIRST_CHATS)
    before = path.read_bytes()
    with closing(open_for_reading(path)) as opened:
        assert [said.content for said in reading.load(opened, "abcd").path] == ["Q", "A"]
        assert [line.title for line in reading.recent(opened, 9)] == ["Old"]
    assert path.read_bytes() == before


def test_an_older_program_that_has_the_file_open_goes_on_writing_and_loses_nothing(tmp_path: Path) -> None:
    """Columns are only ever added, with defaults: what the older version writes is whole for the newer one."""
    path = tmp_path / "chats.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as older:
        migrate(older, MIGRATIONS[:1])
        older.execute("PRAGMA journal_mode = WAL")
        older.executescript(FIRST_CHATS)
        with closing(open_database(path)) as newer:
            assert version(newer) == len(MIGRATIONS)
            older.execute(
                "INSERT INTO message (id, chat_id, parent_id, role, content, created, complete)"
                " VALUES ('m3', 'abcd', 'm2', 'user', 'More?', 3, 1)"
            )
            older.execute("UPDATE chat SET leaf = 'm3' WHERE id = 'abcd'")
            assert [said.content for said in reading.load(newer, "abcd").path] == ["Q", "A", "More?"]


def test_an_older_program_that_opens_the_file_anew_says_so_and_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "chats.db"
    open_database(path).close()
    before = path.read_bytes()
    with closing(sqlite3.connect(path, isolation_level=None)) as older:
        with pytest.raises(StorageError, match="newer mtpchat") as caught:
            migrate(older, MIGRATIONS[:1])
        assert "Install that version" in caught.value.hint
    assert path.read_bytes() == before


def test_words_that_a_version_wrote_which_this_one_does_not_know_wait_in_their_file(tmp_path: Path) -> None:
    """What a newer version could not save is not for an older one to understand, and not for it to throw away."""
    path = tmp_path / "chats.db"
    open_database(path).close()
    unsaved = path.with_name("chats.db.unsaved-20260101-000000-abcdef.jsonl")
    unsaved.write_text('{"type": "SomethingNew", "chat": "abcd"}\n')
    store = ChatStore(path)
    settled(store)
    store.close()
    (kept,) = tmp_path.glob("*.unreadable")
    assert "SomethingNew" in kept.read_text()


def test_a_damaged_table_whose_description_is_no_text_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "chats.db"
    open_database(path).close()
    whole = path.read_bytes()
    at = whole.index(b"CREATE TABLE chat")
    path.write_bytes(whole[: at + 7] + b"\x97\xff\x97" + whole[at + 10 :])
    for opened in (open_database, lambda place: sqlite3.connect(place)):
        with pytest.raises(sqlite3.DatabaseError) as raised, closing(opened(path)) as connection:
            migrate(connection)
        assert is_damage(raised.value)
    assert not is_sound(path)
    with pytest.raises(StorageError, match="is damaged"):
        open_for_reading(path)
