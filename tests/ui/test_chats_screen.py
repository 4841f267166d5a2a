"""The screen of kept chats: found while one types, looked at, opened, named, pinned, deleted and brought back."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from mtpchat.chats import Hit, Pinned
from mtpchat.store import reading
from mtpchat.store.chat_store import ChatStore
from mtpchat.ui.app import MtpChatApp
from mtpchat.ui.chats_screen import ChatsScreen
from tests.store.talk import Talk, looked_up
from tests.store.talk import settled as written
from tests.ui.conftest import STILL, chat, chat_app, seen, settled, until
from tests.ui.fake_session import FakeSession, Pause, says

SIZES = [(60, 20), (80, 24), (160, 48)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "chats.db"


@pytest.fixture
def store(path: Path) -> Iterator[ChatStore]:
    """Three chats."""
    store = ChatStore(path, flush_s=0.01, retry_s=0.01, busy_s=0.05)
    Talk(store, "rivers000000").turn(
        "Why do rivers meander?", "Because faster water cuts the outer bank.", at=1_301_000.0
    )
    Talk(store, "hostile00000").turn("Say [red]x[/]\x1b]0;owned", "Said [/] \x1b[2J and banks.", at=1_302_000.0)
    Talk(store, "soup00000000").turn("Lentil soup", "Rinse the lentils first.", at=1_303_000.0)
    written(store)
    yield store
    store.close()


def app_on(store: ChatStore, *turns: Sequence[Any]) -> tuple[MtpChatApp, FakeSession]:
    session = FakeSession(turns, config=STILL)
    session.archive = store
    return chat_app(session), session


async def opened(pilot: Pilot[Any]) -> ChatsScreen:
    """The screen, with its list."""
    await settled(pilot)
    await pilot.press("ctrl+o")
    await until(pilot, lambda: isinstance(pilot.app.screen, ChatsScreen))
    screen = pilot.app.screen
    assert isinstance(screen, ChatsScreen)
    await listed(pilot, screen)
    return screen


async def listed(pilot: Pilot[Any], screen: ChatsScreen) -> list[str]:
    """The ids in the list, once it is what was asked for."""
    await pilot.pause()
    await until(pilot, lambda: not screen.looking)
    return [row.line.id for row in screen.list.items]


def toasts(app: MtpChatApp) -> list[str]:
    return [one.message for one in app._notifications]


def kept(path: Path, question: Callable[[sqlite3.Connection], Any]) -> Any:
    return looked_up(path, question)


@pytest.mark.parametrize("size", SIZES)
async def test_the_latest_chat_comes_first_and_its_last_exchange_is_shown(
    store: ChatStore, size: tuple[int, int]
) -> None:
    app, _ = app_on(store)
    async with app.run_test(size=size) as pilot:
        screen = await opened(pilot)
        assert await listed(pilot, screen) == ["soup00000000", "hostile00000", "rivers000000"]
        await until(pilot, lambda: "Rinse the lentils first." in seen(app))
        assert all(len(line) <= size[0] for line in seen(app).splitlines())


@pytest.mark.parametrize("size", SIZES)
async def test_what_is_in_a_chat_is_text_and_nothing_else(store: ChatStore, size: tuple[int, int]) -> None:
    app, _ = app_on(store)
    async with app.run_test(size=size) as pilot:
        await opened(pilot)
        await pilot.press("down")
        await until(pilot, lambda: "Said [/] ␛[2J and banks." in seen(app))
        assert "Say [red]x[/]␛" in seen(app)
        assert "\x1b" not in seen(app)


async def test_typing_searches_titles_and_texts_and_shows_the_places(store: ChatStore) -> None:
    app, _ = app_on(store)
    async with app.run_test(size=(120, 30)) as pilot:
        screen = await opened(pilot)
        await pilot.press(*"ban")
        assert set(await listed(pilot, screen)) == {"rivers000000", "hostile00000"}
        await pilot.press(*"k")
        assert set(await listed(pilot, screen)) == {"rivers000000", "hostile00000"}
        await pilot.press(*"  cuts")
        assert await listed(pilot, screen) == ["rivers000000"]
        await until(pilot, lambda: "faster water cuts" in seen(app))
        await pilot.press(*" nothing")
        assert await listed(pilot, screen) == []
        assert "Nothing was found for" in seen(app)
        await pilot.press("enter")
        assert app.screen is screen


async def test_an_older_search_that_answers_late_changes_nothing(
    store: ChatStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first search hangs until the second one has been shown; then it is let go."""
    late, asked = asyncio.Event(), asyncio.Event()
    find = store.find

    async def slow(text: str, limit: int, *, deleted: bool = False) -> Sequence[Hit]:
        if text == "lentil":
            asked.set()
            await late.wait()
        return await find(text, limit, deleted=deleted)

    monkeypatch.setattr(store, "find", slow)
    app, _ = app_on(store)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        screen.search.value = "lentil"
        await until(pilot, asked.is_set)
        screen.search.value = "rivers"
        await until(pilot, lambda: [row.line.id for row in screen.list.items] == ["rivers000000"])
        late.set()
        await pilot.pause()
        assert await listed(pilot, screen) == ["rivers000000"]


async def test_enter_goes_on_with_the_marked_chat(store: ChatStore) -> None:
    app, session = app_on(store, says("They still do."))
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await pilot.press("down", "down", "enter")
        await until(pilot, lambda: app.screen is chat(app) and "Why do rivers meander?" in seen(app))
        assert session.chat_id == "rivers000000"
        screen = await opened(pilot)
        assert any("● " in line and "rivers" in line for line in seen(app).splitlines())
        assert screen.list.marked is not None


async def test_a_click_marks_and_a_second_one_opens(store: ChatStore) -> None:
    app, session = app_on(store)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        await pilot.click(screen.list, offset=(5, 2))
        assert screen.list.marked is not None
        assert screen.list.marked.line.id == "rivers000000"
        await pilot.click(screen.list, offset=(5, 2))
        await until(pilot, lambda: session.chat_id == "rivers000000")


async def test_letters_act_in_the_list_and_are_typed_in_the_search(store: ChatStore, path: Path) -> None:
    app, _ = app_on(store)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        await pilot.press("d", "p")
        assert screen.search.value == "dp"
        await pilot.press("backspace", "backspace", "tab", "down", "p")
        assert (await listed(pilot, screen))[0] == "hostile00000"
        assert "▴ Say" in seen(app)
        await pilot.press("p")
        assert (await listed(pilot, screen))[1] == "hostile00000"
        written(store)
        assert not any(line.pinned for line in kept(path, lambda c: reading.recent(c, 9)))


@pytest.mark.parametrize("key", ["delete", "d"])
async def test_a_deleted_chat_comes_back_with_u(store: ChatStore, path: Path, key: str) -> None:
    app, _ = app_on(store)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        await pilot.press("tab", key)
        assert await listed(pilot, screen) == ["hostile00000", "rivers000000"]
        assert "u brings it back" in toasts(app)[-1]
        assert screen.list.marked is not None
        assert screen.list.marked.line.id == "hostile00000", "the mark is on the next one"
        written(store)
        assert len(kept(path, lambda c: reading.deleted(c, 9))) == 1
        await pilot.press("u")
        assert await listed(pilot, screen) == ["soup00000000", "hostile00000", "rivers000000"]
        await pilot.press("u")
        assert "Nothing was deleted" in toasts(app)[-1]
        written(store)
        assert kept(path, lambda c: reading.deleted(c, 9)) == []


async def test_in_the_search_delete_takes_letters_first(store: ChatStore) -> None:
    app, _ = app_on(store)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        await pilot.press(*"xrivers", "home", "delete")
        assert screen.search.value == "rivers"
        assert await listed(pilot, screen) == ["rivers000000"]
        await pilot.press("end", "delete")
        assert await listed(pilot, screen) == []


async def test_what_was_deleted_earlier_is_in_the_trash_and_comes_back_from_there(store: ChatStore) -> None:
    app, _ = app_on(store)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await pilot.press("delete", "escape")
        screen = await opened(pilot)
        await pilot.press("tab", "t")
        assert await listed(pilot, screen) == ["soup00000000"]
        assert "Trash" in seen(app)
        await pilot.press("u")
        assert await listed(pilot, screen) == []
        await pilot.press("t")
        assert (await listed(pilot, screen))[0] == "soup00000000"


async def test_a_title_is_edited_where_it_stands(store: ChatStore, path: Path) -> None:
    app, session = app_on(store)
    session.chat_id = "soup00000000"
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        await pilot.press("f2", *" for six", "escape")
        assert not screen.list.editing
        assert app.screen is screen
        await pilot.press("r", *" for six", "enter")
        await listed(pilot, screen)
        assert "Lentil soup for six" in seen(app)
        assert session.title == "Lentil soup for six", "the chat that is open"
        written(store)
        line = kept(path, lambda c: reading.recent(c, 1))[0]
        assert (line.title, line.named) == ("Lentil soup for six", True)


async def test_an_empty_title_changes_nothing(store: ChatStore) -> None:
    app, _ = app_on(store)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        await pilot.press("f2", *["backspace"] * 11, "enter")
        await listed(pilot, screen)
        assert screen.list.items[0].line.title == "Lentil soup"


async def test_an_export_asks_for_a_name_and_never_overwrites(
    store: ChatStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lentil-soup.md").write_text("mine")
    app, _ = app_on(store)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await pilot.press("tab", "e")
        await until(pilot, lambda: "lentil-soup.md" in seen(app))
        await pilot.press("enter")
        await until(pilot, lambda: any("exists already" in one for one in toasts(app)))
        await pilot.press(*["backspace"] * 3, *"2.md", "enter")
        await until(pilot, lambda: any("Wrote" in one for one in toasts(app)))
        assert (tmp_path / "lentil-soup.md").read_text() == "mine"
        assert "Rinse the lentils first." in (tmp_path / "lentil-soup2.md").read_text()


async def test_a_new_chat_begins_empty(store: ChatStore) -> None:
    app, session = app_on(store, says("Yes."))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press(*"hello", "enter")
        await settled(pilot)
        await opened(pilot)
        await pilot.press("tab", "n")
        await until(pilot, lambda: app.screen is chat(app) and session.messages == ())


async def test_the_screen_can_be_used_while_an_answer_comes(store: ChatStore) -> None:
    pause = Pause()
    app, session = app_on(store, [pause, *says("Done.")])
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press(*"hello", "enter")
        await until(pilot, pause.reached.is_set)
        await pilot.press("ctrl+o")
        await until(pilot, lambda: isinstance(app.screen, ChatsScreen))
        await pilot.press("delete", "escape")
        pause.gate.set()
        await settled(pilot)
        assert session.messages[-1].content == "Done."


async def test_a_chat_that_another_window_goes_on_with_shows_what_was_said_there(store: ChatStore, path: Path) -> None:
    app, _ = app_on(store)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        other = ChatStore(path)
        Talk(other, "other0000000").turn("From the other window", "Hello.", at=1_309_000.0)
        other.close()
        await pilot.press("escape")
        screen = await opened(pilot)
        assert (await listed(pilot, screen))[0] == "other0000000"


async def test_a_long_list_grows_as_one_goes_down(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mtpchat.ui.chats_screen._FIRST", 60)
    store = ChatStore(path)
    for number in range(100):
        Talk(store, f"chat{number:08}").turn(f"Question {number}", "Yes.", at=float(number))
    app, _ = app_on(store)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        assert len(screen.list.items) == 60
        assert "60+" in seen(app)
        await pilot.press("ctrl+end")
        await until(pilot, lambda: len(screen.list.items) == 100)
        assert screen.list.marked is not None
        assert screen.list.marked.line.title == "Question 40", "the mark stays on its chat"
        await pilot.press("ctrl+end")
        assert screen.list.marked.line.title == "Question 0"
        await listed(pilot, screen)
        assert "Chats  100\n" in seen(app)
    store.close()


async def test_nothing_saved_yet_is_said_kindly(path: Path) -> None:
    store = ChatStore(path)
    app, _ = app_on(store)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        assert "No chat has been saved yet" in seen(app)
        await pilot.press("tab", "d", "p", "r", "e", "enter", "u")
    store.close()


async def test_a_locked_file_is_said_on_the_screen_and_what_was_done_is_seen_and_written_later(
    store: ChatStore, path: Path
) -> None:
    app, _ = app_on(store)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other:
            other.execute("BEGIN IMMEDIATE")
            await pilot.press("tab", "d")
            await until(pilot, lambda: any("locked" in one for one in toasts(app)))
            assert await listed(pilot, screen) == ["hostile00000", "rivers000000"]
            other.execute("ROLLBACK")
        await until(pilot, lambda: len(kept(path, lambda c: reading.deleted(c, 9))) == 1)


@pytest.mark.parametrize("size", [(80, 24), (160, 48)], ids=["80x24", "160x48"])
def test_the_screen_of_chats(snap_compare: Callable[..., bool], store: ChatStore, size: tuple[int, int]) -> None:
    """What was found, the marked words in it, the pin and the open chat; keys at the bottom."""
    app, session = app_on(store)
    session.chat_id = "rivers000000"
    store.put(Pinned("soup00000000", True))

    async def search(pilot: Pilot[Any]) -> None:
        screen = await opened(pilot)
        await pilot.press(*"ri")
        await listed(pilot, screen)
        await until(pilot, lambda: len(screen.list.items) == 2 and "You" in seen(app))
        app.screen.set_focus(screen.list)
        await pilot.pause()

    assert snap_compare(app, terminal_size=size, run_before=search)
