"""/context, /compact and /think: sizes add up, choices are kept with the chat, nothing is offered that does nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtpchat.commands.base import Compact, RunTask, ShowChat
from mtpchat.commands.context import described
from mtpchat.config import SamplingConfig
from mtpchat.engine.compact import QUESTION, compacted
from mtpchat.engine.requests import TurnRequest
from mtpchat.events import Measured
from mtpchat.messages import Message
from tests.command_fakes import FACTS, FakeContext, refuse, say, talk
from tests.fakes import FakeEngine

THINKING = replace(FACTS, thinking=("on", "off"))


@pytest.fixture
def context() -> FakeContext:
    return FakeContext()


def test_context_is_measured_by_the_engine_and_told_in_parts(context: FakeContext) -> None:
    context.session.arrange(messages=talk("Three.", "Four."))
    context.session.system = "Be brief."
    effect = say(context, "/context").effect
    assert isinstance(effect, RunTask)
    engine = FakeEngine(facts=replace(FACTS, context_size=4096))
    worked = effect.task(engine, lambda *_: None, lambda: False)
    assert worked.line.startswith("13 of 4,096 tokens")
    assert "kept for the answer" in worked.page
    assert "**stop**" in worked.page


@given(
    st.lists(st.integers(0, 300), min_size=1, max_size=9),
    st.integers(0, 50),
    st.integers(0, 4),
    st.booleans(),
    st.integers(0, 3),
)
def test_the_parts_of_the_page_add_up_to_what_is_used(
    words: list[int], frame: int, dropped: int, system: bool, attached: int
) -> None:
    said = [Message("assistant" if at % 2 else "user", "x") for at in range(len(words) - system)]
    request = TurnRequest((*([Message("system", "s")] if system else []), *said), SamplingConfig(seed=1))
    unread = range(2, min(2 + dropped, len(said)))
    files = tuple(min(attached, count) for count in words)
    measured = Measured(sum(words) + frame, 8192, tuple(words), files)
    line, page = described(request, measured, unread, "drop")
    used = int(line.split(" of ")[0].replace(",", ""))
    cells = [row.split("|") for row in page.splitlines() if row.startswith("| ")][2:]
    counts = {cell[1].strip(): int(cell[2].strip().replace(",", "")) for cell in cells}
    reserve, free = counts.pop("kept for the answer"), counts.pop("free")
    assert sum(counts.values()) == used
    assert used + reserve + free == 8192
    assert used <= measured.prompt_tokens


def test_the_policy_is_chosen_for_this_chat_and_taken_back(context: FakeContext) -> None:
    assert "oldest turns" in say(context, "/context DROP").text
    assert context.session.terms.overflow == "drop"
    say(context, "/context auto")
    assert context.session.terms.options.overflow == ""
    assert "drop" in refuse(context, "/context dropp")


def test_compact_asks_for_a_summary_of_what_there_is(context: FakeContext) -> None:
    refuse(context, "/compact")
    context.session.arrange(messages=talk("Two."))
    assert say(context, "/compact").effect == Compact(None)
    assert say(context, "/compact 2").effect == Compact(2)
    for wrong in ("some", "-1", "9" * 5000):
        assert "/compact 2" in refuse(context, f"/compact {wrong}")


def test_a_summary_is_a_branch_beside_the_chat_that_one_can_go_back_from(context: FakeContext) -> None:
    before = talk("Two.", "Four.")
    context.session.arrange(messages=before)
    assert "does not begin with a summary" in refuse(context, "/compact undo")
    context.session.terms.choose(read_from=2)
    context.session.begin_anew(compacted(before, 2, "They counted."))
    assert [one.content for one in context.session.messages] == [QUESTION, "They counted.", "about Four.", "Four."]
    assert context.session.terms.options.read_from == 0
    assert say(context, "/compact undo").effect == ShowChat()
    assert context.session.messages == before


def test_thinking_is_offered_where_the_template_can_be_told(context: FakeContext) -> None:
    assert "cannot be told" in refuse(context, "/think off")
    context.session.arrange(facts=THINKING)
    assert "auto, on, off" in say(context, "/think").text
    say(context, "/think off")
    assert context.session.terms.thinking == "off"
    assert "It knows auto, on, off" in refuse(context, "/think high")
    assert "off?" in refuse(context, "/think of")
    say(context, "/think auto")
    assert context.session.terms.options.thinking == ""


def test_without_a_model_nothing_is_measured_summarised_or_thought(context: FakeContext) -> None:
    context.session.arrange(facts=None, messages=talk("Two."))
    for line in ("/context", "/compact", "/think on"):
        assert "/model" in refuse(context, line)
