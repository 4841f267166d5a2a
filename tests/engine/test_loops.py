"""Whole turns on tiny models that go round in circles, and on one that does not."""

from __future__ import annotations

import msgspec
import pytest

from mtpchat.config import SamplingConfig
from mtpchat.engine.repeats import LEAST
from mtpchat.events import Finished, SpeculationControl, StatsTick, TurnEvent
from mtpchat.stats import TurnStats
from tests.models import TinyModel
from tests.native.talk import GREEDY, OFF, pinned, talk


def limited(count: int) -> SamplingConfig:
    return msgspec.structs.replace(GREEDY, max_tokens=count)


def counted(events: list[TurnEvent]) -> TurnStats:
    last = events[-1]
    assert isinstance(last, Finished), last
    return last.stats


@pytest.mark.parametrize("control", [OFF, pinned(6)], ids=["plain", "guessing"])
def test_an_answer_in_circles_is_seen_while_it_goes_on_and_counts_for_nobody(
    repeating: TinyModel, control: SpeculationControl
) -> None:
    with talk(repeating.path, kind="ngram") as chat:
        events = chat.events("hello", control, limited(300))
    stats = counted(events)
    assert stats.looping
    assert stats.output_tokens == 300
    assert 250 < stats.looped_tokens < 300
    assert 0 < stats.looped_s < stats.decode_s
    ticks = [event.stats for event in events if isinstance(event, StatsTick)]
    assert all(tick.output_tokens >= LEAST for tick in ticks if tick.looping)


def test_an_answer_that_goes_on_is_not_called_a_loop(dense_model: TinyModel) -> None:
    with talk(dense_model.path, kind="ngram") as chat:
        stats = counted(chat.events("hello", sampling=limited(48)))
    assert (stats.looping, stats.looped_tokens, stats.looped_s) == (False, 0, 0.0)


def test_a_short_answer_in_circles_is_told_at_its_end(repeating: TinyModel) -> None:
    with talk(repeating.path, kind="ngram") as chat:
        stats = counted(chat.events("hello", pinned(4), limited(60)))
    assert stats.looping
    assert stats.looped_tokens > 30
