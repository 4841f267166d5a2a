"""Nothing ends the thread that writes, and what cannot be written is on some disk all the time."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mtpchat.chats import OptionsSet, Renamed
from mtpchat.errors import MtpChatError
from mtpchat.stats import TurnStats
from mtpchat.store import reading, rescue
from mtpchat.store.chat_store import ChatStore
from mtpchat.store.database import explain
from mtpchat.store.figures import figures
from tests.store.talk import Talk, looked_up, settled
from tests.store.test_trouble import SmallDisk, Told, shown, write_lock

OPEN = Callable[..., ChatStore]

CELLS = [
    ("message", "attachments", "{not json"),
    ("message", "attachments", '[{"name": 1}]'),
    ("message", "content", b"\xff\xfe"),
    ("message", "created", "yesterday"),
    ("chat", "title", b"\xff"),
    ("chat", "updated", 1e300),
    ("chat", "options", "nope"),
    ("chat", "leaf", "nowhere"),
    ("turn", "stats", "}{"),
    ("turn", "sampling", "}{"),
]


@pytest.mark.parametrize(("table", "column", "value"), CELLS)
def test_a_cell_that_makes_no_sense_costs_no_other_chat(
    open_store: OPEN, path: Path, table: str, column: str, value: object
) -> None:
    first = open_store()
    Talk(first).turn("One?", "1.")
    first.close()
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(f"UPDATE {table} SET {column} = ?", (value,))
    store = open_store()
    asyncio.run(everything_asked(store))
    talk = Talk(store, "after0000000")
    talk.turn("Still there?", "Yes.")
    settled(store)
    assert shown(path, talk.chat) == talk.path
    assert store.close() == ""


async def everything_asked(store: ChatStore) -> None:
    """What the app asks; each question is answered, or refused in words."""
    for ask in (lambda: store.recent(9), lambda: store.find("one", 9), lambda: store.glimpse("aaaa00000001", "one")):
        with suppress(MtpChatError):
            await asyncio.wait_for(ask(), 20)
    with suppress(MtpChatError):
        found = await asyncio.wait_for(store.open("aaaa"), 20)
        assert all(isinstance(said.content, str) for said in found.path)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(flips=st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(1, 255)), min_size=1, max_size=12))
def test_a_file_with_bytes_changed_anywhere_ends_no_thread_and_costs_nothing_that_is_said_now(
    tmp_path_factory: pytest.TempPathFactory, flips: list[tuple[float, int]]
) -> None:
    path = tmp_path_factory.mktemp("flips") / "chats.db"
    first = ChatStore(path)
    talk = Talk(first)
    for number in range(6):
        talk.turn(f"One question {number}?", "An answer. " * 200)
    first.close()
    content = bytearray(path.read_bytes())
    for place, flip in flips:
        content[int(place * len(content))] ^= flip
    path.write_bytes(content)
    store = ChatStore(path, flush_s=0.01, retry_s=0.01, busy_s=0.05)
    asyncio.run(everything_asked(store))
    new = Talk(store, "after0000000")
    new.turn("Still there?", "Yes.")
    assert "may not have been saved" not in store.close()
    texts = [said.content for said in shown(path, new.chat)] if not rescue.waiting(path) else []
    assert texts == ["Still there?", "Yes."] or "Still there?" in rescue.waiting(path)[0].read_text()


def test_a_question_that_fails_is_refused_and_the_next_one_is_answered(open_store: OPEN) -> None:
    store = open_store()
    Talk(store).turn("One?", "1.")
    with pytest.raises(MtpChatError, match="makes no sense"):
        store.ask(lambda connection: dict[str, int]()["nothing"]).result(20)
    assert store.ask(lambda connection: reading.recent(connection, 1)).result(20)[0].messages == 2


def test_what_cannot_be_written_is_on_the_disk_before_the_end_and_is_gone_when_it_is_written(
    open_store: OPEN, path: Path
) -> None:
    store = open_store()
    told = Told(store)
    talk = Talk(store)
    talk.turn("One?", "1.")
    settled(store)
    with write_lock(path):
        talk.turn("Two?", "2.")
        told.wait("locked")
        settled(store)
        (kept,) = rescue.waiting(path)
        assert "Two?" in kept.read_text()
        talk.turn("Three?", "3.")
        settled(store)
        (kept,) = rescue.waiting(path)
        assert "Two?" in kept.read_text()
        assert "Three?" in kept.read_text()
    told.wait("saved again")
    settled(store)
    assert rescue.waiting(path) == []
    assert shown(path, talk.chat) == talk.path
    assert not any("last time" in sentence for sentence in told.sentences)


def test_what_waits_after_a_kill_on_a_full_disk_is_read_back(open_store: OPEN, path: Path) -> None:
    store = open_store(tune=SmallDisk(60))
    told = Told(store)
    talk = Talk(store)
    talk.turn("One?", "1.")
    talk.turn("Two?", "y" * 500_000)
    told.wait("disk is full")
    settled(store)
    later = open_store()  # as if the first one had been killed
    Talk(later, "another00000").turn("Hello?", "Hi.")
    settled(later)
    assert shown(path, talk.chat) == talk.path
    assert store.close() == "" or rescue.waiting(path)


def test_a_file_that_is_deleted_while_the_app_runs_is_told_and_the_chat_is_in_the_new_one(
    open_store: OPEN, path: Path
) -> None:
    store = open_store()
    told = Told(store)
    talk = Talk(store)
    talk.turn("One?", "1.")
    settled(store)
    for one in path.parent.iterdir():
        one.unlink()
    settled(store)
    assert str(path) in told.wait("no longer")
    assert shown(path, talk.chat) == talk.path


def test_a_file_that_is_deleted_after_the_last_word_is_there_again_at_the_end(open_store: OPEN, path: Path) -> None:
    store = open_store()
    talk = Talk(store)
    talk.turn("One?", "1.")
    settled(store)
    for one in path.parent.iterdir():
        one.unlink()
    assert store.close() == ""
    assert shown(path, talk.chat) == talk.path


def test_half_of_a_surrogate_pair_is_rescued_with_the_rest(open_store: OPEN, path: Path) -> None:
    path.mkdir(parents=True)
    store = open_store()
    talk = Talk(store)
    talk.turn("Broken \ud83d paste?", "Fine.")
    assert "kept in" in store.close()
    path.rmdir()
    later = open_store()
    settled(later)
    assert [said.content for said in shown(path, talk.chat)] == ["Broken ? paste?", "Fine."]


def test_file_systems_without_locks_are_named(path: Path) -> None:
    for code in (sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_IOERR_LOCK):
        error = sqlite3.OperationalError("locking protocol")
        error.sqlite_errorcode = code
        told = explain(error, path)
        assert "network drive" in told.message
        assert "[paths]" in told.hint


def test_a_chat_that_was_purged_by_another_instance_is_there_with_its_next_answer(open_store: OPEN, path: Path) -> None:
    mine, other = open_store(), open_store()
    talk = Talk(mine)
    talk.turn("One?", "1.")
    settled(mine)
    other.ask(lambda connection: connection.execute("DELETE FROM message")).result(20)
    other.ask(lambda connection: connection.execute("DELETE FROM chat")).result(20)
    begun = talk.begin("Two?")
    talk.grow(begun, "2")
    talk.end(begun, "2.")
    settled(mine)
    assert looked_up(path, lambda connection: reading.load(connection, talk.chat)).path == talk.path


def test_a_rescue_file_full_of_lines_that_are_none_is_one_line_of_the_log(
    open_store: OPEN, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path.parent.mkdir()
    damaged = path.with_name("chats.db.unsaved-20260101-000000-123456.jsonl")
    damaged.write_bytes(b"\n" * 5000)
    settled(open_store())
    assert sum("cannot be read" in record.message for record in caplog.records) == 1


def test_choices_that_are_made_while_the_first_turn_cannot_be_written_are_not_lost(
    open_store: OPEN, path: Path
) -> None:
    path.mkdir(parents=True)
    store = open_store()
    told = Told(store)
    talk = Talk(store)
    begun = talk.begin("One?")
    told.wait("may not be written")
    store.put(OptionsSet(talk.chat, {"overflow": "drop"}))
    store.put(Renamed(talk.chat, "Mine"))
    talk.end(begun, "1.")
    path.rmdir()
    told.wait("saved again")
    kept = looked_up(path, lambda connection: reading.load(connection, talk.chat))
    assert (kept.path, kept.options.overflow, kept.line.title) == (talk.path, "drop", "Mine")


def test_the_answer_is_on_the_disk_as_soon_as_it_has_ended_also_when_its_beginning_was_there_already(
    open_store: OPEN, path: Path
) -> None:
    store = open_store()
    told = Told(store)
    talk = Talk(store)
    talk.turn("One?", "1.")
    settled(store)
    with write_lock(path):
        begun = talk.begin("Two?")
        told.wait("locked")
        settled(store)
        talk.end(begun, "Twice as much.")
        settled(store)
        (kept,) = rescue.waiting(path)
        assert "Twice as much." in kept.read_text()


def test_a_cell_that_makes_no_sense_below_a_journal_does_not_keep_the_file_from_being_opened(
    open_store: OPEN, path: Path
) -> None:
    first = open_store()
    talk = Talk(first)
    talk.grow(talk.begin("One?"), "Half an")
    first.close()
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("UPDATE message SET content = ?, thinking = ?", (b"\xff", b"\xfe"))
    store = open_store()
    new = Talk(store, "after0000000")
    new.turn("Still there?", "Yes.")
    settled(store)
    assert shown(path, new.chat) == new.path


@pytest.mark.parametrize(("column", "value"), [("content", b"\xff"), ("ended", "yesterday"), ("ended", 1e300)])
def test_an_old_row_that_cannot_be_counted_does_no_harm_to_what_is_said_now(
    open_store: OPEN, path: Path, column: str, value: object
) -> None:
    first = open_store()
    Talk(first).turn("One?", "1.")
    first.close()
    stats = msgspec.json.encode(TurnStats(output_tokens=5, steps=5, decode_s=1.0)).decode()
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("UPDATE turn SET counted = 0, stats = ?", (stats,))
        table = "turn" if column == "ended" else "message"
        connection.execute(f"UPDATE {table} SET {column} = ?", (value,))
    store = open_store()
    talk = Talk(store, "after0000000")
    talk.turn("Still there?", "Yes.")
    settled(store)
    assert shown(path, talk.chat) == talk.path
    assert looked_up(path, figures)[0].sums.output_tokens == 5
