"""Files on the screen of chats: written without replacing anything, and taken in from other programs."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from mtpchat.store.chat_store import ChatStore
from mtpchat.whole_chat import Taken, WholeChat
from tests.exchange.test_other_programs import CHATGPT
from tests.ui.conftest import seen, until
from tests.ui.test_chats_screen import app_on, opened, path, store, toasts

__all__ = ["path", "store"]  # fixtures


async def test_the_suffix_decides_the_format_and_no_folder_is_made_unasked(
    store: ChatStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    app, _ = app_on(store)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await pilot.press("tab", "e", *["backspace"] * 20, *"new/soup.html", "enter")
        await until(pilot, lambda: any("no folder" in one for one in toasts(app)))
        assert not (tmp_path / "new").exists()
        await pilot.press(*["backspace"] * 13, *"soup.html", "enter")
        await until(pilot, lambda: any("Wrote" in one for one in toasts(app)))
        assert (tmp_path / "soup.html").read_text().startswith("<!DOCTYPE html>")


async def test_a_file_of_another_program_is_taken_in_and_stands_in_the_list(
    store: ChatStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c.json").write_text(json.dumps([CHATGPT]))
    app, _ = app_on(store)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        before = len(screen.list.items)
        await pilot.press("tab", "i")
        await until(pilot, lambda: "Import" in seen(app))
        await pilot.press(*"no.json", "enter")
        await until(pilot, lambda: any("No such file" in one for one in toasts(app)))
        await pilot.press(*["backspace"] * 7, *"c.json", "enter")
        await until(pilot, lambda: any("1 chat, 5 messages taken in" in one for one in toasts(app)))
        await until(pilot, lambda: len(screen.list.items) == before + 1)
        assert any(row.line.title == "Rivers" for row in screen.list.items)
        assert not screen.busy_naming
        await pilot.press("i", "escape")
        assert app.screen is screen
        assert not screen.busy_naming


async def test_a_large_file_says_how_far_it_is_and_esc_stops_it_between_two_chats(
    store: ChatStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("mtpchat.ui.chats_desk._EACH_S", 0.0)
    (tmp_path / "c.json").write_text(json.dumps([CHATGPT | {"conversation_id": f"c{number}"} for number in range(40)]))
    go_on, take_in, taken = asyncio.Event(), store.take_in, list[str]()

    async def gated(chat: WholeChat) -> Taken:
        taken.append(chat.id)
        if len(taken) == 3:
            await go_on.wait()
        return await take_in(chat)

    monkeypatch.setattr(store, "take_in", gated)
    app, _ = app_on(store)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        before = len(screen.list.items)
        await pilot.press("tab", "i", *"c.json", "enter")
        await until(pilot, lambda: "Reading 5 % · 2 chats" in seen(app))
        assert "stop" in seen(app)
        await pilot.press("enter", "escape")
        assert app.screen is screen
        go_on.set()
        await until(pilot, lambda: any("3 chats, 15 messages taken in · stopped" in one for one in toasts(app)))
        await until(pilot, lambda: len(screen.list.items) == before + 3)
        assert "Reading" not in seen(app)
        assert not screen.busy_naming
