"""Words are found in the files that messages brought along, in their names and in their texts."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from mtpchat.chats import Deleted, Glimpse, Hit, Said, TurnEnded
from mtpchat.messages import Attachment
from mtpchat.store import chores, reading, search
from mtpchat.store.chat_store import ChatStore
from mtpchat.store.database import open_database
from mtpchat.store.glimpse import glimpse
from mtpchat.store.purging import purge
from mtpchat.store.schema import MIGRATIONS, migrate
from mtpchat.store.settling import settle
from tests.store.talk import Talk, looked_up, settled

OPEN = Callable[..., ChatStore]
BUDGET = Attachment("budget.csv", "rent;500\nheating;90\nnaïve;1")
PLAN = Attachment("plan.md", "# Journey\n\nTo the sea, with heating.")


def bring(store: ChatStore, *files: Attachment, said: str = "Look at this", chat: str = "files0000000") -> None:
    begun = Talk(store, chat).begin("")
    asked = Said(f"{chat}-asked", "", "user", said, created=1000.0, attachments=files)
    begun = msgspec.structs.replace(begun, path=(asked,), turn=f"{chat}-turn", answer=f"{chat}-answer")
    answer = Said(begun.answer, asked.id, "assistant", "I see.")
    store.put(TurnEnded(begun, answer, answer.id, "stop", 1001.0))
    settled(store)


def found(path: Path, text: str) -> list[Hit]:
    return looked_up(path, lambda connection: reading.find(connection, text, 20))


@pytest.mark.parametrize(
    ("text", "file"),
    [
        ("rent", "budget.csv"),
        ("BUDGET", "budget.csv"),
        ("NAIVE", "budget.csv"),
        ("journey", "plan.md"),
        ("sea heating", "plan.md"),
        ("look heating", "budget.csv"),
        ("heat", "budget.csv"),
        ("rent journey", "budget.csv"),
    ],
)
def test_the_excerpt_is_of_the_file_that_has_most_of_the_words(
    store: ChatStore, path: Path, text: str, file: str
) -> None:
    bring(store, BUDGET, PLAN)
    (hit,) = found(path, text)
    assert (hit.file, hit.role, hit.count) == (file, "user", 1)
    assert hit.snippet


def test_what_was_said_comes_before_what_stands_in_a_file(store: ChatStore, path: Path) -> None:
    bring(store, BUDGET)
    Talk(store, "said00000000").turn("The rent?", "500.")
    settled(store)
    assert [(hit.line.id, hit.file) for hit in found(path, "rent")] == [
        ("said00000000", ""),
        ("files0000000", "budget.csv"),
    ]
    assert [hit.file for hit in found(path, "look")] == [""], "no file is needed for these words"
    assert found(path, "absent") == []


def test_a_message_that_is_nothing_but_a_file_is_found(store: ChatStore, path: Path) -> None:
    bring(store, BUDGET, said="")
    assert [hit.file for hit in found(path, "heating")] == ["budget.csv"]


def test_a_look_at_the_chat_says_which_file_it_is(store: ChatStore, path: Path) -> None:
    bring(store, PLAN, BUDGET)

    def look(text: str) -> Glimpse:
        return looked_up(path, lambda connection: glimpse(connection, "files0000000", text))

    (passage,) = look("rent").passages
    assert (passage.file, passage.role) == ("budget.csv", "user")
    assert [passage.text[begin:end] for begin, end in passage.marks] == ["rent"]
    (passage,) = look("look").passages
    assert (passage.file, passage.text) == ("", "Look at this")


def test_files_of_an_older_version_are_indexed_by_and_by(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "_ROWS_AT_ONCE", 7)
    path = tmp_path / "chats.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as older:
        migrate(older, MIGRATIONS[:3])
        older.execute("CREATE VIRTUAL TABLE words USING fts5(body, content='', prefix='2 3')")
        older.execute("INSERT INTO chat (id, title, created, updated) VALUES ('old0', 'Old', 1, 1)")
        for number in range(1, 41):
            files = msgspec.json.encode((Attachment(f"n{number}.txt", "otter"),)).decode() if number % 3 == 0 else "[]"
            older.execute(
                "INSERT INTO message (number, id, chat_id, role, content, created, complete, attachments, indexed)"
                " VALUES (?, ?, 'old0', 'user', 'said', 1, 1, ?, 1)",
                (number, str(number), files),
            )
            older.execute("INSERT INTO words (rowid, body) VALUES (?, 'said')", (number,))
    with closing(open_database(path)) as connection:
        settle(connection, path)
        assert chores.anything_left(connection)
        steps = sum(1 for _ in iter(lambda: chores.step(connection), False))
        assert steps >= 40 / 7
        (hit,) = reading.find(connection, "otter", 9)
        assert hit.count == 13
        assert [hit.count for hit in reading.find(connection, "said", 9)] == [40]
        assert not chores.anything_left(connection)


def test_the_thread_that_writes_does_it_while_nothing_else_is_to_be_done(open_store: OPEN, path: Path) -> None:
    first = open_store()
    bring(first, BUDGET)
    first.close()
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("INSERT INTO files (files) VALUES ('delete-all')")
        connection.execute("INSERT INTO chore SELECT 'files', max(number) FROM message")
    store = open_store()
    settled(store)
    while not found(path, "heating"):
        pass
    assert store.close() == ""


def test_files_of_a_chat_that_is_gone_are_not_in_the_index(store: ChatStore, path: Path) -> None:
    bring(store, BUDGET)
    store.put(Deleted("files0000000", 1.0))
    assert store.ask(lambda connection: purge(connection, ["files0000000"])).result(20) == ["files0000000"]
    for index in (search.WORDS, search.FILES):
        count = f"SELECT count(*) FROM {index} WHERE {index} MATCH 'rent OR look OR heating'"
        assert looked_up(path, lambda connection, count=count: connection.execute(count).fetchone()) == (0,)  # type: ignore[misc]


def test_a_damaged_index_of_files_is_made_anew_when_it_is_searched(open_store: OPEN, path: Path) -> None:
    first = open_store()
    bring(first, BUDGET)
    first.close()
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("UPDATE files_data SET block = x'00ff00ff00ff'")
    store = open_store()
    with pytest.raises(Exception, match="index of words is damaged"):
        store.ask(lambda connection: reading.find(connection, "heating", 9)).result(20)
    settled(store)
    while not found(path, "heating"):
        pass
    assert list(path.parent.glob("*damaged*")) == []
