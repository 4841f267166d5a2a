"""Deleted chats are really gone some days later, a few at a time, and what was not deleted stays."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from mtpchat.chats import Deleted, Pinned, Titled
from mtpchat.store import reading, search
from mtpchat.store.chat_store import ChatStore
from mtpchat.store.purging import purge, purge_old
from tests.store.talk import Talk, looked_up, settled

OPEN = Callable[..., ChatStore]
DAY_S = 86_400.0


def ids(path: Path) -> tuple[list[str], list[str]]:
    """(kept, deleted)."""
    return looked_up(
        path,
        lambda connection: (
            [line.id for line in reading.recent(connection, 99)],
            [line.id for line in reading.deleted(connection, 99)],
        ),
    )


def test_chats_that_were_deleted_long_ago_go_with_the_next_thing_that_is_written(open_store: OPEN, path: Path) -> None:
    first = open_store()
    for chat in ("old000000000", "young0000000", "alive0000000"):
        Talk(first, chat).turn("Where are the otters?", f"In {chat}.")
    first.put(Deleted("old000000000", time.time() - 31 * DAY_S))
    first.put(Deleted("young0000000", time.time() - 29 * DAY_S))
    assert first.close() == ""
    second = open_store(keep_deleted_s=30 * DAY_S)
    Talk(second, "more00000000").turn("Anything?", "No.")
    settled(second)
    second.close()
    kept, deleted = ids(path)
    assert set(kept) == {"alive0000000", "more00000000"}
    assert deleted == ["young0000000"]
    assert len(looked_up(path, lambda c: reading.find(c, "otters", 9, deleted=True))) == 1
    assert b"In old000000000." not in path.read_bytes()


def test_without_a_limit_deleted_chats_stay(open_store: OPEN, path: Path) -> None:
    store = open_store()
    Talk(store, "old000000000").turn("One?", "1.")
    store.put(Deleted("old000000000", 1.0))
    Talk(store, "more00000000").turn("Anything?", "No.")
    settled(store)
    assert ids(path) == (["more00000000"], ["old000000000"])


def test_a_chat_that_is_gone_on_with_is_deleted_no_longer(open_store: OPEN, path: Path) -> None:
    store = open_store(keep_deleted_s=0.0)
    talk = Talk(store)
    talk.turn("One?", "1.")
    store.put(Deleted(talk.chat, 1.0))
    talk.turn("Two?", "2.")
    settled(store)
    assert ids(path) == ([talk.chat], [])


@pytest.mark.parametrize("turns", [1, 700])
def test_a_long_chat_goes_whole(store: ChatStore, path: Path, turns: int) -> None:
    """Deeper than SQLite would follow from one message to those behind it."""
    talk = Talk(store)
    for number in range(turns):
        talk.turn(f"otter {number}?", "badger")
    store.put(Deleted(talk.chat, 1.0))
    settled(store)
    assert store.ask(lambda connection: purge(connection, [talk.chat])).result(20) == 1
    counts = looked_up(
        path,
        lambda c: [c.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in ("chat", "message", "turn")],
    )
    assert counts == [0, 0, 0]
    assert looked_up(path, lambda c: c.execute("SELECT count(*) FROM words WHERE words MATCH 'otter'").fetchone()) == (
        0,
    )


def test_what_is_not_deleted_or_not_there_is_left_alone(store: ChatStore, path: Path) -> None:
    Talk(store).turn("One?", "1.")
    settled(store)
    assert store.ask(lambda c: purge(c, ["aaaa00000001", "nowhere"])).result(20) == 0
    assert len(ids(path)[0]) == 1


def test_many_go_a_few_at_a_time(store: ChatStore, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mtpchat.store.purging._MOST_MESSAGES", 5)
    for number in range(6):
        Talk(store, f"chat{number:08}").turn("One?", "1.")
        store.put(Deleted(f"chat{number:08}", float(number)))
    settled(store)
    gone = [store.ask(lambda c: purge_old(c, 9.0)).result(20) for _ in range(4)]
    assert gone == [2, 2, 2, 0]


def test_without_full_text_search_nothing_goes_whose_words_would_stay(
    store: ChatStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Talk(store).turn("One?", "1.")
    store.put(Deleted("aaaa00000001", 1.0))
    settled(store)
    monkeypatch.setattr(search, "has_search", lambda connection: False)
    assert store.ask(lambda c: purge_old(c, 9.0)).result(20) == 0


def test_titles_of_the_model_never_replace_one_of_the_user_and_pins_come_first(store: ChatStore, path: Path) -> None:
    Talk(store, "one000000000").turn("One?", "1.", at=1.0)
    Talk(store, "two000000000").turn("Two?", "2.", at=2.0)
    store.put(Titled("one000000000", "By the model"))
    store.put(Titled("one000000000", "By the model again"))
    store.put(Pinned("one000000000", True))
    settled(store)
    assert ids(path)[0] == ["one000000000", "two000000000"]
    line = looked_up(path, lambda c: reading.line(c, "one0"))
    assert (line.title, line.named, line.pinned) == ("By the model again", True, True)
