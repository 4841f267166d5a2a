"""Files of a message on the screen: the line before it is sent, the lines below it, and what cannot be sent."""

from __future__ import annotations

import os
import threading
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path

import pytest
from textual.pilot import Pilot

from mtpchat.attachments.reading import FileRead
from mtpchat.errors import ContextFull
from mtpchat.events import LoadFinished, TurnEvent
from mtpchat.messages import Attachment, Message
from mtpchat.ui.app import MtpChatApp
from mtpchat.ui.attached import _still_meant
from mtpchat.ui.attached_view import Preview, file_lines, preview_content
from mtpchat.ui.chips import Written
from tests.attachments.test_walk import plant
from tests.ui.conftest import chat, chat_app, seen, settled, until
from tests.ui.fake_session import FACTS, FakeSession, Pause, says

NOTES = Attachment("notes.md", "Rivers bend.")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a file."""
    plant(tmp_path, "notes.md", text="Rivers bend.")
    monkeypatch.chdir(tmp_path)
    return tmp_path


async def written(pilot: Pilot[object], text: str | Written) -> str:
    """The line below the prompt for that text."""
    app = pilot.app
    assert isinstance(app, MtpChatApp)
    attached = chat(app).area.attached
    chat(app).prompt.put(text)
    await pilot.pause()
    await until(pilot, lambda: attached._wanted is None and not attached._looking)
    return str(attached.line.render()) if attached.line.display else ""


async def send(pilot: Pilot[object], text: str | Written) -> None:
    app = pilot.app
    assert isinstance(app, MtpChatApp)
    chat(app).prompt.put(text)
    await pilot.press("enter")
    await settled(pilot)


async def test_the_line_says_what_would_go_along_and_goes_with_the_mention(place: Path) -> None:
    app = chat_app(FakeSession())
    async with app.run_test() as pilot:
        await settled(pilot)
        assert await written(pilot, "what is @notes.md?") == "▤ notes.md 12 B · 12 tokens"
        assert "▤ notes.md 12 B · 12 tokens" in seen(app)
        assert await written(pilot, "what is @nothing?") == ""
        assert await written(pilot, "me@notes.md") == ""


async def test_what_was_rough_while_nothing_could_be_counted_is_counted_then(place: Path) -> None:
    pause = Pause()
    session = FakeSession(load=[pause, LoadFinished(FACTS)])
    app = chat_app(session)
    async with app.run_test() as pilot:
        await until(pilot, pause.reached.is_set)
        assert await written(pilot, "what is @notes.md?") == "▤ notes.md 12 B · ~3 tokens"
        pause.gate.set()
        await until(pilot, lambda: str(chat(app).area.attached.line.render()) == "▤ notes.md 12 B · 12 tokens")


async def test_the_line_says_why_a_file_cannot_go_along(place: Path) -> None:
    app = chat_app(FakeSession())
    async with app.run_test() as pilot:
        await settled(pilot)
        assert await written(pilot, "what is in @/dev/zero") == "▤ /dev/zero is a device, no file"
        (place / "picture.txt").write_bytes(b"\x89PNG\r\n\x1a\n\x00")
        assert await written(pilot, "@picture.txt") == "▤ picture.txt is a picture, no text"


async def test_more_than_the_context_holds_is_said_before_sending(place: Path) -> None:
    plant(place, "large.md", text="x" * 9000)
    plant(place, "half.md", text="x" * 8190)
    app = chat_app(FakeSession())
    async with app.run_test(size=(120, 30)) as pilot:
        await settled(pilot)
        line = await written(pilot, "sum up @large.md")
        assert line == "▤ large.md 9.0 kB · 9,000 tokens · the context holds 8,192: send a part, or set a larger -c"
        line = await written(pilot, "sum up @half.md")
        assert line == "▤ half.md 8.2 kB · 8,190 tokens · with the chat 8,208: /compact"


async def test_a_message_goes_with_its_files_and_shows_them(place: Path) -> None:
    session = FakeSession([says("Yes.")])
    app = chat_app(session)
    async with app.run_test() as pilot:
        await settled(pilot)
        await written(pilot, "what is @notes.md?")
        await pilot.press("enter")
        await settled(pilot)
        assert session.messages[0] == Message("user", "what is @notes.md?", attachments=(NOTES,))
        assert "▤ notes.md · 12 B · 12 tokens" in seen(app)


async def test_a_file_is_read_as_it_is_when_it_is_sent(place: Path) -> None:
    session = FakeSession([says("Yes.")])
    app = chat_app(session)
    async with app.run_test() as pilot:
        await settled(pilot)
        await written(pilot, "what is @notes.md?")
        (place / "notes.md").write_text("They cut their banks.")
        await pilot.press("enter")
        await settled(pilot)
        assert session.messages[0].attachments == (Attachment("notes.md", "They cut their banks."),)


async def test_what_cannot_be_read_sends_nothing_and_leaves_the_prompt_as_it_was(place: Path) -> None:
    os.mkfifo(place / "pipe")
    session = FakeSession([says("Yes.")])
    app = chat_app(session)
    async with app.run_test() as pilot:
        await settled(pilot)
        await send(pilot, "read @notes.md and @pipe")
        assert session.sent == []
        assert chat(app).prompt.text == "read @notes.md and @pipe"
        assert "pipe is a pipe, no file" in seen(app)
        assert "To send the path as text" in seen(app)
        await send(pilot, "read @notes.md and @ pipe")
        assert session.messages[0].attachments == (NOTES,)


async def test_a_file_that_has_vanished_is_told_and_its_path_is_not_sent(place: Path) -> None:
    session = FakeSession([says("Yes.")])
    app = chat_app(session)
    async with app.run_test() as pilot:
        await settled(pilot)
        await written(pilot, "what is @notes.md?")
        (place / "notes.md").unlink()
        await pilot.press("enter")
        await settled(pilot)
        assert session.sent == []
        assert chat(app).prompt.text == "what is @notes.md?"
        assert "notes.md is not there any more" in seen(app)


class FullSession(FakeSession):
    """Has no room for anything."""

    async def send(self, text: str, attachments: Sequence[Attachment] = ()) -> AsyncGenerator[TurnEvent, None]:
        if len(self.messages) < 2:
            async for event in super().send(text, attachments):
                yield event
            return
        raise ContextFull("This does not fit.", hint="/compact")


async def test_a_message_that_does_not_fit_stands_in_the_prompt_again(place: Path) -> None:
    session = FullSession([says("Yes.")])
    app = chat_app(session)
    async with app.run_test() as pilot:
        await settled(pilot)
        await send(pilot, "short")
        await send(pilot, "sum up @notes.md")
        assert chat(app).prompt.text == "sum up @notes.md"
        assert "This does not fit." in seen(app)
        assert [entry.source for entry in chat(app).transcript.entries] == ["short", "Yes."]


async def test_escape_ends_the_wait_for_a_file_and_the_text_comes_back(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, reached = threading.Event(), threading.Event()

    def slow(path: Path, name: str, most_mb: int, _lines: object) -> FileRead:
        reached.set()
        gate.wait(20)
        return FileRead(NOTES)

    monkeypatch.setattr("mtpchat.ui.attaching.read_file", slow)
    session = FakeSession([says("Yes.")])
    app = chat_app(session)
    async with app.run_test() as pilot:
        await settled(pilot)
        chat(app).prompt.put("what is @notes.md?")
        await pilot.press("enter")
        await until(pilot, reached.is_set)
        await pilot.press("escape")
        await settled(pilot)
        assert session.sent == []
        assert chat(app).prompt.text == "what is @notes.md?"
        gate.set()


async def test_what_is_folded_in_the_prompt_names_no_files(place: Path) -> None:
    session = FakeSession([says("Yes.")])
    app = chat_app(session)
    pasted = "@notes.md\n" * 30
    async with app.run_test() as pilot:
        await settled(pilot)
        text = Written(f"explain {pasted}", ((8, 8 + len(pasted)),))
        assert await written(pilot, text) == ""
        await send(pilot, text)
        assert session.messages[0].attachments == ()


async def test_waiting_prompts_read_their_files_when_it_is_their_turn(place: Path) -> None:
    session = FakeSession([says("One."), says("Two.")])
    app = chat_app(session)
    async with app.run_test() as pilot:
        await settled(pilot)
        chat(app).prompt.put("first")
        await pilot.press("enter")
        chat(app).prompt.put("then @notes.md")
        await pilot.press("enter")
        await until(pilot, lambda: len(session.messages) == 4)
        assert session.messages[2].attachments == (NOTES,)


async def test_a_message_in_other_words_reads_the_files_that_it_names_now(place: Path) -> None:
    plant(place, "more.md", text="They cut their banks.")
    session = FakeSession([says("One."), says("Two.")])
    app = chat_app(session)
    async with app.run_test() as pilot:
        await settled(pilot)
        await send(pilot, "what is @notes.md?")
        chat(app).turns.edit(0, "what are @notes.md and @more.md?")
        await settled(pilot)
        assert session.messages[0].attachments == (NOTES, Attachment("more.md", "They cut their banks."))
        assert "▤ more.md · 21 B" in seen(app)
        chat(app).turns.edit(0, "what is @more.md?")
        await settled(pilot)
        assert session.messages[0].attachments == (Attachment("more.md", "They cut their banks."),)


async def test_a_chat_that_is_drawn_anew_shows_its_files(place: Path) -> None:
    session = FakeSession()
    session.messages = (Message("user", "what?", attachments=(NOTES,)), Message("assistant", "That."))
    app = chat_app(session)
    async with app.run_test() as pilot:
        await settled(pilot)
        assert "▤ notes.md · 12 B · ~3 tokens" in seen(app)


def test_other_words_keep_the_files_that_they_still_mean() -> None:
    said = Message(
        "user",
        "compare @a.md and @src/",
        attachments=(Attachment("a.md", "a"), Attachment("src/b.py", "b"), Attachment("given.md", "c")),
    )
    kept = [one.name for one in _still_meant(said, "explain @a.md", ())]
    assert kept == ["a.md", "given.md"]
    assert [one.name for one in _still_meant(said, "explain", ())] == ["given.md"]
    assert [one.name for one in _still_meant(said, "explain @a.md", (Attachment("a.md", "new"),))] == ["given.md"]


@pytest.mark.parametrize("width", [1, 8, 20, 40, 80, 160])
def test_the_line_never_is_wider_than_its_room(width: int) -> None:
    for preview in (
        Preview((("a/very/long/path/to/some/notes.md", 3100),), 812, 4096, "read as utf-16"),
        Preview(tuple((f"{at}.md", 99) for at in range(12)), 9000, 4096),
        Preview((("日本語の名前.md", 3100),), None, 4096, needed=5000),
        Preview(trouble="/dev/zero is a device, no file"),
        Preview(),
    ):
        assert preview_content(preview, width).cell_length <= width


def test_many_files_are_told_by_their_number_and_names_are_shown_as_they_are() -> None:
    files = tuple(Attachment(f"[b]{at}\x1b[2J.md", "x" * 4000) for at in range(9))
    lines = str(file_lines(files, [812])).split("\n")
    assert lines[0] == "▤ [b]0␛[2J.md · 4.0 kB · 812 tokens"
    assert lines[-1] == "▤ 3 more · 12.0 kB · ~3.0k tokens"
    assert len(lines) == 7
