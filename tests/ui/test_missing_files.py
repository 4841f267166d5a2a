"""A mention with no file behind it is told below the prompt, and once more where the line had no time to."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from mtpchat.headless import read_files
from mtpchat.ui.app import MtpChatApp
from mtpchat.ui.attached_view import Preview, preview_content
from tests.attachments.test_walk import plant
from tests.ui.conftest import chat, chat_app, seen, settled, until
from tests.ui.fake_session import FakeSession
from tests.ui.test_attached import send, written

SENTENCE = "no file src/sed.py: stays text; did you mean seed.py?"


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(tmp_path, "src/seed.py", "notes.md", text="Rivers bend.")
    monkeypatch.chdir(tmp_path)


async def test_the_line_says_which_file_is_not_there_and_which_may_be_meant() -> None:
    app = chat_app(FakeSession())
    async with app.run_test() as pilot:
        await settled(pilot)
        assert await written(pilot, "what does @src/sed.py do") == f"▤ {SENTENCE}"
        assert await written(pilot, "what does @src/seed.py do") == "▤ src/seed.py 12 B · 12 tokens"
        assert await written(pilot, "what does @property do") == ""


async def test_the_line_names_both_what_goes_along_and_what_does_not() -> None:
    app = chat_app(FakeSession())
    async with app.run_test(size=(120, 24)) as pilot:
        await settled(pilot)
        line = await written(pilot, "is @notes.md about @src/sed.py or not")
        assert line == f"▤ notes.md 12 B · 12 tokens · {SENTENCE}"


@pytest.mark.parametrize("width", range(0, 140, 7))
def test_the_line_fits_and_says_what_is_missing_as_long_as_it_can(width: int) -> None:
    preview = Preview((("notes.md", 12),), 12, missing=(SENTENCE, "no file b.py: stays text"))
    line = preview_content(preview, width)
    assert line.cell_length <= width
    if width > 70:
        assert "no file src/sed.py" in line.plain
    assert preview_content(Preview(missing=(SENTENCE,)), width).cell_length <= width


async def test_who_sends_before_the_line_was_there_is_told_and_who_has_seen_it_is_not_told_again() -> None:
    app = chat_app(FakeSession())
    async with app.run_test() as pilot:
        await settled(pilot)
        await send(pilot, "what does @src/sed.py do")
        await until(pilot, lambda: [one.message for one in app._notifications] == [SENTENCE])
        await written(pilot, "and what does @src/sad.py do")
        await pilot.press("enter")
        await settled(pilot)
        assert "no file" not in seen(app).partition("╭")[2]
        assert not chat(app).prompt.text
        assert [one.message for one in app._notifications] == [SENTENCE]


def is_counted(app: MtpChatApp, text: str) -> bool:
    """Whether the tokens of this prompt were counted, files included."""
    known = chat(app).area._tokens._counted
    return known is not None and known[0].text == text


async def test_nobody_is_told_more_than_the_line_says_while_typing() -> None:
    app = chat_app(FakeSession())
    async with app.run_test() as pilot:
        await settled(pilot)
        for text in ("what is in @src", "what does @src/sed.py", "what does @src/sed.py do"):
            await written(pilot, text)
            await until(pilot, partial(is_counted, app, text))
        assert not app._notifications


def test_an_answer_without_the_app_says_it_too() -> None:
    told: list[str] = []
    assert [one.name for one in read_files("@notes.md @src/sed.py @property", (), 20, told.append)] == ["notes.md"]
    assert told == [SENTENCE]
