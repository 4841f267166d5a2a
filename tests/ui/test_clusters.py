"""Wide, joined and combining characters: the cursor goes by what is seen as one, and nothing is cut inside of it."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from textual import events
from textual.pilot import Pilot

from mtpchat.ui.clusters import after, at_cell, before, borders, outside, snapped, widened
from tests.ui.conftest import STILL, chat, chat_app, seen, settled
from tests.ui.fake_session import FakeSession, says

FAMILY, FLAG, THUMB, ACCENT, HEART = "👨‍👩‍👧‍👦", "🇩🇪", "👍🏽", "e\u0301", "❤️"
CHARACTERS = [FAMILY, FLAG, THUMB, ACCENT, HEART, "日", "한", "ش", "ל", "a", "हि"]
TEXTS = st.lists(st.sampled_from(CHARACTERS), max_size=12)


@pytest.mark.parametrize("character", CHARACTERS)
def test_each_is_one(character: str) -> None:
    assert borders(character * 3) == [len(character) * number for number in range(4)]


@given(TEXTS)
def test_going_through_a_text_stops_between_its_characters(parts: list[str]) -> None:
    text = "".join(parts)
    ends = borders(text)
    places = [0]
    while places[-1] < len(text):
        places.append(after(ends, places[-1]))
    back = [len(text)]
    while back[-1]:
        back.append(before(ends, back[-1]))
    assert places == back[::-1] == ends


@given(st.text(max_size=20), st.integers(0, 20))
def test_any_text_has_borders_that_lead_on(text: str, index: int) -> None:
    index = min(index, len(text))
    places = borders(text)
    assert places[0] == 0
    assert places[-1] == len(text)
    assert places == sorted(set(places))
    assert snapped(places, index) <= index
    assert before(places, index) < index or index == 0
    assert after(places, index) > index or index == len(text)


@given(TEXTS, st.data())
def test_what_is_taken_in_part_is_taken_whole(parts: list[str], data: st.DataObject) -> None:
    text = "".join(parts)
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    places = borders(text)
    first, last = widened(places, start, end)
    assert first in places
    assert last in places
    assert first <= start
    assert last >= end or start == end
    assert (first == last) == (start == end)


@given(TEXTS, st.integers(0, 40))
def test_a_cell_belongs_to_the_character_that_is_painted_there(parts: list[str], cell: int) -> None:
    text = "".join(parts)
    place = at_cell(text, borders(text), cell)
    assert place in borders(text)
    assert cell_len(text[:place]) <= cell
    assert place == len(text) or cell_len(text[: after(borders(text), place)]) > cell


@given(TEXTS, st.data())
def test_nothing_stops_inside_of_a_stretch_that_counts_as_one(parts: list[str], data: st.DataObject) -> None:
    text = "".join(parts)
    start, end = sorted(data.draw(st.tuples(st.integers(0, len(text)), st.integers(0, len(text)))))
    places = outside(borders(text), [(start, end)])
    assert not [place for place in places if start < place < end]
    assert {place for place in borders(text) if place <= start or place >= end} == set(places)


async def prompted(pilot: Pilot[Any], text: str) -> Any:
    """The prompt with a text, the cursor at its end."""
    await settled(pilot)
    prompt = chat(pilot.app).prompt
    prompt.put(text)
    await pilot.pause()
    return prompt


@pytest.mark.parametrize("character", CHARACTERS)
async def test_left_right_backspace_and_delete_take_a_whole_character(character: str) -> None:
    app = chat_app(FakeSession(config=STILL))
    async with app.run_test(size=(60, 20)) as pilot:
        prompt = await prompted(pilot, f"x{character}y")
        await pilot.press("left", "left")
        assert prompt.cursor_location == (0, 1)
        await pilot.press("right")
        assert prompt.cursor_location == (0, 1 + len(character))
        await pilot.press("backspace")
        assert prompt.text == "xy"
        prompt.put(f"{character}y")
        await pilot.press("home", "delete")
        assert prompt.text == "y"


@pytest.mark.parametrize("character", CHARACTERS)
async def test_the_cursor_stands_where_the_text_before_it_ends(character: str) -> None:
    app = chat_app(FakeSession(config=STILL))
    async with app.run_test(size=(60, 20)) as pilot:
        prompt = await prompted(pilot, character * 4)
        assert prompt.cursor_screen_offset.x - prompt.content_region.x == cell_len(character * 4)


@pytest.mark.parametrize(
    "text", [c * 60 for c in CHARACTERS if c != HEART] + ["x" + "日" * 50, f"{FAMILY} {FLAG} " * 12]
)
async def test_a_wrapped_text_stays_inside(text: str) -> None:
    app = chat_app(FakeSession(config=STILL))
    async with app.run_test(size=(40, 20)) as pilot:
        prompt = await prompted(pilot, text)
        breaks = [0, *prompt.wrapped_document.get_offsets(0), len(prompt.text)]
        rows = [prompt.text[one:other] for one, other in pairwise(breaks)]
        assert all(cell_len(row) <= prompt.wrap_width for row in rows)


async def test_a_click_behind_an_emoji_of_several_parts_goes_there() -> None:
    app = chat_app(FakeSession(config=STILL))
    async with app.run_test(size=(60, 20)) as pilot:
        prompt = await prompted(pilot, f"{FAMILY}日abc")
        await pilot.click(prompt, offset=(2 + 5, 1))
        assert prompt.cursor_location == (0, len(FAMILY) + 2)


async def test_an_input_method_and_a_paste_bring_several_characters_at_once() -> None:
    app = chat_app(FakeSession(config=STILL))
    async with app.run_test(size=(60, 20)) as pilot:
        prompt = await prompted(pilot, "")
        await pilot.press(*"日本語で")
        prompt.post_message(events.Paste(f"貼り付け{FAMILY}\r\n二行目"))
        await pilot.pause()
        assert prompt.text == f"日本語で貼り付け{FAMILY}\n二行目"
        assert prompt.cursor_location == (1, 3)


@pytest.mark.parametrize("size", [(40, 12), (60, 20), (80, 24)])
async def test_no_line_of_the_screen_is_wider_than_it(size: tuple[int, int]) -> None:
    text = "".join(CHARACTERS) * 9
    app = chat_app(FakeSession([says(f"{text}\n\n| a | b |\n|---|---|\n| {text} | x |\n\n```\n{text}\n```")]))
    async with app.run_test(size=size) as pilot:
        await settled(pilot)
        await pilot.press(*"hi", "enter")
        await settled(pilot)
        strips = app.screen._compositor.render_strips(app.size)
        assert {strip.cell_length for strip in strips} == {size[0]}
        assert FAMILY in seen(app)
