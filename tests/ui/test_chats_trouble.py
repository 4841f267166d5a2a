"""What goes wrong with the file of chats is said in the app, in words; the chat goes on, and nothing is lost."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from mtpchat.engine.service import EngineService
from mtpchat.engine.session import Session
from mtpchat.store import reading, rescue
from mtpchat.store.chat_store import ChatStore
from mtpchat.ui.app import MtpChatApp
from mtpchat.ui.chats_screen import ChatsScreen
from tests.fakes import FakeEngine
from tests.store.talk import Talk, looked_up
from tests.store.talk import settled as settled_store
from tests.ui.conftest import STILL, chat, seen, settled, until


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "chats.db"


@asynccontextmanager
async def running(path: Path, **options: Any) -> AsyncIterator[tuple[Pilot[Any], MtpChatApp, ChatStore]]:
    """The app on a session of its own, with an engine that says `Because.`"""
    store = ChatStore(path, **{"flush_s": 0.01, "retry_s": 0.1, "busy_s": 0.02} | options)
    service = EngineService(lambda: FakeEngine("Because."))
    service.start()
    try:
        app = MtpChatApp(Session(service, STILL, archive=store), clock=lambda: 100.0)
        async with app.run_test(size=(110, 40)) as pilot:
            await settled(pilot)
            yield pilot, app, store
    finally:
        service.close()
        store.close()


async def ask(pilot: Pilot[Any], text: str) -> None:
    before = len(chat(pilot.app).session.messages)
    await pilot.press(*text, "enter")
    await until(pilot, lambda: len(chat(pilot.app).session.messages) == before + 2)
    await settled(pilot)


async def told(pilot: Pilot[Any], *words: str) -> None:
    """Wait until a sentence stands in the chat, wherever its lines are broken."""
    await until(pilot, lambda: all(word in on_one_line(pilot) for word in words))


def on_one_line(pilot: Pilot[Any]) -> str:
    """The screen, wherever its lines are broken."""
    return " ".join(seen(pilot.app).split())  # type: ignore[arg-type]


def kept(path: Path) -> list[str]:
    """Everything that stands in the chats of a file."""
    return looked_up(
        path,
        lambda connection: [
            said.content for line in reading.recent(connection, 9) for said in reading.load(connection, line.id).path
        ],
    )


class ReadOnly:
    """A folder in which nothing may be written."""

    words = ("may not be written there",)

    def begin(self, path: Path) -> None:
        path.parent.mkdir(exist_ok=True)
        path.parent.chmod(0o500)

    def end(self, path: Path) -> None:
        path.parent.chmod(0o700)


class NoFolder:
    """A file where the folder should be."""

    words = ("Cannot create the folder",)

    def begin(self, path: Path) -> None:
        path.parent.write_text("a file")

    def end(self, path: Path) -> None:
        path.parent.unlink()


class Locked:
    """Another program has the file."""

    words = ("another program has locked the file",)

    def begin(self, path: Path) -> None:
        store = ChatStore(path)
        settled_store(store)
        store.close()
        self._other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._other.execute("BEGIN IMMEDIATE")

    def end(self, path: Path) -> None:
        self._other.execute("ROLLBACK")
        self._other.close()


@pytest.mark.usefixtures("permissions_hold")
@pytest.mark.parametrize(
    "trouble",
    [ReadOnly(), NoFolder(), Locked()],
    ids=["read-only", "no folder", "locked"],
)
async def test_what_keeps_chats_from_being_saved_is_said_once_and_when_it_is_over(
    path: Path, trouble: ReadOnly | NoFolder | Locked
) -> None:
    trouble.begin(path)
    try:
        async with running(path) as (pilot, _, _):
            await ask(pilot, "Why?")
            await told(pilot, *trouble.words, "The chat goes on")
            await ask(pilot, "And then?")
            assert on_one_line(pilot).count("The chat goes on") == 1
            trouble.end(path)
            await told(pilot, "saved again; nothing was lost")
            assert kept(path) == ["Why?", "Because.", "And then?", "Because."]
    finally:
        if isinstance(trouble, ReadOnly):
            trouble.end(path)


async def test_a_full_disk_is_said_and_the_chat_is_whole_when_there_is_room(path: Path) -> None:
    pages = [1]

    def small(connection: sqlite3.Connection) -> None:
        connection.execute(f"PRAGMA max_page_count = {pages[0]}")

    async with running(path, tune=small) as (pilot, _, _):
        await ask(pilot, "Why?")
        await told(pilot, "the disk is full", "Free some space", "The chat goes on")
        await ask(pilot, "And then?")
        assert on_one_line(pilot).count("the disk is full") == 1
        pages[0] = 100_000
        await told(pilot, "saved again; nothing was lost")
        assert kept(path) == ["Why?", "Because.", "And then?", "Because."]


async def test_a_full_disk_at_the_end_is_kept_aside_and_told_by_the_next_start(path: Path) -> None:
    async with running(path, tune=lambda c: c.execute("PRAGMA max_page_count = 1")) as (pilot, _, store):
        await ask(pilot, "Why?")
        await told(pilot, "the disk is full")
        sentence = store.close()
    assert str(rescue.waiting(path)[0]) in sentence
    async with running(path) as (pilot, _, _store):
        await ask(pilot, "Next?")
        await told(pilot, "has been saved now")
        assert sorted(kept(path)) == ["Because.", "Because.", "Next?", "Why?"]


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda path: path.write_bytes(b"Dear diary, " * 900), ("is damaged", "a new one is begun")),
        (lambda path: run(path, "PRAGMA user_version = 99"), ("newer mtpchat", "Install that version again")),
        (lambda path: other_program(path), ("database of some other program",)),
    ],
    ids=["damaged", "newer", "foreign"],
)
async def test_a_file_that_is_not_fit_is_said_and_the_chat_goes_on(
    path: Path, spoil: Callable[[Path], object], words: tuple[str, ...]
) -> None:
    first = ChatStore(path)
    Talk(first).turn("Earlier?", "Yes.")
    first.close()
    spoil(path)
    async with running(path) as (pilot, app, _):
        await ask(pilot, "Why?")
        await told(pilot, *words)
        await pilot.press("ctrl+o")
        await until(pilot, lambda: isinstance(app.screen, ChatsScreen))
        screen = app.screen
        assert isinstance(screen, ChatsScreen)
        await until(pilot, lambda: not screen.looking)
        await pilot.press("escape")
        await ask(pilot, "Still?")


def run(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(statement)


def other_program(path: Path) -> None:
    path.unlink()
    run(path, "CREATE TABLE bookmarks (url TEXT)")


async def test_chats_that_cannot_be_read_say_so_on_their_screen(path: Path) -> None:
    first = ChatStore(path)
    Talk(first).turn("Earlier?", "Yes.")
    first.close()
    run(path, "PRAGMA user_version = 99")
    async with running(path) as (pilot, app, _):
        await pilot.press("ctrl+o")
        await told(pilot, "newer mtpchat", "Install that version again")
        assert isinstance(app.screen, ChatsScreen)


async def test_two_windows_go_on_with_one_chat_and_both_branches_are_kept(path: Path) -> None:
    async with running(path) as (pilot, _, _store):
        await ask(pilot, "Why?")
        chat_id = chat(pilot.app).session.chat_id
        async with running(path) as (other, _app, _other_store):
            await chat(other.app).run_command("/chats 1")
            await until(other, lambda: chat(other.app).session.chat_id == chat_id)
            await ask(other, "From the second window?")
        await ask(pilot, "From the first window?")
        await told(pilot, "Because.")
    whole = looked_up(path, lambda connection: reading.whole(connection, chat_id))
    contents = [one["content"] for one in whole["messages"]]  # type: ignore[attr-defined]
    assert contents.count("Because.") == 3
    assert {"Why?", "From the first window?", "From the second window?"} <= set(contents)
