"""The prompt, its history and its menu."""

from __future__ import annotations

import json
import threading
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from textual import events

from mtpchat.config import Config, PathsConfig
from mtpchat.ui.chips import LEAST_CHARACTERS, Chips, Written
from mtpchat.ui.history import History
from mtpchat.ui.keys import KEYS, bindings, shown
from mtpchat.ui.widgets.prompt import Prompt
from tests.ui.conftest import MODEL, chat, chat_app, seen, settled
from tests.ui.fake_session import FakeSession, says


async def test_enter_sends_and_other_keys_make_new_lines() -> None:
    session = FakeSession()
    app = chat_app(session)
    async with app.run_test() as pilot:
        await settled(pilot)
        await pilot.press("a", "ctrl+j", "b", "shift+enter", "c", "enter")
        await settled(pilot)
        assert session.sent == ["a\nb\nc"]
        assert chat(app).prompt.text == ""


async def test_letters_and_enter_in_one_burst_are_sent_whole() -> None:
    session = FakeSession()
    app = chat_app(session)
    async with app.run_test() as pilot:
        await settled(pilot)
        for key, character in [*((letter, letter) for letter in "abcdef"), ("enter", "\r")]:
            app.post_message(events.Key(key, character))
        await pilot.pause()
        await settled(pilot)
        assert session.sent == ["abcdef"]


async def test_an_empty_prompt_sends_nothing() -> None:
    session = FakeSession()
    app = chat_app(session)
    async with app.run_test() as pilot:
        await settled(pilot)
        await pilot.press("space", "ctrl+j", "enter", "enter")
        await settled(pilot)
        assert session.sent == []


async def test_the_prompt_grows_to_eight_lines_and_no_further() -> None:
    app = chat_app(FakeSession())
    async with app.run_test(size=(80, 40)) as pilot:
        await settled(pilot)
        prompt, heights = chat(app).prompt, []
        for _ in range(12):
            heights.append(prompt.size.height)
            await pilot.press("x", "ctrl+j")
            await pilot.pause()
        assert heights == [1, 2, 3, 4, 5, 6, 7, 8, 8, 8, 8, 8]


async def test_up_and_down_go_through_earlier_prompts_and_come_back() -> None:
    app = chat_app(FakeSession([says("a"), says("b")]))
    async with app.run_test() as pilot:
        await settled(pilot)
        prompt = chat(app).prompt
        for text in ("one", "two"):
            await pilot.press(*text, "enter")
            await settled(pilot)
        await pilot.press(*"draft")
        walk = []
        for key in ("up", "up", "up", "down", "down", "down"):
            await pilot.press(key)
            walk.append(prompt.text)
        assert walk == ["two", "one", "one", "two", "draft", "draft"]


async def test_up_moves_inside_a_text_of_several_lines_first() -> None:
    app = chat_app(FakeSession())
    async with app.run_test() as pilot:
        await settled(pilot)
        await pilot.press(*"old", "enter")
        await settled(pilot)
        await pilot.press("a", "ctrl+j", "b", "up")
        assert chat(app).prompt.text == "a\nb"
        await pilot.press("up")
        assert chat(app).prompt.text == "old"


async def test_history_is_kept_across_runs(tmp_path: Path) -> None:
    config = Config(model=MODEL, paths=PathsConfig(history=str(tmp_path / "deep" / "history")))
    for text in ("first run", "second run"):
        app = chat_app(FakeSession(config=config))
        async with app.run_test() as pilot:
            await settled(pilot)
            await pilot.press(*text.replace(" ", "_"), "enter")
            await settled(pilot)
    app = chat_app(FakeSession(config=config))
    async with app.run_test() as pilot:
        await settled(pilot)
        await pilot.press("up", "up")
        assert chat(app).prompt.text == "first_run"


async def test_ctrl_r_finds_an_earlier_prompt() -> None:
    app = chat_app(FakeSession())
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        for text in ("rivers", "mountains", "river_beds"):
            await pilot.press(*text, "enter")
            await settled(pilot)
        await pilot.press(*"riv", "ctrl+r")
        await pilot.pause()
        assert [row.label for row in chat(app).menu.rows] == ["river_beds", "rivers"]
        await pilot.press("ctrl+r", "enter")
        assert chat(app).prompt.text == "rivers"
        assert not chat(app).menu.is_open


def test_a_history_that_cannot_be_written_costs_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    history = History(tmp_path / "file" / "history", 10)
    history.add(Written("still here"))
    assert history.older(Written("")) == Written("still here")


def test_nobody_else_may_read_the_history(tmp_path: Path) -> None:
    path = tmp_path / "history"
    for text in ("one", "two", "three"):
        History(path, 1).add(Written(text))
        assert path.stat().st_mode & 0o077 == 0
    assert list(History(path, 1).entries) == ["three"]
    assert [one.name for one in tmp_path.iterdir()] == ["history"]


def test_windows_that_remember_at_once_do_not_damage_each_others_lines(tmp_path: Path) -> None:
    path = tmp_path / "history"
    writers = [
        threading.Thread(
            target=lambda letter=letter: [History(path, 500).add(Written(letter * 20_000 + str(n))) for n in range(9)]
        )
        for letter in "abc"
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert len(History(path, 500).entries) == 27


def test_a_damaged_history_keeps_what_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "history"
    path.write_text('"good"\nnot json\n{"a": 1}\n"\\u001b[2J"\n\xff\n')
    assert list(History(path, 10).entries) == ["good", "␛[2J"]


def test_a_long_history_is_trimmed(tmp_path: Path) -> None:
    path = tmp_path / "history"
    path.write_text("".join(json.dumps(str(number)) + "\n" for number in range(50)))
    assert list(History(path, 10).entries) == [str(number) for number in range(40, 50)]
    assert len(path.read_text().splitlines()) == 10


@given(st.lists(st.text(min_size=1, max_size=5), max_size=10))
def test_going_back_and_forth_ends_at_the_draft(texts: list[str]) -> None:
    history = History(None, 100)
    for text in texts:
        history.add(Written(text))
    while history.older(Written("draft")) is not None:
        pass
    last = None
    while (entry := history.newer()) is not None:
        last = entry
    assert last == (Written("draft") if history.entries else None)


async def test_a_huge_paste_is_folded_and_sent_whole() -> None:
    session = FakeSession()
    app = chat_app(session)
    text = "".join(f"line {number} [/]\n" for number in range(50_000)) + "end"
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        prompt = chat(app).prompt
        await pilot.press(*"look:")
        prompt.post_message(events.Paste(text))
        await pilot.pause()
        assert prompt.text == "look:⟦paste 1: 50,001 lines⟧"
        await pilot.press("!", "backspace", "enter")
        await settled(pilot)
        assert session.sent == [f"look:{text}"]


async def test_backspace_deletes_a_folded_paste_as_one() -> None:
    app = chat_app(FakeSession())
    async with app.run_test() as pilot:
        await settled(pilot)
        prompt = chat(app).prompt
        await pilot.press("a")
        prompt.post_message(events.Paste("x" * LEAST_CHARACTERS))
        await pilot.pause()
        await pilot.press("backspace")
        assert prompt.text == "a"


async def test_a_pasted_escape_is_harmless() -> None:
    app = chat_app(FakeSession())
    async with app.run_test() as pilot:
        await settled(pilot)
        chat(app).prompt.post_message(events.Paste("a\r\nb\x1b[2J"))
        await pilot.pause()
        assert chat(app).prompt.text == "a\nb␛[2J"


@given(st.lists(st.text(max_size=30), max_size=4))
def test_unfolding_gives_back_what_was_folded(texts: list[str]) -> None:
    chips = Chips()
    folded = [chips.fold(text * 3000) for text in texts]
    assert chips.written("|".join(folded)).text == "|".join(text * 3000 for text in texts)


async def test_keys_are_remapped_by_id() -> None:
    session = FakeSession(config=Config(model=MODEL, keys={"send": "ctrl+s", "theme": "f9"}))
    app = chat_app(session)
    async with app.run_test() as pilot:
        await settled(pilot)
        await pilot.press("a", "ctrl+s")
        await settled(pilot)
        assert session.sent == ["a"]
        before = app.theme_name
        await pilot.press("f9")
        assert app.theme_name != before


async def test_an_unknown_key_id_is_named() -> None:
    app = chat_app(FakeSession(config=Config(model=MODEL, keys={"sned": "ctrl+s"})))
    async with app.run_test() as pilot:
        await settled(pilot)
        assert any("sned" in note.message for note in app._notifications)


def test_every_key_has_one_id_and_a_description() -> None:
    assert len({key.id for key in KEYS}) == len(KEYS)
    assert all(key.description for key in KEYS)
    assert bindings("chat")
    assert shown("palette", {}) == "^P"
    assert shown("palette", {"palette": "f5"}) == "F5"


async def test_vi_keys_scroll_the_chat_when_it_has_the_focus() -> None:
    app = chat_app(FakeSession([says("".join(f"line {n}\n\n" for n in range(80)))]))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press(*"hi", "enter")
        await settled(pilot)
        transcript = chat(app).transcript
        await pilot.press("tab", "g")
        await pilot.pause()
        assert transcript.scroll_y == 0
        places = [transcript.scroll_y]
        for key in ("j", "d", "k", "G"):
            await pilot.press(key)
            await pilot.pause()
            places.append(transcript.scroll_y)
        half = transcript.size.height // 2
        assert places[1:4] == [1, 1 + half, half]
        assert places[4] == transcript.max_scroll_y
        await pilot.press("i")
        assert isinstance(app.focused, Prompt)


async def test_ctrl_c_copies_a_selection_and_twice_without_one_leaves() -> None:
    app = chat_app(FakeSession())
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press(*"abc")
        chat(app).prompt.select_all()
        await pilot.press("ctrl+c")
        assert app.clipboard == "abc"
        chat(app).prompt.clear()
        await pilot.press("ctrl+c")
        await pilot.pause()
        assert "once more to quit" in seen(app)
        assert app.is_running
        await pilot.press("ctrl+c")
        await pilot.pause()
        assert not app.is_running
