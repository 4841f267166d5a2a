"""Whatever a model or a file says, the screen shows text and nothing else happens."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from textual.app import App

from mtpchat.chats import ChatLine
from mtpchat.events import Finished, TextDelta
from mtpchat.messages import Attachment, Message
from mtpchat.ui.blocks import BlockSplitter
from mtpchat.ui.chats_view import Row, row
from mtpchat.ui.light import LightLines, RawLines
from mtpchat.ui.long_lines import MOST, bounded
from mtpchat.ui.safe_text import safe_text
from mtpchat.ui.widgets.answer import Answer
from mtpchat.ui.widgets.table import TableText, column_widths
from tests.ui.conftest import STILL, chat, chat_app, settled, until
from tests.ui.fake_session import STATS, FakeSession, Step
from tests.ui.hostile import GALLERY

FORBIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
ANY = st.text(alphabet=st.one_of(st.characters(exclude_categories=[]), st.sampled_from("\x1b`*_[]()<>|#-~\n\t :!\\")))
PIECE = 97


def assert_text_alone(app: App[Any]) -> None:
    """What is written to a terminal is made of these pieces: text without control characters, and no links."""
    for strip in app.screen._compositor.render_strips(app.size):
        for segment in strip:
            assert not segment.control
            assert not FORBIDDEN.search(segment.text), repr(segment.text)
            assert segment.style is None or segment.style.link is None


def said_in_pieces(text: str, channel: Any = "answer") -> list[Step]:
    """A turn of pieces of some characters; what is long comes in at most a hundred."""
    size = max(PIECE, len(text) // 100)
    steps: list[Step] = [TextDelta(text[at : at + size], channel) for at in range(0, len(text), size)]
    message = Message("assistant", text) if channel == "answer" else Message("assistant", "done", text)
    return [*steps, Finished(message, STATS, "stop")]


@pytest.mark.parametrize("name", GALLERY)
async def test_an_answer_is_shown_as_text_while_it_grows_and_when_it_is_whole(name: str) -> None:
    app = chat_app(FakeSession([said_in_pieces(GALLERY[name])], config=STILL))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press(*"hi", "enter")
        transcript = chat(app).transcript
        await until(pilot, lambda: bool(transcript.query(Answer)))
        assert_text_alone(app)
        await settled(pilot)
        assert_text_alone(app)
        answer = transcript.last_answer()
        assert answer is not None
        assert answer.source == GALLERY[name]  # copies have all of it, as it was


@pytest.mark.parametrize("name", GALLERY)
async def test_thoughts_messages_files_notices_and_errors_are_shown_as_text(name: str) -> None:
    text = GALLERY[name]
    app = chat_app(FakeSession([], config=STILL))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        presenter = chat(app).presenter
        await presenter.show_chat(
            [Message("user", text, attachments=(Attachment(text[:80], text),)), Message("assistant", "", text)]
        )
        await pilot.pause()
        assert_text_alone(app)
        await pilot.press("tab", "z", "t")
        await pilot.pause()
        assert_text_alone(app)
        await presenter.notice(text, command=text[:2000])
        await presenter.error(text, text)
        await pilot.pause()
        assert_text_alone(app)


@pytest.mark.parametrize("name", GALLERY)
def test_a_title_is_one_line_of_text(name: str) -> None:
    shown = row(Row(ChatLine(1, "a", GALLERY[name], 0.0, 0.0, 2)), 80, marked=True, is_open=False, now=1.0).plain
    assert not FORBIDDEN.search(shown)


@settings(max_examples=200, deadline=None)
@given(ANY, st.integers(1, 40))
def test_the_light_form_of_any_text_is_text_without_control_characters(text: str, size: int) -> None:
    text = safe_text(text)
    for maker in (LightLines(), RawLines()):
        splitter = BlockSplitter()
        for at in range(0, len(text), size):
            for piece in splitter.feed(text[at : at + size]):
                for line in maker.settle(piece.text):
                    assert not FORBIDDEN.search(line.text.plain)
            for line in maker.preview(splitter.open):
                assert not FORBIDDEN.search(line.text.plain)


@given(st.text(alphabet="ab\n", max_size=200), st.integers(1, 30))
def test_lines_are_bounded_and_short_ones_left_alone(text: str, most: int) -> None:
    for line, shown in zip(text.split("\n"), bounded(text, most).split("\n"), strict=True):
        assert shown == line if len(line) <= most else shown.startswith(line[:most] + " … ")


async def test_of_a_line_without_end_little_is_laid_out_at_each_piece() -> None:
    made = Counter[str]()
    lines = LightLines()
    for length in (10_000, 100_000, 1_000_000):
        (line,) = lines.preview("word " * (length // 5))
        made[str(length)] = len(line.text.plain)
    assert max(made.values()) < MOST + 100


def test_columns_without_end_are_narrowed_without_counting_their_cells() -> None:
    class Counted(int):
        """A width so large that taking away one cell at a time would never end."""

    assert sum(column_widths([Counted(10**12), Counted(10**12)], 80)) <= 77


async def test_a_table_is_made_once_for_a_width(monkeypatch: pytest.MonkeyPatch) -> None:
    from mtpchat.ui.widgets import table

    made: list[int] = []
    original = table.table_content
    monkeypatch.setattr(table, "table_content", lambda *args: made.append(args[2]) or original(*args))
    app = chat_app(FakeSession([said_in_pieces(GALLERY["a high table"])], config=STILL))
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press(*"hi", "enter")
        await settled(pilot)
        await until(pilot, lambda: bool(app.query(TableText)))
        made.clear()
        for _ in range(3):
            app.screen.refresh(layout=True)
            await pilot.pause()
            await asyncio.sleep(0)
        assert not made
