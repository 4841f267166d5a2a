"""Words are found in every branch of every chat, and what is typed is never syntax."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mtpchat.chats import Deleted, Glimpse, Hit, Renamed
from mtpchat.errors import CommandError, StorageError
from mtpchat.store import places, reading, search
from mtpchat.store.chat_store import ChatStore
from mtpchat.store.glimpse import glimpse
from mtpchat.store.schema import migrate
from tests.store.talk import Talk, looked_up, settled


def found(path: Path, text: str) -> list[Hit]:
    return looked_up(path, lambda connection: reading.find(connection, text, 20))


def chats(path: Path, text: str) -> set[str]:
    return {hit.line.title for hit in found(path, text)}


@pytest.fixture
def library(store: ChatStore, path: Path) -> ChatStore:
    talk = Talk(store, "rivers000000")
    begun = talk.begin("Why do rivers meander?")
    talk.end(begun, "Because of secondary flow. " + "Water turns. " * 30 + "The naïve answer is erosion.")
    talk.path = talk.path[:-1]
    talk.end(talk.again(), "It rains.")
    Talk(store, "chinese00000").turn("长江为什么弯曲?", "因为河水侵蚀外岸。")
    Talk(store, "code00000000").turn("Sort a list", "Use sorted(list): it is `O(n log n)`.")
    settled(store)
    return store


@pytest.mark.parametrize(
    ("text", "titles"),
    [
        ("meander", {"Why do rivers meande"}),
        ("RIVERS why", {"Why do rivers meande"}),
        ("naive", {"Why do rivers meande"}),
        ("secondary flow erosion", {"Why do rivers meande"}),
        ("mean", {"Why do rivers meande"}),
        ("rains", {"Why do rivers meande"}),
        ("rivers rains", set()),
        ("侵蚀", {"长江为什么弯曲?"}),
        ("蚀侵", set()),
        ("河", {"长江为什么弯曲?"}),
        ("sorted(list)", {"Sort a list"}),
        ("absent", set()),
        ("", set()),
        ("?!", set()),
    ],
)
def test_all_words_must_stand_in_one_message_and_the_last_may_be_begun(
    library: ChatStore, path: Path, text: str, titles: set[str]
) -> None:
    assert chats(path, text) == titles


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.text() | st.lists(st.sampled_from(["rivers", '"', "*", "OR", "NEAR(", "-", ":", "^", "(", "\x00"])).map(" ".join)
)
def test_nothing_that_is_typed_is_syntax(library: ChatStore, text: str) -> None:
    library.ask(lambda connection: reading.find(connection, text, 5)).result(20)


def test_a_snippet_is_one_line_around_the_word(library: ChatStore, path: Path) -> None:
    (hit,) = found(path, "erosion")
    assert "erosion" in hit.snippet
    assert "\n" not in hit.snippet
    assert len(hit.snippet) < 200
    assert hit.snippet.startswith("…")
    assert hit.role == "assistant"


def test_a_chat_is_found_once_with_the_number_of_its_messages(store: ChatStore, path: Path) -> None:
    talk = Talk(store)
    for _ in range(4):
        talk.turn("rivers?", "rivers and rivers")
    settled(store)
    assert [hit.count for hit in found(path, "rivers")] == [8]


def test_the_better_match_comes_first(store: ChatStore, path: Path) -> None:
    Talk(store, "long00000000").turn("Much", "text " * 300 + "otter")
    Talk(store, "short0000000").turn("otter", "otter otter")
    settled(store)
    assert [hit.line.id for hit in found(path, "otter")] == ["short0000000", "long00000000"]


def test_deleted_chats_are_not_found_until_they_are_back(library: ChatStore, path: Path) -> None:
    library.put(Deleted("rivers000000", 1.0))
    settled(library)
    assert chats(path, "meander") == set()
    library.put(Deleted("rivers000000", None))
    settled(library)
    assert len(chats(path, "meander")) == 1


def test_an_answer_that_grew_is_found_by_its_new_words_and_counted_once(store: ChatStore, path: Path) -> None:
    talk = Talk(store)
    begun = talk.begin("Count")
    talk.end(begun, "one otter", complete=False)
    settled(store)
    talk.end(begun, "one otter two badgers")
    settled(store)
    assert found(path, "badgers")[0].count == found(path, "otter")[0].count == 1


def test_without_full_text_search_chats_are_kept_and_found_once_it_is_there(
    store: ChatStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk = Talk(store)
    settled(store)
    with monkeypatch.context() as patch:
        patch.setattr(search, "has_search", lambda connection: False)
        begun = talk.begin("Count")
        talk.end(begun, "one otter", complete=False)
        settled(store)
        with pytest.raises(StorageError, match="FTS5"):
            found(path, "otter")
    store.put(begun)
    settled(store)
    talk.turn("More?", "badgers")
    settled(store)
    assert chats(path, "otter") == chats(path, "badgers") == {"Count"}
    with monkeypatch.context() as patch:
        patch.setattr(search, "has_search", lambda connection: False)
        talk.end(begun, "one otter, one marten")
        settled(store)
    talk.turn("Else?", "weasels")
    settled(store)
    assert chats(path, "marten") == {"Count"}
    assert [hit.count for hit in found(path, "otter")] == [1], "what it said before is no longer in the index"


def test_a_word_of_every_message_is_found_among_the_newest(store: ChatStore, path: Path) -> None:
    def fill(connection: sqlite3.Connection) -> None:
        connection.execute("INSERT INTO chat (id, title, created, updated) VALUES ('full', 'Full', 1, 1)")
        connection.executemany(
            "INSERT INTO message (id, chat_id, role, content, created, complete) VALUES (?, 'full', 'user', ?, 1, 1)",
            ((str(number), f"the {number}") for number in range(3000)),
        )
        while search.update(connection):
            continue

    store.ask(fill).result(20)
    assert found(path, "the")[0].count == search._RANKED
    assert [hit.count for hit in found(path, "the 2")] == [1], "a single letter is a word"
    assert [hit.count for hit in found(path, "the 20")] == [111]


WORDS = ["som", "somo", "somol", "somole", "sommer", "so", "Sómolé", "other", "x"]


@settings(max_examples=60, deadline=None)
@given(
    said=st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join), min_size=1, max_size=30),
    text=st.sampled_from(["somo", "somol", "SOMOLE", "other somo", "sommer", "othe", "somolex", "x so som somo"]),
    many=st.sampled_from([0, 100_000]),
)
def test_words_that_begin_so_are_the_same_whichever_way_they_are_looked_for(
    said: list[str], text: str, many: int
) -> None:
    with (
        closing(sqlite3.connect(":memory:", isolation_level=None)) as connection,
        pytest.MonkeyPatch.context() as patch,
    ):
        migrate(connection)
        search.prepare(connection)
        connection.execute("INSERT INTO chat (id, title, created, updated) VALUES ('one', '', 1, 1)")
        connection.executemany(
            "INSERT INTO message (id, chat_id, role, content, created, complete) VALUES (?, 'one', 'user', ?, 1, 1)",
            enumerate(said),
        )
        search.update(connection)
        straight = {row[0] for row in connection.execute("SELECT rowid FROM words(?)", (search.as_query(text),))}
        for name, value in (("_SAMPLE", 3), ("_VERY_MANY", many), ("_RANKED", 1000)):
            patch.setattr(search, name, value)
        assert {row[0] for row in search._newest(connection, text, deleted=False)} == straight


def test_deleted_chats_are_searched_apart(library: ChatStore, path: Path) -> None:
    library.put(Deleted("rivers000000", 1.0))
    settled(library)

    def trashed(text: str) -> list[str]:
        return [hit.line.id for hit in looked_up(path, lambda c: reading.find(c, text, 9, deleted=True))]

    assert trashed("meander") == trashed("why") == ["rivers000000"]
    assert trashed("sort") == []


def test_a_title_is_found_too_and_comes_first(store: ChatStore, path: Path) -> None:
    Talk(store, "said00000000").turn("Hello", "The otter and the otter and the otter.")
    Talk(store, "named0000000").turn("Something", "else")
    Talk(store, "both00000000").turn("Plain", "An otter.")
    store.put(Renamed("named0000000", "Un naïve Otter_life"))
    store.put(Renamed("both00000000", "Otters"))
    settled(store)
    assert [hit.line.id for hit in found(path, "otter")] == ["both00000000", "named0000000", "said00000000"]
    assert [hit.line.id for hit in found(path, "NAIVE ott")] == ["named0000000"]
    (hit,) = found(path, "naive otter")
    assert [hit.line.title[begin:end] for begin, end in hit.title_marks] == ["naïve", "Otter"]
    assert (hit.message, hit.snippet, hit.count) == ("", "", 0)


def test_a_finished_word_is_not_taken_for_a_beginning(store: ChatStore, path: Path) -> None:
    Talk(store, "one000000000").turn("river", "x")
    Talk(store, "two000000000").turn("rivers", "x")
    settled(store)
    assert len(found(path, "river")) == 2
    assert [hit.line.id for hit in found(path, "river ")] == ["one000000000"]


def test_a_pasted_page_is_searched_for_its_first_words(store: ChatStore, path: Path) -> None:
    Talk(store).turn("river " * 40, "x")
    settled(store)
    assert len(found(path, "river " * 5000)) == 1


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="aáAbß 河が\n.-_İ"), st.text(alphabet="aáAb 河が_"))
def test_places_are_within_the_text_in_order_and_say_the_words(content: str, text: str) -> None:
    marks = places.places(content, text)
    words = {places.fold(word) for word in places.words_of(text)}
    assert all(0 <= begin < end <= len(content) for begin, end in marks)
    assert all(one[1] <= other[0] for one, other in pairwise(marks))
    assert all(places.fold(content[begin:end]) in words for begin, end in marks)
    assert not places.has_all(content, text) or bool(marks) == bool(words)
    assert len(places.fold(content)) == len(content)
    assert "\n" not in places.snippet(content, text)


async def test_a_search_that_nobody_waits_for_any_more_ends_and_the_next_one_is_answered(
    store: ChatStore, path: Path
) -> None:
    Talk(store).turn("otter", "otter")
    settled(store)
    began, go_on = threading.Event(), threading.Event()

    def slow(connection: sqlite3.Connection, text: str, limit: int, *, deleted: bool = False) -> list[Hit]:
        began.set()
        go_on.wait(20)
        endless = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
        connection.execute(endless).fetchall()
        return []

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "find", slow)
        overtaken = asyncio.create_task(store.find("otter", 5))
        await asyncio.to_thread(began.wait, 20)
        overtaken.cancel()
        with pytest.raises(asyncio.CancelledError):
            await overtaken
        go_on.set()
        await asyncio.to_thread(settled, store)
    assert len(await store.find("otter", 5)) == 1


def test_a_look_at_a_chat_shows_its_last_exchange_or_the_places(store: ChatStore, path: Path) -> None:
    talk = Talk(store)
    for number in range(9):
        talk.turn(f"Question {number}?", f"The otter says {number}. " + "Water. " * 300)
    settled(store)

    def look(text: str) -> Glimpse:
        return looked_up(path, lambda connection: glimpse(connection, talk.chat, text))

    assert [one.text[:12] for one in look("").passages] == ["Question 8?", "The otter sa"]
    seen = look("otter")
    assert (len(seen.passages), seen.more) == (6, 3)
    for one in seen.passages:
        assert len(one.text) < 800
        assert [one.text[begin:end] for begin, end in one.marks] == ["otter"]
    assert look("nowhere").passages == look("").passages
    with pytest.raises(CommandError):
        looked_up(path, lambda connection: glimpse(connection, "nowhere00000"))
