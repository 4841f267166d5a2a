"""The status line is honest and always fits."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtpchat.config import Overflow
from mtpchat.events import Loading, Prefilling, SpeculationControl
from mtpchat.stats import TurnStats
from mtpchat.ui import format as numbers
from mtpchat.ui.status_line import parked, progress_content, status_content
from mtpchat.ui.widgets.messages import summary_content
from mtpchat.ui.widgets.status_bar import StatusBar
from tests.ui.fake_session import STATS

CONTROL = SpeculationControl()
IDLE = replace(STATS, depth=0, drafted=3, accepted=1)


@given(st.integers(0, 200), st.lists(st.floats(0, 500), max_size=20))
def test_the_line_fits_any_width(width: int, rates: list[float]) -> None:
    assert status_content(STATS, CONTROL, rates, width).cell_length <= width


@given(st.integers(0, 200), st.floats(0, 1), st.integers(0, 10**12))
def test_the_bar_fits_any_width(width: int, fraction: float, size: int) -> None:
    assert progress_content(Loading("model", fraction, size), width).cell_length <= width
    assert progress_content(Prefilling(int(fraction * 1000), 1000, 3.2), width).cell_length <= width


def test_numbers_leave_in_the_order_of_their_priority() -> None:
    words = ("t/s", "×", "acc", "k ", "ctx", "len", "▇")
    rates = [20.0, 40.0, 46.0, 44.0]
    shown = [
        tuple(word in status_content(STATS, CONTROL, rates, width).plain.replace("█", "▇") for word in words)
        for width in range(120, -1, -1)
    ]
    for present in shown:
        assert list(present[:6]) == sorted(present[:6], reverse=True)


def test_a_wide_line_says_everything() -> None:
    line = status_content(STATS, CONTROL, [], 120).plain
    assert line.startswith("46.2 t/s  ×1.72  acc 71%  len 2.4  k 3 auto  ctx 1.2k/8k")


def test_what_is_not_known_is_a_dash_and_never_zero() -> None:
    line = status_content(TurnStats(), CONTROL, [], 120).plain
    assert line == "– t/s  ×–  acc –  len –  k – auto  ctx –"


def test_speculation_switched_off_is_said() -> None:
    assert "speculation off" in status_content(STATS, SpeculationControl(mode="off"), [], 120).plain


def test_a_pinned_depth_is_said_although_the_last_answer_was_parked() -> None:
    idle = replace(STATS, mode="auto", drafted=0, accepted=0, depth=0, steps=100)
    assert "k 0 auto" in status_content(idle, SpeculationControl(), (), 160).plain
    pinned = SpeculationControl(mode="auto", draft_max=2, pinned=True)
    assert "k 2 fixed" in status_content(idle, pinned, (), 160).plain


def test_a_parked_drafter_is_dim_and_the_tooltip_says_why() -> None:
    line = status_content(IDLE, CONTROL, [], 120)
    start = line.plain.index("k 0 auto")
    assert [str(span.style) for span in line.spans if span.start <= start + 2 < span.end] == ["$mt-muted"]
    bar = StatusBar()
    bar.stats = IDLE
    assert "parked" in bar._explain().plain
    bar.stats = STATS
    assert "parked" not in bar._explain().plain


@pytest.mark.parametrize("few", [replace(IDLE, steps=3), replace(IDLE, mode="on"), replace(STATS, depth=0)])
def test_plain_steps_for_other_reasons_are_not_called_parked(few: TurnStats) -> None:
    assert not parked(few)


@pytest.mark.parametrize(
    ("plain", "style"), [(20.0, "$mt-gain"), (45.5, "$foreground"), (46.8, "$foreground"), (60.0, "$mt-loss")]
)
def test_the_multiplier_has_the_colour_of_its_meaning(plain: float, style: str) -> None:
    line = status_content(replace(STATS, plain_tokens_per_second=plain), CONTROL, [], 120)
    start = line.plain.index("×")
    assert any(style in str(span.style) for span in line.spans if span.start <= start < span.end)


def test_loading_and_reading_look_as_people_read_them() -> None:
    assert "loading 61 % · 4.1/6.7 GB" in progress_content(Loading("model", 0.612, 6_700_000_000), 80).plain
    assert "reading 1,830/2,944 tokens · 3 s left" in progress_content(Prefilling(1830, 2944, 3.1), 80).plain
    words = "reading 1,850/2,944 tokens · 1,830 remembered · 3 s left"
    assert words in progress_content(Prefilling(1850, 2944, 3.1, 1830), 80).plain


@given(st.floats(0, 1, exclude_min=True, exclude_max=True))
def test_percentages_never_claim_all_or_nothing(share: float) -> None:
    assert numbers.percent(share) not in ("0%", "100%")


@given(st.floats(0, 1), st.integers(1, 60))
def test_a_bar_has_its_width(share: float, width: int) -> None:
    assert len(numbers.bar(share, width)) == width


@given(st.floats(0.01, 10))
def test_a_short_multiplier_stays_on_its_side_of_one(speedup: float) -> None:
    shown = float(numbers.multiplier(speedup, short=True).removeprefix("×"))
    assert (shown > 1) <= (speedup > 1)
    assert (shown < 1) <= (speedup < 1)


LOOPING = replace(STATS, looping=True, looped_tokens=200, looped_s=3.0)


@pytest.mark.parametrize("width", [60, 80, 160])
def test_a_loop_is_marked_and_its_multiplier_is_no_gain(width: int) -> None:
    bar = status_content(LOOPING, CONTROL, [20.0, 40.0, 46.0, 44.0], width)
    assert "repeats" in bar.plain
    assert "×1.13 repeats" in bar.plain or width < 80
    assert bar.cell_length <= width
    assert not any("gain" in str(span.style) or "loss" in str(span.style) for span in bar.spans)
    assert "repeats" not in status_content(STATS, CONTROL, [], width).plain


@given(st.integers(0, 200))
def test_where_there_is_little_room_the_word_stays_and_the_number_goes(width: int) -> None:
    line = status_content(LOOPING, CONTROL, [], width)
    assert line.cell_length <= width
    assert "×" not in line.plain or "repeats" in line.plain


def test_the_tooltip_says_what_is_left_out() -> None:
    bar = StatusBar()
    bar.stats = LOOPING
    assert "200 tokens in loops" in bar._explain().plain
    bar.stats = STATS
    assert "loops" not in bar._explain().plain


def test_the_line_under_an_answer_calls_a_loop_by_its_name() -> None:
    line = summary_content(LOOPING, "stop")
    assert "×1.13 · repeats" in line.plain
    assert not any("gain" in str(span.style) for span in line.spans)
    assert "repeats" not in summary_content(STATS, "stop").plain


def _at(used: int, width: int, overflow: Overflow = "stop") -> str:
    stats = replace(STATS, context_used=used, context_size=1000)
    return status_content(stats, SpeculationControl(), (), width, overflow=overflow).plain


def test_the_context_is_not_spoken_of_below_four_fifths() -> None:
    assert "filling" not in _at(799, 160)
    assert "full" not in _at(799, 160)


def test_a_context_that_fills_is_said_in_a_word_and_goes_before_acceptance() -> None:
    assert "ctx 80%" in _at(800, 160)
    assert "filling" in _at(800, 160)
    assert "ctx 80%" in _at(800, 28)
    assert "acc" not in _at(800, 28)


@pytest.mark.parametrize(
    ("overflow", "words"), [("stop", "/compact"), ("drop", "oldest turns leave"), ("summarise", "a summary is next")]
)
def test_a_full_context_says_what_will_happen(overflow: Overflow, words: str) -> None:
    assert f"full: {words}" in _at(950, 160, overflow)
    assert "full" in _at(950, 60, overflow)


@given(st.integers(0, 1000), st.integers(0, 200), st.sampled_from(["stop", "drop", "summarise"]))
def test_a_warning_never_makes_the_line_too_long(used: int, width: int, overflow: Overflow) -> None:
    assert len(_at(used, width, overflow)) <= max(width, 0)
