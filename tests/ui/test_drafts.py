"""What was typed and not sent survives: a restart, a crash, another chat."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual import events

from mtpchat.chats import ChatLine, KeptChat
from mtpchat.config import ChatsConfig, Config
from mtpchat.messages import Attachment
from mtpchat.paths import drafts_dir
from mtpchat.ui import draft_keeper, drafts
from mtpchat.ui.chips import Written
from mtpchat.ui.draft_keeper import DraftKeeper
from mtpchat.ui.drafts import Draft, Drafts
from tests.ui.conftest import MODEL, chat, chat_app, seen, settled, until
from tests.ui.fake_session import FakeSession, Pause, says


def on_disk(name: str = "new") -> Draft:
    """What is in a file, whoever has it; an empty draft where there is none."""
    path = drafts_dir() / f"{name}.json"
    return drafts._decoded(json.loads(path.read_text())) if path.exists() else Draft()


async def test_unsent_text_comes_back_after_a_restart_with_its_paste_folded() -> None:
    paste = "\n".join(f"line {number}" for number in range(30))
    app = chat_app(FakeSession())
    async with app.run_test() as pilot:
        await settled(pilot)
        await pilot.press(*"look:")
        chat(app).prompt.post_message(events.Paste(paste))
        await pilot.pause()
    session = FakeSession()
    app = chat_app(session)
    async with app.run_test() as pilot:
        await settled(pilot)
        assert chat(app).prompt.text == "look:⟦paste 1: 30 lines⟧"
        await pilot.press("enter")
        await settled(pilot)
        assert session.sent == [f"look:{paste}"]
    assert list(drafts_dir().glob("*")) == []


async def test_a_killed_app_has_written_what_was_typed_a_moment_ago(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draft_keeper, "_AFTER_S", 0.01)
    app = chat_app(FakeSession())
    async with app.run_test() as pilot:
        await settled(pilot)
        await pilot.press(*"abc")
        await until(pilot, lambda: on_disk().written == Written("abc"))


async def test_waiting_prompts_are_on_disk_at_once_and_come_back_without_being_sent_by_themselves() -> None:
    pause = Pause()
    app = chat_app(FakeSession([[pause]]))
    async with app.run_test() as pilot:
        await settled(pilot)
        for text in ("zero", "one", "two"):
            await pilot.press(*text, "enter")
        await until(pilot, lambda: len(on_disk().waiting) == 2)
    session = FakeSession()
    app = chat_app(session)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        assert "not sent yet" in seen(app)
        assert session.sent == []
        await pilot.press("enter")
        await until(pilot, lambda: len(session.sent) == 2)
        assert session.sent == ["one", "two"]
        await settled(pilot)


async def test_each_chat_has_a_draft_of_its_own() -> None:
    session = FakeSession()
    app = chat_app(session)
    async with app.run_test() as pilot:
        await settled(pilot)
        await pilot.press(*"new")
        session.chat_id = "abcdef"
        session.messages = ()
        await chat(app).presenter.show_chat(())
        assert chat(app).prompt.text == ""
        await pilot.press(*"old")
        session.chat_id = ""
        await chat(app).presenter.show_chat(())
        assert chat(app).prompt.text == "new"
    assert Drafts(drafts_dir()).read("abcdef").written == Written("old")


async def test_the_draft_of_a_new_chat_moves_along_when_the_chat_gets_its_id() -> None:
    pause = Pause()
    session = FakeSession([[pause, *says("a")]])
    app = chat_app(session)
    async with app.run_test() as pilot:
        await settled(pilot)
        await pilot.press("a", "enter")
        await until(pilot, pause.reached.is_set)
        session.chat_id = "abcdef"
        await pilot.press(*"next")
        pause.gate.set()
        await settled(pilot)
    assert [path.name for path in drafts_dir().iterdir()] == ["abcdef.json"]


async def test_a_chat_that_is_gone_on_with_does_not_show_the_draft_of_the_new_one() -> None:
    writer = Drafts(drafts_dir())
    writer.put("", Draft(Written("for a new chat")))
    writer.put("abcdef", Draft(Written("for this one")))
    writer.write_out()
    writer.close()

    class Kept(FakeSession):
        def resume(self, chat: KeptChat) -> None:
            super().resume(chat)
            self.chat_id = chat.line.id

    session = Kept()

    class Archive(type(session.archive)):  # type: ignore[misc]
        async def open(self, reference: str) -> KeptChat:
            return KeptChat(ChatLine(1, "abcdef", "t", 0.0, 0.0, 0), ())

    session.archive = Archive()
    app = chat_app(session, resume="")
    async with app.run_test() as pilot:
        await settled(pilot)
        await until(pilot, lambda: chat(app).prompt.text == "for this one")
    assert on_disk().written == Written("for a new chat")


async def test_nothing_is_kept_where_nothing_is_to_be_saved() -> None:
    app = chat_app(FakeSession(config=Config(model=MODEL, chats=ChatsConfig(save=False))))
    async with app.run_test() as pilot:
        await settled(pilot)
        await pilot.press(*"secret")
    assert not drafts_dir().exists()


@pytest.mark.parametrize("content", ["", "[]", "{", '{"text": 3}', '{"text": "a", "waiting": 5}', '{"waiting": [1]}'])
def test_a_damaged_draft_is_an_empty_one(tmp_path: Path, content: str) -> None:
    (tmp_path / "new.json").write_text(content)
    assert not Drafts(tmp_path).read("")


@given(st.text(max_size=50).filter(lambda text: text.isprintable()), st.data())
def test_what_is_written_is_read(text: str, data: st.DataObject) -> None:
    places = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6, unique=True)))
    folds = tuple(zip(places[::2], places[1::2], strict=False))
    draft = Draft(Written("x" + text, tuple((first + 1, last + 1) for first, last in folds)), (Written("w"),))
    assert drafts._decoded(json.loads(json.dumps(drafts._encoded(draft)))) == draft


def test_drafts_are_bounded_in_size_and_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drafts, "_MOST_FILES", 3)
    writer = Drafts(tmp_path)
    for number in range(5):
        writer.put(f"chat{number}", Draft(Written("x")))
        writer.write_out()
        os.utime(tmp_path / f"chat{number}.json", (number, number))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["chat2.json", "chat3.json", "chat4.json"]
    writer.put("chat4", Draft(Written("x" * 3_000_000)))
    writer.write_out()
    assert not (tmp_path / "chat4.json").exists()


def test_a_folder_that_cannot_be_written_costs_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    writer = Drafts(tmp_path / "file" / "drafts")
    writer.put("", Draft(Written("x")))
    writer.write_out()
    assert not writer.read("")


def test_nobody_else_may_read_a_draft(tmp_path: Path) -> None:
    writer = Drafts(tmp_path)
    writer.put("", Draft(Written("x")))
    writer.write_out()
    assert (tmp_path / "new.json").stat().st_mode & 0o077 == 0


def test_a_name_that_leads_elsewhere_is_no_chat(tmp_path: Path) -> None:
    writer = Drafts(tmp_path / "drafts")
    writer.put("../evil", Draft(Written("x")))
    writer.write_out()
    assert list(tmp_path.rglob("*.json")) == []


async def test_drawing_a_chat_anew_that_has_just_begun_takes_nothing_out_of_the_prompt() -> None:
    pause = Pause()
    session = FakeSession([[pause, *says("a")]])
    app = chat_app(session)
    async with app.run_test() as pilot:
        await settled(pilot)
        await pilot.press("a", "enter")
        await until(pilot, pause.reached.is_set)
        session.chat_id = "abcdef"
        pause.gate.set()
        await settled(pilot)
        await pilot.press(*"typed")
        await chat(app).presenter.show_chat(session.messages)
        assert chat(app).prompt.text == "typed"


async def test_a_waiting_prompt_that_is_being_edited_is_kept_once() -> None:
    pause = Pause()
    app = chat_app(FakeSession([[pause]]))
    async with app.run_test() as pilot:
        await settled(pilot)
        for text in ("zero", "one", "two"):
            await pilot.press(*text, "enter")
        await until(pilot, pause.reached.is_set)
        await pilot.press("up", "!")
    assert on_disk() == Draft(Written("two!"), (Written("one"),))


async def test_a_file_that_is_named_at_the_start_stands_below_what_was_unsent() -> None:
    app = chat_app(FakeSession())
    async with app.run_test() as pilot:
        await settled(pilot)
        await pilot.press(*"abc")
    app = chat_app(FakeSession(), beginning="@x.py ")
    async with app.run_test() as pilot:
        await settled(pilot)
        assert chat(app).prompt.text == "abc\n\n@x.py "


def test_what_a_killed_process_had_not_finished_writing_is_removed_after_an_hour(tmp_path: Path) -> None:
    old, fresh = tmp_path / ".one.json.0a1b2c3d4e5f.tmp", tmp_path / ".two.json.0a1b2c3d4e5f.tmp"
    for path in (old, fresh):
        path.write_text("{")
    os.utime(old, (1.0, 1.0))
    kept = Drafts(tmp_path)
    kept.put("chat", Draft(Written("half")))
    kept.write_out()
    assert not old.exists()
    assert fresh.exists()


async def test_what_is_typed_while_the_app_begins_is_not_taken_for_what_was_left(tmp_path: Path) -> None:
    left, typed = Draft(waiting=(Written("of the last time"),)), Draft(waiting=(Written("typed at once"),))
    drafts = Drafts(tmp_path)
    drafts.put("", left)
    drafts.write_out()
    app = chat_app(FakeSession())
    async with app.run_test() as pilot:
        await settled(pilot)
        keeper = DraftKeeper(drafts, chat(app).area, lambda: "", lambda: typed, lambda: 0.0)
        keeper.touch()
        keeper.flush()
        assert keeper.begin() == left
        keeper.flush()
        assert drafts.read("") == typed


async def test_what_is_typed_before_a_chat_is_opened_is_typed_in_that_chat() -> None:
    writer = Drafts(drafts_dir())
    writer.put("", Draft(Written("for a new chat")))
    writer.put("abcdef", Draft(Written("of the last time")))
    writer.write_out()
    writer.close()
    session = FakeSession()
    app = chat_app(session)
    async with app.run_test() as pilot:
        await settled(pilot)
        area = chat(app).area
        area._keeper = DraftKeeper(Drafts(drafts_dir()), area, lambda: session.chat_id, area._unsent, lambda: 0.0)
        chat(app).prompt.put("at once")
        session.chat_id = "abcdef"
        area.follow_chat()
        assert chat(app).prompt.text == "of the last time\n\nat once"
        area._keeper.close()
    assert on_disk() == Draft(Written("for a new chat"))
    assert on_disk("abcdef").written == Written("of the last time\n\nat once")


async def test_what_was_unsent_before_an_earlier_message_was_edited_is_kept() -> None:
    app = chat_app(FakeSession([says("Rivers bend.")]))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press(*"hi", "enter")
        await settled(pilot)
        await pilot.press(*"half", "tab", "left_square_bracket", "e")
        await until(pilot, lambda: chat(app).prompt.text == "hi")
        await pilot.press("!")
    assert [on_disk(path.stem).written for path in drafts_dir().glob("*.json")] == [Written("half\n\nhi!")]


async def test_a_message_whose_files_are_still_read_when_the_app_leaves_stays_unsent(tmp_path: Path) -> None:
    app = chat_app(session := FakeSession())
    reading, never = asyncio.Event(), asyncio.Event()

    async def slow(_job: object) -> tuple[Attachment, ...]:
        reading.set()
        await never.wait()
        return ()

    async with app.run_test() as pilot:
        await settled(pilot)
        chat(app).turns.files_of = slow
        await pilot.press(*"hi", "enter")
        await until(pilot, reading.is_set)
    assert session.sent == []
    assert on_disk() == Draft(waiting=(Written("hi"),))


async def test_stopping_while_a_waiting_prompt_is_edited_brings_it_back_once() -> None:
    pause = Pause()
    app = chat_app(FakeSession([[pause]]))
    async with app.run_test() as pilot:
        await settled(pilot)
        for text in ("zero", "one", "two"):
            await pilot.press(*text, "enter")
        await until(pilot, pause.reached.is_set)
        await pilot.press("up", "!", "ctrl+c")
        await settled(pilot)
        assert chat(app).prompt.text == "one\n\ntwo!"
