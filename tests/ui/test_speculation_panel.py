"""Speculation can be watched: the panel, what it says, and that it costs nothing while it is closed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.pilot import Pilot

from mtpchat.events import Finished, SpeculationControl, StatsTick, TextDelta
from mtpchat.messages import Message
from mtpchat.report import Decision, Reason, SourceReport, SpeculationReport
from mtpchat.stats import TurnStats
from mtpchat.ui.app import MtpChatApp
from mtpchat.ui.spec_view import SpecView, panel_content, plot
from mtpchat.ui.widgets.messages import Plain
from mtpchat.ui.widgets.spec_panel import SpecPanel
from tests.ui.conftest import STILL, chat, chat_app, seen, settled, until
from tests.ui.fake_session import FACTS, REPORT, STATS, FakeSession, Pause, Step

Compare = Callable[..., bool]
FULL = SpecView(FACTS, SpeculationControl(), STATS, REPORT, tuple(20.0 + at % 30 for at in range(80)))


def watched_turn(*, pause: Pause | None = None) -> list[Step]:
    """An answer whose counters come with reports."""
    steps: list[Step] = [TextDelta("A river bends because the outer bank is cut.")]
    seconds = 0.0
    for tick in range(1, 60):
        seconds += 0.11 + 0.001 * abs(30 - tick)
        steps.append(StatsTick(replace(STATS, output_tokens=5 * tick, decode_s=seconds), REPORT))
    if pause is not None:
        steps.append(pause)
    done = Message("assistant", "A river bends because the outer bank is cut.")
    return [*steps, Finished(done, STATS, "stop", report=REPORT)]


def app_with(*turns: list[Step]) -> MtpChatApp:
    return chat_app(FakeSession(turns, config=STILL))


async def ask(pilot: Pilot[Any], *keys: str) -> None:
    await settled(pilot)
    await pilot.press(*keys)
    await pilot.press(*"why", "enter")
    await settled(pilot)


@pytest.mark.parametrize("size", [(120, 40), (70, 24)])
def test_the_panel(snap_compare: Compare, size: tuple[int, int]) -> None:
    """Beside the chat at 120x40, in its place in two columns at 70x24: bars, a staircase, a plot, reasons in words."""

    async def run(pilot: Pilot[Any]) -> None:
        await ask(pilot, "f4")
        await pilot.pause()

    assert snap_compare(app_with(watched_turn()), terminal_size=size, run_before=run)


def test_text_of_guesses_is_marked(snap_compare: Compare) -> None:
    """Guessed words are underlined in two colours, inside bold text, code and a table, too; nothing else changes."""
    text = "A **river bends** here.\n\n```python\nbend = river + 1\n```\n\n| a | b |\n|---|---|\n| cut | bank |\n"
    sources = ["", "mtp", "mtp", "ngram"]
    parts = [text[at : at + 7] for at in range(0, len(text), 7)]
    deltas: list[Step] = [TextDelta(part, drafted=sources[at % 4]) for at, part in enumerate(parts)]
    turn = [*deltas, Finished(Message("assistant", text), STATS, "stop")]

    async def run(pilot: Pilot[Any]) -> None:
        await ask(pilot, "f3")

    assert snap_compare(app_with(turn), terminal_size=(80, 28), run_before=run)


async def test_reports_are_asked_for_only_while_the_panel_is_open() -> None:
    app = app_with()
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        session = chat(app).session
        for key, watched in (("f4", True), ("f4", False), ("f4", True), ("escape", False)):
            await pilot.press(key)
            assert session.control.observe is watched
            assert chat(app).panel.is_open is watched


async def test_a_closed_panel_is_never_painted(monkeypatch: pytest.MonkeyPatch) -> None:
    painted: list[int] = []

    def count(view: SpecView, width: int, height: int) -> Any:
        painted.append(width)
        return panel_content(view, width, height)

    monkeypatch.setattr("mtpchat.ui.widgets.spec_panel.panel_content", count)
    app = app_with(watched_turn(), watched_turn())
    async with app.run_test(size=(120, 40)) as pilot:
        await ask(pilot)
        assert not painted
        await pilot.press("f4")
        await until(pilot, lambda: bool(painted))


async def test_the_plot_reaches_back_to_before_the_panel_was_opened() -> None:
    app = app_with(watched_turn())
    async with app.run_test(size=(120, 60)) as pilot:
        await ask(pilot)
        await pilot.press("f4")
        await until(pilot, lambda: "last decisions" in seen(app))
        assert "█" in seen(app).split("tokens/s")[1].split("plain 26.9")[0]


async def test_a_scrollbar_that_comes_with_more_lines_takes_no_room_from_them() -> None:
    few = replace(REPORT, decisions=())
    many = replace(few, decisions=tuple(Decision(Reason.PAYS, at, at, at + 1, "mtp", at, 0.3) for at in range(1, 21)))
    done = Finished(Message("assistant", "An answer."), STATS, "stop", report=many)
    app = app_with([StatsTick(STATS, few), StatsTick(STATS, many), done])
    async with app.run_test(size=(120, 34)) as pilot:
        await settled(pilot)
        await pilot.press("f4")
        await settled(pilot)
        figures = app.screen.query_one(SpecPanel).query_one(Plain)
        before = figures.content_size.width
        await pilot.press(*"why", "enter")
        await until(pilot, lambda: "last decisions" in seen(app))
        await settled(pilot)
        assert app.screen.query_one(SpecPanel).show_vertical_scrollbar
        assert figures.content_size.width == before
        assert figures.size.height == figures.render().plain.count("\n") + 1, "no line is broken again"


async def test_the_prompt_works_while_the_panel_covers_the_chat() -> None:
    app = app_with(watched_turn())
    async with app.run_test(size=(70, 24)) as pilot:
        await settled(pilot)
        await pilot.press("f4")
        assert not chat(app).transcript.display
        await pilot.press(*"hello")
        assert chat(app).prompt.text == "hello"
        before = chat(app).panel.scroll_y
        await pilot.press("pagedown")
        assert chat(app).panel.scroll_y >= before
        await pilot.press("escape")
        assert chat(app).transcript.display
        assert not chat(app).panel.is_open


async def test_a_panel_beside_the_chat_can_be_scrolled_by_key() -> None:
    app = app_with(watched_turn())
    async with app.run_test(size=(120, 24)) as pilot:
        await ask(pilot, "f4")
        panel = app.screen.query_one(SpecPanel)
        await pilot.press("shift+pagedown")
        await until(pilot, lambda: panel.scroll_y > 0)
        await pilot.press("ctrl+pageup")
        await until(pilot, lambda: panel.scroll_y == 0)
        await pilot.press("pagedown")
        await pilot.pause()
        assert panel.scroll_y == 0, "without Shift or Ctrl it is the chat that moves"


async def test_escape_stops_the_answer_before_it_closes_a_panel_beside_it() -> None:
    pause = Pause()
    app = app_with(watched_turn(pause=pause))
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        await pilot.press("f4", *"hi", "enter")
        await until(pilot, pause.reached.is_set)
        await pilot.press("escape")
        await settled(pilot)
        assert chat(app).panel.is_open
        await pilot.press("escape")
        assert not chat(app).panel.is_open


async def test_a_narrower_window_gives_the_panel_the_place_of_the_chat() -> None:
    app = app_with()
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        await pilot.press("f4")
        assert chat(app).transcript.display
        await pilot.resize_terminal(80, 30)
        await until(pilot, lambda: not chat(app).transcript.display)
        await pilot.resize_terminal(120, 30)
        await until(pilot, lambda: chat(app).transcript.display)


async def test_spec_and_the_panel_name_what_is_wanted_now() -> None:
    app = app_with()
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        await pilot.press(*"/spec", "space", *"panel", "enter")
        await until(pilot, lambda: "accepted per draft" in seen(app))
        await chat(app).run_command("/draft 2")
        await until(pilot, lambda: "k 2 fixed" in seen(app))
        assert app.query_one(SpecPanel).is_open


@given(st.integers(0, 140))
def test_no_line_is_wider_than_the_panel(width: int) -> None:
    for view in (FULL, SpecView(), replace(FULL, report=None)):
        longest = max(line.cell_length for line in panel_content(view, width).split("\n"))
        assert longest <= max(width, 30)


@pytest.mark.parametrize("width", [36, 66])
def test_a_low_panel_leaves_out_empty_lines_and_nothing_else(width: int) -> None:
    roomy, low = (panel_content(FULL, width, height).plain.split("\n") for height in (200, 20))
    assert len(low) < len(roomy)
    if width < 60:
        assert low == [line for line in roomy if line]


def test_what_was_not_measured_is_a_dash_and_never_a_zero() -> None:
    text = panel_content(SpecView(), 40).plain
    assert "0" not in text
    assert text.count("–") >= 6


def test_the_panel_does_without_any_single_number() -> None:
    empty = SpeculationReport("cost")
    for name in ("plain_s", "plain_age_s", "verify_s", "sources", "accepted_lengths", "split", "decisions", "rate"):
        view = replace(FULL, report=replace(REPORT, **{name: getattr(empty, name)}))
        assert panel_content(view, 40).plain


@pytest.mark.parametrize("reason", Reason)
def test_every_decision_is_told_in_words(reason: Reason) -> None:
    report = replace(REPORT, decisions=(Decision(reason, 2, 1, 2, "mtp", 0.5, 0.25),))
    assert len(panel_content(replace(FULL, report=report), 40).plain.split("newest first\n")[1]) > 10


def test_equal_decisions_in_a_row_are_told_once() -> None:
    plain = Decision(Reason.OFF, 0, 0, 1, "none")
    text = panel_content(replace(FULL, report=replace(REPORT, decisions=(plain,) * 7)), 60).plain
    assert "(7 times)" in text
    assert text.count("nothing may be guessed") == 1


@given(st.lists(st.floats(0, 500), max_size=90), st.none() | st.floats(0.1, 500), st.integers(8, 60))
def test_a_plot_fits_and_marks_the_plain_rate(rates: list[float], plain: float | None, width: int) -> None:
    lines = plot(rates, plain, width)
    assert all(line.cell_length <= width for line in lines)
    if rates and plain is None:
        assert "┄" not in "".join(line.plain for line in lines)


def test_above_plain_is_green_and_below_is_red() -> None:
    colours = {str(span.style) for line in plot([10.0, 50.0], 25.0, 10) for span in line.spans}
    assert {"$mt-gain", "$mt-loss"} <= colours


def test_a_parked_drafter_is_said_to_be_parked() -> None:
    parked = replace(FULL, control=SpeculationControl(mode="auto"), report=replace(REPORT, parked=True))
    assert "parked" in panel_content(parked, 40).plain
    for control in (SpeculationControl(mode="off"), SpeculationControl(mode="auto", pinned=True)):
        assert "parked" not in panel_content(replace(parked, control=control), 40).plain, "then the user has decided"


def test_bars_show_what_was_counted_before_what_is_believed() -> None:
    copies = SourceReport("ngram", (0.5,), 10, 7, right_at=(0.9, 0.8, 0.25))
    said = panel_content(replace(FULL, report=replace(REPORT, sources=(copies,))), 40).plain
    assert all(f"{share}%" in said for share in (90, 80, 25))


def test_stats_alone_give_the_acceptance_before_a_report_came() -> None:
    text = panel_content(SpecView(FACTS, stats=STATS), 40).plain
    assert "78%" in text
    assert "of 260" in text
    assert "guesses right" in panel_content(SpecView(FACTS, stats=TurnStats()), 40).plain


def test_the_panel_calls_a_loop_no_gain() -> None:
    assert "no gain" in panel_content(replace(FULL, stats=replace(STATS, looping=True)), 60).plain
    assert "no gain" not in panel_content(FULL, 60).plain
