"""What was used last comes first and is what `--continue` opens, whatever the clock said."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from mtpchat.chats import Deleted, Pinned, Placed, Said
from mtpchat.store import reading, rescue, search
from mtpchat.store.changes import apply
from mtpchat.store.chat_store import ChatStore
from mtpchat.store.schema import migrate
from tests.store.talk import Talk, looked_up, settled
from tests.store.test_scribe import Noted

OPEN = Callable[..., ChatStore]


def order(path: Path) -> list[str]:
    return [line.id for line in looked_up(path, lambda connection: reading.recent(connection, 99))]


def last(path: Path) -> str:
    return looked_up(path, lambda connection: reading.resolve(connection, ""))


def test_a_clock_that_is_set_back_does_not_change_which_chat_is_the_last(store: ChatStore, path: Path) -> None:
    Talk(store, "before000000").turn("One?", "1.", at=5000.0)
    Talk(store, "after0000000").turn("Two?", "2.", at=100.0)
    settled(store)
    assert last(path) == "after0000000"
    assert order(path) == ["after0000000", "before000000"]
    (line, _) = looked_up(path, lambda connection: reading.recent(connection, 9))
    assert line.updated == 101.0, "what is shown is what the clock said"


@given(st.lists(st.tuples(st.integers(0, 3), st.floats(0, 4e9)), min_size=1, max_size=12))
def test_the_list_is_in_the_order_of_use_with_any_clock(uses: list[tuple[int, float]]) -> None:
    noted = Noted()
    talks = [Talk(noted, f"chat0000000{number}") for number in range(4)]  # type: ignore[arg-type]
    used: dict[str, None] = {}
    for number, at in uses:
        talks[number].turn("Why?", "So.", at=at)
        used.pop(talks[number].chat, None)
        used[talks[number].chat] = None
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        migrate(connection)
        search.prepare(connection)
        for change in noted.changes:
            apply(connection, change)  # type: ignore[arg-type]
        assert [line.id for line in reading.recent(connection, 9)] == [*reversed(used)]
        assert reading.resolve(connection, "") == next(reversed(used))


def test_a_copy_is_the_last_one_and_pins_come_before_it(store: ChatStore, path: Path) -> None:
    for number, chat in enumerate(("one000000000", "two000000000"), 1):
        Talk(store, chat).turn("Why?", "So.", at=1000.0 * number)
    store.put(Placed("copy00000000", "Why? (fork)", (Said("c1", "", "user", "Why?"),), 5.0, "one000000000"))
    store.put(Pinned("one000000000", True))
    settled(store)
    assert order(path) == ["one000000000", "copy00000000", "two000000000"]
    assert last(path) == "copy00000000"


def test_what_an_earlier_run_could_not_save_is_not_what_was_used_last(open_store: OPEN, path: Path) -> None:
    noted = Noted()
    Talk(noted, "rescued00000").turn("Lost?", "Found.", at=1500.0)  # type: ignore[arg-type]
    first = open_store()
    for number, chat in enumerate(("one000000000", "two000000000"), 1):
        Talk(first, chat).turn("Why?", "So.", at=1000.0 * number)
    first.close()
    assert rescue.keep(noted.changes, path)  # type: ignore[arg-type]
    settled(open_store())
    assert order(path) == ["two000000000", "rescued00000", "one000000000"]


def test_a_chat_that_is_deleted_while_its_answer_is_written_stays_deleted(store: ChatStore, path: Path) -> None:
    talk = Talk(store)
    begun = talk.begin("Why?")
    settled(store)
    store.put(Deleted(talk.chat, 1001.0))
    talk.end(begun, "So.")
    settled(store)
    assert order(path) == []
    talk.turn("Back?", "Yes.")
    settled(store)
    assert order(path) == [talk.chat]


def test_the_list_counts_the_branch_that_is_shown(store: ChatStore, path: Path) -> None:
    talk = Talk(store)
    talk.turn("One?", "1.")
    talk.turn("Two?", "2.")
    talk.path = talk.path[:1]
    talk.end(talk.again(), "Another 1.")
    settled(store)

    def counted() -> int:
        (line,) = looked_up(path, lambda connection: reading.recent(connection, 9))
        assert line.messages == len(looked_up(path, lambda connection: reading.load(connection, talk.chat)).path)
        return line.messages

    assert counted() == 2
    talk.turn("Three?", "3.")
    settled(store)
    assert counted() == 4
    looked_up(path, lambda connection: connection.execute("UPDATE message SET depth = NULL"))
    assert counted() == 4, "a file of an older version lacks the number"
    looked_up(path, lambda connection: connection.execute("UPDATE chat SET leaf = NULL"))
    assert counted() == 4
    looked_up(path, lambda connection: connection.execute("UPDATE chat SET leaf = 'nowhere'"))
    assert counted() == 4, "a branch that ends nowhere is not an empty chat"
