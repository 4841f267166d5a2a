"""Choices for one chat are kept with it, come back with it, and do not disturb those of a newer version."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from mtpchat.chats import ChatOptions, OptionsSet
from mtpchat.store.changes import apply
from mtpchat.store.chat_store import ChatStore
from mtpchat.store.reading import load
from mtpchat.store.schema import migrate
from tests.store.talk import Talk, looked_up, settled

CHOICES = st.dictionaries(
    st.sampled_from(["overflow", "thinking", "later"]), st.none() | st.text(max_size=5), max_size=3
)


def test_what_was_chosen_comes_back_with_the_chat(store: ChatStore, path: Path) -> None:
    talk = Talk(store)
    talk.turn("Hello?", "Hi.")
    store.put(OptionsSet(talk.chat, {"overflow": "drop", "read_from": 4}))
    store.put(OptionsSet(talk.chat, {"thinking": "low"}))
    settled(store)
    options = looked_up(path, lambda connection: load(connection, talk.chat)).options
    assert options == ChatOptions(overflow="drop", thinking="low", read_from=4)


def test_a_choice_that_is_taken_back_is_gone(store: ChatStore, path: Path) -> None:
    talk = Talk(store)
    talk.turn("Hello?", "Hi.")
    store.put(OptionsSet(talk.chat, {"overflow": "drop"}))
    store.put(OptionsSet(talk.chat, {"overflow": None}))
    settled(store)
    assert looked_up(path, lambda connection: load(connection, talk.chat)).options == ChatOptions()


def test_options_that_do_not_fit_are_as_if_they_had_not_been_chosen(store: ChatStore, path: Path) -> None:
    talk = Talk(store)
    talk.turn("Hello?", "Hi.")
    store.put(OptionsSet(talk.chat, {"overflow": 7}))
    settled(store)
    kept = looked_up(path, lambda connection: load(connection, talk.chat))
    assert kept.options == ChatOptions()
    assert len(kept.path) == 2


@given(st.lists(CHOICES, max_size=5))
def test_choices_add_up_and_may_be_carried_out_twice(changes: list[dict[str, object]]) -> None:
    wanted: dict[str, object] = {}
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        migrate(connection)
        connection.execute("INSERT INTO chat (id, title, created, updated) VALUES ('a', 'A', 1, 1)")
        for options in changes:
            for _ in range(2):
                apply(connection, OptionsSet("a", options))
            wanted |= options
        (text,) = connection.execute("SELECT options FROM chat").fetchone()
    assert msgspec.json.decode(text) == {name: value for name, value in wanted.items() if value is not None}
