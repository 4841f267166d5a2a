"""The screen of chats after something has happened elsewhere: in the chat, in another window, on the disk."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from itertools import count

import pytest

from mtpchat.chats import Hit, Renamed
from mtpchat.errors import StorageError
from mtpchat.store.chat_store import ChatStore
from tests.store.talk import Talk
from tests.ui.conftest import seen, until
from tests.ui.test_chats_screen import app_on, listed, opened, path, store, toasts

__all__ = ["path", "store"]  # fixtures


async def test_a_title_that_is_being_edited_waits_for_its_window_to_be_looked_at_again(store: ChatStore) -> None:
    app, _ = app_on(store)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        await pilot.press("f2", *" for six")
        app.app_focus = False
        await pilot.pause()
        assert screen.list.editing
        app.app_focus = True
        await pilot.pause()
        await pilot.press("!", "enter")
        await listed(pilot, screen)
        assert screen.list.items[0].line.title == "Lentil soup for six!"


async def test_a_chat_that_goes_on_after_it_was_deleted_is_back(store: ChatStore) -> None:
    app, _ = app_on(store)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await pilot.press("delete", "escape")
        later = Talk(store, "soup00000000")
        later._numbers = count(10)
        later.turn("Lentil soup", "Rinse them twice.", at=time.time() + 1.0)
        screen = await opened(pilot)
        assert (await listed(pilot, screen))[0] == "soup00000000"
        await pilot.press("tab", "t")
        assert await listed(pilot, screen) == []
        await pilot.press("u")
        assert "Nothing was deleted" in toasts(app)[-1]


@pytest.mark.parametrize("current", ["soup00000000", "rivers000000"])
async def test_deleting_the_chat_that_is_open_says_that_another_message_brings_it_back(
    store: ChatStore, current: str
) -> None:
    app, session = app_on(store)
    session.chat_id = current
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        await pilot.press("delete")
        assert "soup00000000" not in await listed(pilot, screen)
        assert ("it is still open" in toasts(app)[-1]) is (current == "soup00000000")


async def test_deleting_what_is_in_the_trash_says_how_it_goes_for_good(store: ChatStore) -> None:
    app, _ = app_on(store)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        await pilot.press("delete", "tab", "t")
        assert await listed(pilot, screen) == ["soup00000000"]
        await pilot.press("d")
        assert "mtpchat chats purge" in toasts(app)[-1]


async def test_a_title_that_was_changed_elsewhere_after_one_from_here_is_shown(store: ChatStore) -> None:
    app, _ = app_on(store)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        await pilot.press("f2", *" for six", "enter")
        await listed(pilot, screen)
        await pilot.press("escape")
        store.put(Renamed("soup00000000", "Soup of lentils"))
        screen = await opened(pilot)
        assert screen.list.items[0].line.title == "Soup of lentils"


async def test_trouble_that_is_over_is_not_told_again(store: ChatStore, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fails(text: str, limit: int, *, deleted: bool = False) -> Sequence[Hit]:
        raise StorageError("The disk has gone")

    app, _ = app_on(store)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        with monkeypatch.context() as broken:
            broken.setattr(store, "find", fails)
            await pilot.press(*"zzz")
            await listed(pilot, screen)
            assert "The disk has gone" in seen(app)
        await pilot.press("z")
        await listed(pilot, screen)
        assert "Nothing was found for “zzzz”" in seen(app)


async def test_a_list_is_not_taken_for_complete_while_the_next_search_runs(
    store: ChatStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    late, asked = asyncio.Event(), list[str]()
    find = store.find

    async def slow(text: str, limit: int, *, deleted: bool = False) -> Sequence[Hit]:
        asked.append(text)
        await late.wait()
        return await find(text, limit, deleted=deleted)

    monkeypatch.setattr(store, "find", slow)
    app, _ = app_on(store)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        for text in ("r", "ri", "riv"):
            screen.search.value = text
            await until(pilot, lambda wanted=text: wanted in asked)  # type: ignore[misc]
            assert screen.looking
        late.set()
        assert await listed(pilot, screen) == ["rivers000000"]
