"""Where the last message begins in a prompt: nothing before that place changes when it is put differently."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtpchat.config import SamplingConfig
from mtpchat.engine.prompt import ChatPrompt, RenderedPrompt, reusable_prefix
from mtpchat.engine.requests import TurnRequest
from mtpchat.messages import Message
from tests.fakes import CONTROL, FakeTokenizer
from tests.unit.test_prompt import ANSWER, HELLO, SYSTEM, TEMPLATES

CUT = Message("assistant", "Well, ", complete=False)


def encoded(name: str, *messages: Message, continue_last: bool = False, marks_turns: bool = True) -> RenderedPrompt:
    tokenizer = FakeTokenizer(bos="<s>", eos="</s>", adds_bos=True)
    prompt = ChatPrompt(TEMPLATES[name], tokenizer, lambda: datetime(2024, 2, 29), marks_turns=marks_turns)
    return prompt.encode(TurnRequest(messages, SamplingConfig(seed=1), continue_last))


@pytest.mark.parametrize("name", TEMPLATES)
@given(st.text(min_size=1, max_size=8) | st.sampled_from(CONTROL), st.sampled_from(["0", "1", "x", "<think>"]))
def test_all_before_it_stays_when_the_last_message_says_something_else(name: str, text: str, other: str) -> None:
    one = encoded(name, SYSTEM, HELLO, ANSWER, Message("user", f"q{text}"))
    two = encoded(name, SYSTEM, HELLO, ANSWER, Message("user", f"{other}{text}"))
    assert 0 < one.turn_start <= one.stable_length
    assert reusable_prefix(one.tokens, two.tokens) >= min(one.turn_start, two.turn_start)
    assert abs(one.turn_start - two.turn_start) <= 2


@pytest.mark.parametrize("name", TEMPLATES)
def test_it_is_the_same_place_for_an_answer_that_is_carried_on(name: str) -> None:
    messages = (SYSTEM, HELLO, ANSWER, Message("user", "More."))
    assert encoded(name, *messages, CUT, continue_last=True).turn_start == encoded(name, *messages).turn_start


@pytest.mark.parametrize("name", TEMPLATES)
def test_it_costs_nothing_and_is_not_told_where_nobody_asks(name: str) -> None:
    messages = (SYSTEM, HELLO, ANSWER, Message("user", "More."))
    told = encoded(name, *messages)
    assert encoded(name, *messages, marks_turns=False) == replace(told, turn_start=0)
    assert encoded(name, HELLO).turn_start == 0
