"""Who had guessed a text is told on request, and being told changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from mtpchat.events import SpeculationControl, StatsTick, TextDelta, TurnEvent
from mtpchat.messages import Message
from tests.engine.test_turns import finished, limited
from tests.models import TinyModel
from tests.native.talk import OFF, pinned, talk


def texts(events: list[TurnEvent]) -> list[TextDelta]:
    return [event for event in events if isinstance(event, TextDelta)]


def traced(control: SpeculationControl) -> SpeculationControl:
    return replace(control, provenance=True)


def test_text_is_the_same_with_and_without_provenance(hybrid: Callable[[float], TinyModel]) -> None:
    with talk(hybrid(0.6).path) as chat:
        for depth in (1, 3, 8):
            told = texts(chat.events("hello", traced(pinned(depth)), limited(80)))
            untold = texts(chat.events("hello", pinned(depth), limited(80)))
            assert "".join(one.text for one in told) == "".join(one.text for one in untold)
            assert not any(one.drafted for one in untold)
            assert {one.drafted for one in told} == {"", "mtp"}


def test_a_perfect_head_guesses_all_but_one_token_of_each_step(hybrid: Callable[[float], TinyModel]) -> None:
    with talk(hybrid(1.0).path) as chat:
        events = chat.events("hello", traced(pinned(3)), limited(81))
    stats, told = finished(events).stats, texts(events)
    assert stats.accepted == stats.output_tokens - stats.steps
    guessed = sum(len(one.text) for one in told if one.drafted == "mtp")
    share = guessed / sum(len(one.text) for one in told)
    assert abs(share - stats.accepted / stats.output_tokens) < 0.1
    # One run of guesses and one word of the model's own in each step.
    assert sum(not one.drafted for one in told) <= stats.steps
    assert sum(bool(one.drafted) for one in told) <= stats.steps


def test_copies_are_told_from_guesses_of_a_head(short_answer: TinyModel) -> None:
    with talk(short_answer.path, kind="ngram") as chat:
        first = finished(chat.events("hello", OFF, limited(100)))
        message = (Message("user", "hello"), first.message, Message("user", "hello"))
        told = texts(chat.events(message, traced(pinned(8)), limited(100)))
    assert {one.drafted for one in told} == {"", "ngram"}
    assert "".join(one.text for one in told if one.channel == "answer") == first.message.content


def test_plain_decoding_has_no_guesses_to_tell(dense_model: TinyModel) -> None:
    with talk(dense_model.path) as chat:
        assert not any(one.drafted for one in texts(chat.events("hello", traced(OFF))))


def test_reports_come_with_the_counters_only_when_somebody_looks(dense_model: TinyModel) -> None:
    with talk(dense_model.path, kind="ngram") as chat:
        unseen = chat.events("hello", pinned(2))
        seen = chat.events("hello", replace(pinned(2), observe=True))
    assert not any(one.report for one in unseen if isinstance(one, StatsTick))
    ticks = [one for one in seen if isinstance(one, StatsTick)]
    assert not ticks or ticks[0].report is not None
    for events in (unseen, seen):
        report = finished(events).report
        assert report is not None
        assert report.split.rounds > 0
