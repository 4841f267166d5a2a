"""Deleted chats are really gone some days later, a few at a time, and what was not deleted stays."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from mtpchat.chats import Deleted, Pinned, Renamed, Titled
from mtpchat.messages import Attachment
from mtpchat.store import chores, reading, search
from mtpchat.store.chat_store import ChatStore
from mtpchat.store.database import open_database
from mtpchat.store.purging import purge, purge_old, wipe
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
    assert store.ask(lambda connection: purge(connection, [talk.chat])).result(20) == [talk.chat]
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
    assert store.ask(lambda c: purge(c, ["aaaa00000001", "nowhere"])).result(20) == []
    assert len(ids(path)[0]) == 1


def test_many_go_a_few_at_a_time(store: ChatStore, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mtpchat.store.purging._MOST_MESSAGES", 5)
    for number in range(6):
        Talk(store, f"chat{number:08}").turn("One?", "1.")
        store.put(Deleted(f"chat{number:08}", float(number)))
    settled(store)
    gone = [len(store.ask(lambda c: purge_old(c, 9.0)).result(20)) for _ in range(4)]
    assert gone == [2, 2, 2, 0]


def test_without_full_text_search_nothing_goes_whose_words_would_stay(
    store: ChatStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Talk(store).turn("One?", "1.")
    store.put(Deleted("aaaa00000001", 1.0))
    settled(store)
    monkeypatch.setattr(search, "has_search", lambda connection: False)
    assert store.ask(lambda c: purge_old(c, 9.0)).result(20) == []


def secrets_of(store: ChatStore, chat: str) -> list[bytes]:
    """A chat with a word of its own in each place that keeps words; gives those words."""
    words = [f"{place}{chat}" for place in ("titled", "asked", "thought", "answered", "system", "filename", "filetext")]
    title, asked, thought, answered, system, name, text = words
    talk = Talk(store, chat, system=system)
    begun = talk.begin(asked)
    files = (Attachment(f"{name}.txt", f"{text} " * 3000),)
    asked_with = msgspec.structs.replace(begun.path[0], id=f"{chat}-files", attachments=files)
    store.put(msgspec.structs.replace(begun, path=(asked_with,), answer=f"{chat}-b", turn=f"{chat}-t"))
    for channel in ("answer", "thinking"):
        for _ in range(60):  # so much that pages of the journal become free
            talk.grow(begun, f"{answered if channel == 'answer' else thought} " * 40, channel)
        settled(store)
    talk.end(begun, f"{answered} " * 2400, thinking=f"{thought} " * 2400)
    store.put(Renamed(chat, title))
    settled(store)
    return [word.encode() for word in words]


def traces(folder: Path, words: Iterable[bytes]) -> set[bytes]:
    """Words that are still in some file."""
    files = [one.read_bytes() for one in folder.rglob("*") if one.is_file()]
    return {word for word in words if any(word in content for content in files)}


def test_no_word_of_a_chat_that_is_gone_for_good_is_left_on_the_disk(open_store: OPEN, path: Path) -> None:
    store = open_store(flush_s=0.0)
    Talk(store, "stays0000000").turn("Still here?", "Yes. " * 500)
    words = secrets_of(store, "gone00000000")
    assert traces(path.parent, words) == set(words)
    store.put(Deleted("gone00000000", 1.0))
    assert store.ask(lambda c: (purge(c, ["gone00000000"]), wipe(c))).result(20) == (["gone00000000"], True)
    assert traces(path.parent, words) == set(), "while the file is open"
    assert store.close() == ""
    assert traces(path.parent, words) == set()
    assert len(looked_up(path, lambda c: reading.find(c, "still here", 9))) == 1


def test_what_goes_by_itself_leaves_no_word_either(open_store: OPEN, path: Path) -> None:
    first = open_store(flush_s=0.0)
    words = secrets_of(first, "gone00000000")
    first.put(Deleted("gone00000000", 1.0))
    first.close()
    forgotten: list[str] = []
    second = open_store(keep_deleted_s=0.0, forget=forgotten.append)
    Talk(second, "more00000000").turn("Anything?", "No.")
    settled(second)
    while looked_up(path, chores.anything_left):
        pass
    assert second.close() == ""
    assert traces(path.parent, words) == set()
    assert forgotten == ["gone00000000"]


def test_a_reader_of_the_log_is_told_of(open_store: OPEN, path: Path) -> None:
    store = open_store()
    talk = Talk(store)
    talk.turn("One?", "1.")
    store.put(Deleted(talk.chat, 1.0))
    settled(store)
    with closing(open_database(path)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM message").fetchone()
        assert store.ask(lambda c: (purge(c, [talk.chat]), wipe(c))).result(20) == ([talk.chat], False)
    assert store.ask(wipe).result(20)


def test_what_else_is_kept_of_a_chat_goes_with_it_and_comes_back_with_it(open_store: OPEN, path: Path) -> None:
    told: list[str] = []
    store = open_store(
        forget=lambda chat: told.append(f"forget {chat}"), allow=lambda chat: told.append(f"allow {chat}")
    )
    talk = Talk(store)
    talk.turn("One?", "1.")
    store.put(Deleted(talk.chat, 1.0))
    store.put(Deleted(talk.chat, None))
    store.put(Deleted(talk.chat, 2.0))
    talk.turn("Two?", "2.")
    talk.turn("Three?", "3.")
    settled(store)
    assert told == [f"{what} {talk.chat}" for what in ("forget", "allow", "forget", "allow")]


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
