"""Words are found in every branch of every chat, and what is typed is never syntax."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mtpchat.chats import Deleted, Hit
from mtpchat.errors import StorageError
from mtpchat.store import reading, search
from mtpchat.store.chat_store import ChatStore
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
    assert found(path, "the")[0].count == 2000
    assert [hit.count for hit in found(path, "the 2")] == [1], "a single letter is a word"
    assert [hit.count for hit in found(path, "the 20")] == [111]
