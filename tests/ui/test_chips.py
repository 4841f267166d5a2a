"""Folded pastes: what stands in the prompt, what is sent, and that they come back folded from wherever they were."""

from __future__ import annotations

import json
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual import events

from mtpchat.messages import Message
from mtpchat.ui.chips import Chips, Written, joined
from mtpchat.ui.history import History, written_from
from mtpchat.ui.history_search import excerpt, history_rows
from tests.ui.conftest import chat, chat_app, seen, settled
from tests.ui.fake_session import FakeSession, says

LINES = "\n".join(f"line {number}" for number in range(21))


@st.composite
def written(draw: st.DrawFn) -> Written:
    text = draw(st.text(st.sampled_from("ab⟦⟧ paste12:\n"), min_size=1, max_size=60))
    places = sorted(draw(st.lists(st.integers(0, len(text)), max_size=8, unique=True)))
    return Written(text, tuple(zip(places[::2], places[1::2], strict=False)))


@given(written())
def test_what_is_shown_stands_for_what_was_written(one: Written) -> None:
    chips = Chips()
    assert chips.written(chips.show(one)) == one or "⟦" in one.text
    if "⟦" not in one.text:
        assert chips.written(chips.show(one)).text == one.text


def test_a_paste_that_contains_the_label_of_another_is_not_unfolded_twice() -> None:
    chips = Chips()
    first = chips.fold(LINES)
    second = chips.fold(f"{first}\n{LINES}")
    assert chips.written(f"{second}|{first}").text == f"{first}\n{LINES}|{LINES}"


@given(st.lists(written(), max_size=4))
def test_texts_that_are_joined_keep_their_folds(texts: list[Written]) -> None:
    whole = joined(texts)
    assert whole.text == "\n\n".join(one.text for one in texts)
    kept = [whole.text[start:end] for start, end in whole.folds]
    assert kept == [one.text[start:end] for one in texts for start, end in one.folds]


@given(written())
def test_folds_survive_the_loss_of_empty_lines_around(one: Written) -> None:
    stripped = one.stripped()
    assert stripped.text == one.text.strip("\n")
    assert all(0 <= start < end <= len(stripped.text) for start, end in stripped.folds)


@given(written())
def test_the_file_of_prompts_gives_back_what_was_folded(one: Written) -> None:
    assert written_from(one.text, json.loads(json.dumps(one.folds))) == one


@pytest.mark.parametrize("folds", [None, 3, [[0]], [[0, "1"]], [[-1, 2]], [[2, 1]], [[0, 99]], [[0, 3], [1, 4]]])
def test_folds_that_cannot_be_are_left_out(folds: object) -> None:
    assert written_from("abcdef", folds) == Written("abcdef")


def test_pastes_of_more_than_twenty_lines_are_folded_and_shorter_ones_are_not() -> None:
    assert Chips().fold(LINES) == "⟦paste 1: 21 lines⟧"
    twenty = LINES.rsplit("\n", 1)[0]
    assert Chips().fold(twenty) == twenty


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        (("backspace",), "look  now"),
        (("ctrl+w",), "look  now"),
        (("left", "delete"), "look  now"),
        (("left", "alt+delete"), "look  now"),
        (("ctrl+left", "delete"), "look  now"),
        (("shift+left", "x"), "look x now"),
        (("left", "right", "x"), "look {}x now"),
        (("left", "ctrl+right", "x"), "look {}x now"),
    ],
)
async def test_no_key_leaves_a_part_of_a_folded_paste(keys: tuple[str, ...], text: str) -> None:
    app = chat_app(FakeSession())
    async with app.run_test() as pilot:
        await settled(pilot)
        prompt = chat(app).prompt
        await pilot.press(*"look  now", *["left"] * 4)
        prompt.post_message(events.Paste(LINES))
        await pilot.pause()
        await pilot.press(*keys)
        await pilot.pause()
        assert prompt.text == text.format("⟦paste 1: 21 lines⟧")
        await pilot.press("ctrl+underscore")
        assert LINES in prompt.written.text


async def test_a_click_into_a_folded_paste_goes_to_its_beginning() -> None:
    app = chat_app(FakeSession())
    async with app.run_test() as pilot:
        await settled(pilot)
        prompt = chat(app).prompt
        await pilot.press("a")
        prompt.post_message(events.Paste(LINES))
        await pilot.pause()
        await pilot.click(prompt, offset=(10, 1))
        assert prompt.cursor_location == (0, 1)


async def test_a_prompt_from_an_earlier_run_comes_back_folded() -> None:
    for _ in range(2):
        app = chat_app(FakeSession())
        async with app.run_test() as pilot:
            await settled(pilot)
            await pilot.press("up")
            if not chat(app).prompt.text:
                await pilot.press(*"look ")
                chat(app).prompt.post_message(events.Paste(LINES))
                await pilot.pause()
                await pilot.press("enter")
                await settled(pilot)
            else:
                assert chat(app).prompt.text == "look ⟦paste 1: 21 lines⟧"
                return
    pytest.fail("the prompt did not come back")


async def test_a_message_that_is_taken_back_comes_back_folded() -> None:
    session = FakeSession([says("a")])
    app = chat_app(session)
    async with app.run_test() as pilot:
        await settled(pilot)
        await pilot.press(*"look ")
        chat(app).prompt.post_message(events.Paste(LINES))
        await pilot.pause()
        await pilot.press("enter")
        await settled(pilot)
        assert session.messages[0] == Message("user", f"look {LINES}")
        await pilot.press(*"/undo", "enter")
        await pilot.pause()
        assert chat(app).prompt.text == "look ⟦paste 1: 21 lines⟧"


async def test_a_megabyte_is_pasted_remembered_and_sent_whole() -> None:
    text = "word [/] \x1b" * 120_000
    session = FakeSession()
    app = chat_app(session)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        chat(app).prompt.post_message(events.Paste(text))
        await pilot.pause()
        assert len(chat(app).prompt.text) < 60
        await pilot.press("enter")
        await settled(pilot)
        assert session.sent == [text.replace("\x1b", "␛")]
        await pilot.press("up")
        assert len(chat(app).prompt.text) < 60
        await pilot.press("enter")
        await settled(pilot)
        assert session.sent[1] == session.sent[0]


async def test_the_editor_is_given_the_whole_text_and_what_stays_is_folded_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    seen_there = tmp_path / "seen"
    code = (
        f"import sys, pathlib; p = pathlib.Path(sys.argv[1]); t = p.read_text(); "
        f'pathlib.Path("{seen_there}").write_text(t); p.write_text("now " + t)'
    )
    monkeypatch.setenv("VISUAL", f"{sys.executable} -c '{code}'")
    app = chat_app(FakeSession())
    monkeypatch.setattr(app, "suspend", nullcontext)
    async with app.run_test() as pilot:
        await settled(pilot)
        await pilot.press(*"look ")
        chat(app).prompt.post_message(events.Paste(LINES))
        await pilot.pause()
        await pilot.press("ctrl+g")
        await pilot.pause()
        assert seen_there.read_text() == f"look {LINES}"
        assert chat(app).prompt.text == "now look ⟦paste 1: 21 lines⟧"


async def test_a_failing_editor_is_told_and_the_text_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISUAL", "/no/such/editor")
    app = chat_app(FakeSession())
    monkeypatch.setattr(app, "suspend", nullcontext)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press(*"abc", "ctrl+g")
        await pilot.pause()
        assert chat(app).prompt.text == "abc"
        assert "/no/such/editor cannot be started" in seen(app)


async def test_escape_in_the_search_brings_back_what_was_typed() -> None:
    app = chat_app(FakeSession())
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        for text in ("rivers", "mountains"):
            await pilot.press(*text, "enter")
            await settled(pilot)
        await pilot.press(*"riv")
        chat(app).prompt.post_message(events.Paste(LINES))
        await pilot.pause()
        await pilot.press("ctrl+r")
        assert len(chat(app).menu.rows) == 2
        await pilot.press("escape")
        assert chat(app).prompt.text == "riv⟦paste 1: 21 lines⟧"
        await pilot.press("ctrl+u", *"x", "ctrl+r")
        assert "no earlier prompt contains this" in seen(app)
        await pilot.press("backspace", *"mou", "enter")
        assert chat(app).prompt.text == "mountains"


def test_a_search_shows_the_words_around_what_was_found() -> None:
    far = Written("beginning " * 20 + "the needle is here")
    assert "needle" in excerpt(far, "NEEDLE")[:60]
    assert excerpt(far, "NEEDLE").startswith("… ")
    assert excerpt(Written("a needle"), "needle") == "a needle"
    assert excerpt(Written(f"look {LINES} end", ((5, 5 + len(LINES)),)), "look") == "look ⟦21 lines⟧ end"
    assert "line 19" in excerpt(Written(f"look {LINES} end", ((5, 5 + len(LINES)),)), "line 19")


@given(st.text(max_size=300), st.text(max_size=5))
def test_every_row_of_a_search_is_one_line_and_leads_to_its_prompt(text: str, wanted: str) -> None:
    (row,) = history_rows([Written(text)], wanted)
    assert "\n" not in row.label
    assert row.insert == text


def test_a_history_too_large_for_the_file_is_remembered_until_the_end(tmp_path: Path) -> None:
    history = History(tmp_path / "history", 10)
    history.add(Written("x" * 100_000))
    assert len(history.entries) == 1
    assert not History(tmp_path / "history", 10).entries


def test_a_search_finds_words_in_any_order() -> None:
    history = History(None, 10)
    for text in ("the sea is deep", "deep rivers", "Deep is the SEA"):
        history.add(Written(text))
    assert [one.text for one in history.search("sea deep")] == ["Deep is the SEA", "the sea is deep"]
    assert excerpt(Written("x " * 40 + "the sea is deep"), "deep sea").startswith("… ")


def test_what_two_prompts_share_is_left_out_of_the_search() -> None:
    shared = "Explain the following piece of code to me, line by line, and without jargon, please: "
    rows = history_rows([Written(shared + "sort.py"), Written("Why?"), Written(shared + "heap.py")], "")
    assert [row.label for row in rows] == ["Explain the … sort.py", "Why?", "Explain the … heap.py"]
