"""Full disk, locks, forbidden folders, damage, two programs at once: told once, nothing lost, written when possible."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from mtpchat.chats import Said
from mtpchat.errors import StorageError
from mtpchat.store import reading, rescue
from mtpchat.store.chat_store import ChatStore
from mtpchat.store.database import open_database
from tests.store.talk import Talk, looked_up, settled

OPEN = Callable[..., ChatStore]


class Told:
    """Sentences for the user; waits for one."""

    def __init__(self, store: ChatStore) -> None:
        self.sentences: list[str] = []
        self._changed = threading.Condition()
        store.listen(self._add)

    def _add(self, sentence: str) -> None:
        with self._changed:
            self.sentences.append(sentence)
            self._changed.notify_all()

    def wait(self, words: str) -> str:
        def found() -> str:
            return next((one for one in self.sentences if words in one), "")

        with self._changed:
            assert self._changed.wait_for(found, 20), (words, self.sentences)
            return found()


def shown(path: Path, chat: str) -> tuple[Said, ...]:
    return looked_up(path, lambda connection: reading.load(connection, chat)).path


@contextmanager
def write_lock(path: Path) -> Iterator[None]:
    with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


class SmallDisk:
    """A disk that is full at so many pages, until it is not."""

    def __init__(self, pages: int) -> None:
        self.pages = pages

    def __call__(self, connection: sqlite3.Connection) -> None:
        connection.execute(f"PRAGMA max_page_count = {self.pages}")


def test_a_full_disk_is_told_once_and_everything_is_written_when_there_is_room(open_store: OPEN, path: Path) -> None:
    disk = SmallDisk(60)
    store = open_store(tune=disk)
    told = Told(store)
    talk = Talk(store)
    talk.turn("One?", "1.")
    settled(store)
    begun = talk.begin("Two?")
    talk.grow(begun, "x" * 500_000)
    talk.end(begun, "y" * 500_000)
    assert "disk is full" in told.wait("disk is full")
    for number in range(5):
        talk.turn(f"More {number}?", "Yes.")
    settled(store)
    assert len(shown(path, talk.chat)) == 2
    assert len(told.sentences) == 1
    disk.pages = 100_000
    told.wait("saved again")
    assert shown(path, talk.chat) == talk.path
    assert len(told.sentences) == 2


def test_what_still_cannot_be_written_at_the_end_is_kept_aside_and_read_back_by_the_next_start(
    open_store: OPEN, path: Path
) -> None:
    store = open_store(tune=SmallDisk(60))
    talk = Talk(store)
    talk.turn("One?", "1.")
    for number in range(20):
        talk.turn(f"Two {number}?", f"{number}" + "y" * 50_000)
    half = talk.begin("Three?")
    talk.grow(half, "Half an")
    sentence = store.close()
    kept = rescue.waiting(path)
    assert len(kept) == 1
    assert str(kept[0]) in sentence
    assert kept[0].stat().st_size < 1_200_000, "each message is in it once"
    later = open_store()
    told = Told(later)
    Talk(later, "another00000").turn("Hello?", "Hi.")
    told.wait("has been saved now")
    settled(later)
    assert [said.content for said in shown(path, talk.chat)] == [*(s.content for s in talk.path), "Half an"]
    assert not shown(path, talk.chat)[-1].complete
    assert rescue.waiting(path) == []


def test_another_programs_lock_is_told_once_and_waited_for(open_store: OPEN, path: Path) -> None:
    store = open_store()
    told = Told(store)
    talk = Talk(store)
    talk.turn("One?", "1.")
    settled(store)
    with write_lock(path):
        talk.turn("Two?", "2.")
        told.wait("locked")
        talk.turn("Three?", "3.")
        settled(store)
        assert len(shown_read_only(store, talk.chat)) == 2, "what cannot be written can still be read"
    told.wait("saved again")
    assert shown(path, talk.chat) == talk.path
    assert len(told.sentences) == 2


def test_questions_do_not_wait_for_a_lock_that_was_just_found(
    open_store: OPEN, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store(retry_s=60.0)
    told = Told(store)
    talk = Talk(store)
    talk.turn("One?", "1.")
    settled(store)
    with write_lock(path):
        talk.turn("Two?", "2.")
        told.wait("locked")
        with monkeypatch.context() as patch:
            patch.setattr("mtpchat.store.scribe.open_database", None)
            assert len(shown_read_only(store, talk.chat)) == 2
    talk.turn("Three?", "3.")
    told.wait("saved again")
    assert shown(path, talk.chat) == talk.path


def shown_read_only(store: ChatStore, chat: str) -> tuple[Said, ...]:
    return store.ask(lambda connection: reading.load(connection, chat)).result(20).path


def test_a_folder_that_cannot_be_made_costs_no_word(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")
    store = ChatStore(tmp_path / "data" / "chats.db", flush_s=0.01, retry_s=0.01)
    told = Told(store)
    talk = Talk(store)
    talk.turn("One?", "1.")
    told.wait("cannot")
    (tmp_path / "data").unlink()
    told.wait("saved again")
    assert shown(store.path, talk.chat) == talk.path
    assert store.close() == ""


def test_a_folder_in_the_place_of_the_file_is_said_in_words(path: Path, open_store: OPEN) -> None:
    path.mkdir(parents=True)
    store = open_store()
    told = Told(store)
    Talk(store).turn("One?", "1.")
    assert str(path) in told.wait("may not be written")
    with pytest.raises(StorageError):
        settled(store)
    assert "kept in" in store.close()


@pytest.mark.usefixtures("permissions_hold")
def test_a_read_only_folder_can_be_read_and_gets_what_was_said_when_it_may_be_written(
    open_store: OPEN, path: Path
) -> None:
    first = open_store()
    talk = Talk(first)
    talk.turn("One?", "1.")
    first.close()
    for one in (path, path.parent):
        one.chmod(0o500 if one.is_dir() else 0o400)
    try:
        store = open_store()
        told = Told(store)
        talk.store = store
        talk.turn("Two?", "2.")
        told.wait("may not be written")
        assert len(shown_read_only(store, talk.chat)) == 2
    finally:
        path.parent.chmod(0o700)
        path.chmod(0o600)
    told.wait("saved again")
    assert shown(path, talk.chat) == talk.path


@pytest.mark.parametrize("spoil", ["letter", "cut", "zeros"])
def test_a_damaged_file_is_set_aside_and_the_running_chat_is_whole_in_the_new_one(
    open_store: OPEN, path: Path, spoil: str
) -> None:
    first = open_store()
    talk = Talk(first)
    for number in range(40):
        talk.turn(f"Question {number}?", "An answer. " * 40)
    first.close()
    data = path.read_bytes()
    damaged = {"letter": b"Dear user, " * 999, "cut": data[: len(data) // 2], "zeros": data[:100] + bytes(len(data))}
    path.write_bytes(damaged[spoil])
    store = open_store()
    told = Told(store)
    talk.store = store
    talk.turn("Still there?", "Yes.")
    told.wait("is damaged")
    settled(store)
    assert shown(path, talk.chat) == talk.path
    (aside,) = path.parent.glob("chats.damaged-*.db")
    assert aside.read_bytes()[:4000] == damaged[spoil][:4000]
    assert store.close() == ""


def test_a_damaged_index_is_made_anew_and_no_chat_is_lost(open_store: OPEN, path: Path) -> None:
    first = open_store()
    talk = Talk(first)
    talk.turn("Where do rivers end?", "In the sea.")
    first.close()
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("UPDATE words_data SET block = x'00ff00ff00ff'")
    store = open_store()
    talk.store = store
    talk.turn("And lakes?", "They have rivers, too.")
    settled(store)
    talk.turn("And the sea?", "In the sky.")
    settled(store)
    assert shown(path, talk.chat) == talk.path
    assert list(path.parent.glob("*damaged*")) == []
    assert looked_up(path, lambda connection: reading.find(connection, "rivers", 5))[0].count == 2


def test_a_file_of_a_newer_version_is_left_alone_and_the_chat_is_rescued(open_store: OPEN, path: Path) -> None:
    first = open_store()
    Talk(first).turn("One?", "1.")
    first.close()
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA user_version = 999")
    before = path.read_bytes()
    store = open_store()
    told = Told(store)
    Talk(store, "new000000000").turn("Two?", "2.")
    assert "newer" in told.wait("newer")
    assert "kept in" in store.close()
    assert path.read_bytes() == before


def test_the_database_of_another_program_is_left_alone(open_store: OPEN, path: Path) -> None:
    path.parent.mkdir()
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("CREATE TABLE bookmarks (url TEXT)")
    before = path.read_bytes()
    store = open_store()
    told = Told(store)
    Talk(store).turn("One?", "1.")
    told.wait("some other program")
    store.close()
    assert path.read_bytes() == before


def test_two_stores_on_one_file_write_side_by_side(open_store: OPEN, path: Path) -> None:
    stores = [open_store(busy_s=5.0), open_store(busy_s=5.0)]
    talks = [Talk(store, f"twin0000000{number}") for number, store in enumerate(stores)]
    threads = [threading.Thread(target=_speak, args=(talk,)) for talk in talks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for talk, store in zip(talks, stores, strict=True):
        settled(store)
        assert shown(path, talk.chat) == talk.path
        assert len(talk.path) == 40


def _speak(talk: Talk) -> None:
    for number in range(20):
        begun = talk.begin(f"{number}?")
        talk.grow(begun, "half")
        talk.end(begun, f"{number}.")


def test_opening_while_another_store_is_in_a_turn_costs_nothing_of_it(open_store: OPEN, path: Path) -> None:
    talk = Talk(open_store())
    begun = talk.begin("Long?")
    for piece in ("One ", "two ", "three "):
        talk.grow(begun, piece)
        settled(talk.store)
        other = open_store()
        Talk(other, f"other{piece.strip():*<7}").turn("Hello?", "Hi.")
        other.close()
    assert shown(path, talk.chat)[-1].content == "One two three "
    talk.end(begun, "One two three four.")
    settled(talk.store)
    assert shown(path, talk.chat) == talk.path


def test_a_change_that_can_never_be_written_does_not_keep_others_from_it(open_store: OPEN, path: Path) -> None:
    store = open_store()
    told = Told(store)
    bad = Talk(store, "bad000000000")
    bad.path = (Said("x", "", "nobody", "?"),)  # type: ignore[arg-type]
    bad.again()
    good = Talk(store)
    good.turn("One?", "1.")
    assert "kept in" in told.wait("could not be saved")
    settled(store)
    assert shown(path, good.chat) == good.path
    store.close()
    settled(open_store())
    (kept,) = path.parent.glob("*.unreadable")
    assert "nobody" in kept.read_text(), "it is kept, and not tried again"


def test_an_open_file_is_closed_with_the_store(open_store: OPEN, path: Path) -> None:
    store = open_store()
    Talk(store).turn("One?", "1.")
    assert store.close() == ""
    assert not path.with_name(path.name + "-wal").exists(), "everything is in the file itself"
    with closing(open_database(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_file_that_is_deleted_while_it_is_open_is_begun_anew_with_the_running_chats(
    open_store: OPEN, path: Path
) -> None:
    talks = [Talk(open_store(), f"alive000000{number}") for number in range(2)]
    for talk in talks:
        talk.turn("One?", "1.")
        settled(talk.store)
    for one in path.parent.iterdir():
        one.unlink()
    for _ in range(3):
        for talk in talks:
            begun = talk.begin("And now?")
            talk.grow(begun, "Half")
            settled(talk.store)
            talk.end(begun, "Half, whole.")
            settled(talk.store)
    for talk in talks:
        assert shown(path, talk.chat) == talk.path
        assert talk.store.close() == ""
        assert shown(path, talk.chat) == talk.path


def test_unsaved_chats_that_cannot_be_read_back_do_not_keep_others_from_being_saved(
    open_store: OPEN, path: Path
) -> None:
    path.parent.mkdir()
    path.with_name("chats.db.unsaved-20000101-000000-123456.jsonl").mkdir()
    damaged = path.with_name("chats.db.unsaved-20000101-000000-123457.jsonl")
    damaged.write_text("no change at all\n[]\n")
    store = open_store()
    talk = Talk(store)
    talk.turn("One?", "1.")
    settled(store)
    assert shown(path, talk.chat) == talk.path
    assert damaged.with_suffix(".unreadable").read_text().startswith("no change"), "nothing is thrown away"


def test_sentences_wait_for_somebody_to_listen(open_store: OPEN, path: Path) -> None:
    path.mkdir(parents=True)
    store = open_store()
    Talk(store).turn("One?", "1.")
    with pytest.raises(StorageError):
        settled(store)
    Told(store).wait("may not be written")
