"""A long chat costs what is near the view, and is where the reader left it."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets._markdown import MarkdownBlock

from mtpchat.messages import Message
from mtpchat.ui.widgets.nearness import KEPT_PAGES
from mtpchat.ui.widgets.transcript import Transcript
from tests.ui.conftest import STILL, chat, chat_app, seen, settled, until
from tests.ui.fake_session import FakeSession

ANSWER = "Answer {0}.\n\n" + "Some words that take more than one row when there are eighty columns of them.\n\n" * 12


def turns(count: int) -> list[Message]:
    said: list[Message] = []
    for number in range(count):
        said += [Message("user", f"Question {number}"), Message("assistant", ANSWER.format(number))]
    return said


async def shown(pilot: Pilot[Any], count: int) -> Transcript:
    await settled(pilot)
    transcript = chat(pilot.app).transcript
    await chat(pilot.app).presenter.show_chat(turns(count))
    await near_is_whole(pilot, transcript)
    return transcript


async def near_is_whole(pilot: Pilot[Any], transcript: Transcript) -> None:
    """Wait until everything that is in sight has been made."""
    top, bottom = lambda: transcript.scroll_y, lambda: transcript.scroll_y + transcript.size.height
    await until(
        pilot,
        lambda: all(
            entry.whole
            for entry in transcript.entries
            if entry.virtual_region.bottom > top() and entry.virtual_region.y < bottom()
        ),
    )


async def test_a_longer_chat_makes_and_lays_out_no_more_widgets() -> None:
    counts: list[tuple[int, int]] = []
    for count in (20, 80):
        app = chat_app(FakeSession([], config=STILL))
        async with app.run_test(size=(80, 24)) as pilot:
            await shown(pilot, count)
            counts.append((len(app.query(MarkdownBlock)), len(app.screen._compositor.full_map)))
            assert f"Answer {count - 1}." in seen(app) or "Some words" in seen(app)
    assert counts[0] == counts[1]


async def test_what_was_read_far_away_is_taken_apart_and_comes_back() -> None:
    app = chat_app(FakeSession([], config=STILL))
    async with app.run_test(size=(80, 24)) as pilot:
        transcript = await shown(pilot, 40)
        transcript.action_top()
        await until(pilot, lambda: "Answer 0." in seen(app))
        first = transcript.entries[1]
        assert first.whole
        height = first.virtual_region.height
        transcript.scroll_to(y=(KEPT_PAGES + 8) * 24, animate=False, immediate=True)
        await until(pilot, lambda: not first.whole)
        assert first.virtual_region.height == height
        transcript.action_top()
        await until(pilot, lambda: "Answer 0." in seen(app))
        assert first.virtual_region.height == height


async def test_what_was_taken_apart_takes_no_memory() -> None:
    app = chat_app(FakeSession([], config=STILL))
    async with app.run_test(size=(80, 24)) as pilot:
        transcript = await shown(pilot, 20)
        transcript.action_top()
        first = transcript.entries[1]
        await until(pilot, lambda: first.whole and bool(first.query(MarkdownBlock)) and "Answer 0." in seen(app))
        blocks = [weakref.ref(block) for block in first.query(MarkdownBlock)]
        transcript.action_end()
        await until(pilot, lambda: not first.whole and not first.query(MarkdownBlock))

        def gone() -> bool:
            gc.unfreeze()  # a quiet moment may have put them out of the collector's sight
            gc.collect()
            return not any(block() for block in blocks)

        await until(pilot, gone)


async def test_what_is_in_sight_stays_while_heights_above_become_known() -> None:
    app = chat_app(FakeSession([], config=STILL))
    async with app.run_test(size=(80, 24)) as pilot:
        transcript = await shown(pilot, 40)
        entry = transcript.entries[40]
        transcript.jump_to(entry)
        await near_is_whole(pilot, transcript)
        assert transcript.scroll_y == entry.virtual_region.y
        for _ in range(30):
            transcript.action_line_up()
            await pilot.pause()
        before = seen(app)
        transcript.action_line_up()
        transcript.action_line_down()
        await near_is_whole(pilot, transcript)
        assert seen(app) == before


@pytest.mark.parametrize("width", [40, 120])
async def test_heights_of_what_is_not_in_sight_follow_the_width(width: int) -> None:
    app = chat_app(FakeSession([], config=STILL))
    async with app.run_test(size=(80, 24)) as pilot:
        transcript = await shown(pilot, 30)
        transcript.action_top()
        await near_is_whole(pilot, transcript)
        first = transcript.entries[1]
        await until(pilot, lambda: not first.height_is_guessed)
        transcript.action_end()
        await until(pilot, lambda: first.height_is_guessed)
        before = first.virtual_region.height
        await pilot.resize_terminal(width, 24)
        await until(pilot, lambda: first.virtual_region.height != before)
        guessed = first.virtual_region.height
        transcript.action_top()
        await until(pilot, lambda: not first.height_is_guessed)
        real = first.virtual_region.height
        assert abs(guessed - real) <= max(abs(before - real) - 1, 3)
