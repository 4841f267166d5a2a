"""A title made by the model of a chat costs its next turn nothing, whatever guesses and whenever it is stopped."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mtpchat.engine.requests import TurnRequest
from mtpchat.engine.title_maker import cleaned, make_title
from mtpchat.errors import Interrupted
from mtpchat.events import Finished
from mtpchat.messages import Message
from tests.models import TinyModel
from tests.native.talk import GREEDY, OFF, Talk, pinned, talk

ASKED = (Message("user", "Why do rivers meander?"),)


def said(chat: Talk, messages: tuple[Message, ...], control: Any) -> Finished:
    last = chat.events(messages, control)[-1]
    assert isinstance(last, Finished), last
    return last


def two_turns(chat: Talk, control: Any, between: Callable[[tuple[Message, ...]], object]) -> tuple[object, ...]:
    """What the second turn says and counts, with something done between the two."""
    first = said(chat, ASKED, control)
    between((*ASKED, first.message))
    second = said(chat, (*ASKED, first.message, Message("user", "And lakes?")), control)
    stats = second.stats
    return second.message, stats.prompt_tokens, stats.cached_tokens, stats.drafted, stats.accepted, stats.steps


def title(chat: Talk, messages: tuple[Message, ...], cancelled: Callable[[], bool] = lambda: False) -> str:
    return make_title(chat.engine, TurnRequest(messages, GREEDY), cancelled)


@pytest.fixture(params=["plain", "ngram", "draft", "eagle3", "chained", "gemma"])
def setup(request: pytest.FixtureRequest) -> tuple[Path, Path | str, Any]:
    """(model, drafter, control): memories that can be cut, and one that cannot."""
    get = request.getfixturevalue
    match request.param:
        case "plain":
            return get("dense_model").path, "", OFF
        case "ngram":
            return get("dense_model").path, "", pinned(3, "ngram")
        case "draft":
            return get("dense_model").path, get("draft_model").path, pinned(3)
        case "eagle3":
            return get("eagle3_model").path, get("eagle3")(0.7).path, pinned(3)
        case "chained":
            return get("chained").path, "", pinned(2)
        case _:
            return get("gemma").path, get("assistant")(0.7).path, pinned(3)


def test_the_next_turn_reads_and_says_the_same_as_without_a_title(setup: tuple[Path, Path | str, Any]) -> None:
    model, drafter, control = setup
    with talk(model, drafter) as chat:
        without = two_turns(chat, control, lambda messages: None)
    with talk(model, drafter) as chat:
        assert two_turns(chat, control, lambda messages: title(chat, messages)) == without


@pytest.mark.parametrize("looks", range(6))
def test_a_title_that_is_given_up_at_any_moment_leaves_the_chat_as_it_was(
    dense_model: TinyModel, draft_model: TinyModel, looks: int
) -> None:
    left = [looks]

    def cancelled() -> bool:
        left[0] -= 1
        return left[0] < 0

    def give_up(messages: tuple[Message, ...]) -> None:
        with pytest.raises(Interrupted):
            title(chat, messages, cancelled)

    with talk(dense_model.path, draft_model.path) as chat:
        without = two_turns(chat, pinned(3), lambda messages: None)
    with talk(dense_model.path, draft_model.path) as chat:
        assert two_turns(chat, pinned(3), give_up) == without


def test_something_is_said_and_it_is_short(dense_model: TinyModel) -> None:
    with talk(dense_model.path) as chat:
        first = said(chat, ASKED, OFF)
        before = chat.engine.probe().loaded.target.length
        found = title(chat, (*ASKED, first.message))
        assert chat.engine.probe().loaded.target.length == before
        assert 1 <= len(found.split()) <= 6


def test_a_memory_that_cannot_be_cut_is_left_alone(recurrent_model: TinyModel) -> None:
    with talk(recurrent_model.path) as chat:
        first = said(chat, ASKED, OFF)
        before = chat.engine.probe().loaded.target.length
        assert title(chat, (*ASKED, first.message)) == ""
        assert chat.engine.probe().loaded.target.length == before


def test_a_chat_that_fills_the_context_gets_none(dense_model: TinyModel) -> None:
    with talk(dense_model.path, context=128) as chat:
        first = said(chat, ASKED, OFF)
        long = Message("user", "And lakes? " * 4)
        assert title(chat, (*ASKED, first.message, long, Message("assistant", "They end."))) == ""


@pytest.mark.parametrize(
    ("words", "title"),
    [
        ("Rivers and bends\nMore", "Rivers and bends"),
        ('  "Why rivers meander."  ', "Why rivers meander"),
        ("Title: **Rivers**", "Rivers"),
        ("\n\n# One two three four five six seven", "One two three four five six"),
        ("<think>\nhm", ""),
        ("...", ""),
        ("", ""),
        ("\x1b[2JEvil\x07 title", "[2JEvil title"),
        ("河流为什么弯曲", "河流为什么弯曲"),
        ("x" * 200, ""),
    ],
)
def test_of_what_was_said_a_few_words_are_the_title(words: str, title: str) -> None:
    assert cleaned(words) == title
