"""A summary takes the place of the older part and nothing else; the chat as it was stays beside it."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtpchat.config import SamplingConfig
from mtpchat.engine.compact import QUESTION, Compaction, compacted, rounds, split
from mtpchat.engine.overflow import turn_starts
from mtpchat.engine.requests import TurnRequest
from mtpchat.errors import CommandError, ContextFull, EngineError
from mtpchat.events import Failed, Finished, ModelFacts, Prefilling, SpeculationControl, TextDelta, TurnEvent
from mtpchat.messages import Message
from mtpchat.stats import TurnStats
from tests.fakes import FakeEngine

FACTS = ModelFacts("fake", "/fake.gguf", "fake", "none", "no drafter", context_size=400)
SYSTEM = Message("system", "Be brief.")
SIZES = st.lists(st.integers(1, 60), min_size=1, max_size=24)


def _chat(sizes: list[int]) -> list[Message]:
    return [Message("assistant" if at % 2 else "user", " ".join(["word"] * size)) for at, size in enumerate(sizes)]


def _compaction(said: list[Message], **options: object) -> Compaction:
    thinks = (("enable_thinking", True),)
    request = TurnRequest((SYSTEM, *said), SamplingConfig(seed=1, stop=("END",)), False, thinks, grammar="root ::= [0]")
    return Compaction(request, SpeculationControl, **options)  # type: ignore[arg-type]


def _never() -> bool:
    return False


class Told:
    """What a job has said while it ran."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.parts: set[tuple[int, int]] = set()

    def __call__(self, text: str, done: int, total: int) -> None:
        self.texts.append(text)
        self.parts.add((done, total))


def test_the_older_part_is_asked_about_behind_itself_and_the_summary_streams() -> None:
    said = _chat([20, 30, 20, 30, 20, 30, 20, 30])
    engine, told = FakeEngine("They counted words.", facts=FACTS), Told()
    compaction = _compaction(said, keep=1, thinking="off")
    compaction.task(engine, told, _never)
    asked = engine.requests[0]
    assert asked.messages == (SYSTEM, *said[:6], Message("user", QUESTION))
    assert (asked.thinking, asked.sampling.stop, asked.grammar) == ("off", (), "")
    assert dict(asked.template_options) == {"enable_thinking": False}
    assert compaction.summary == told.texts[-1].strip() == "They counted words."
    assert told.texts == sorted(told.texts, key=len)
    assert compaction.start == 6
    assert compaction.taken < compaction.whole
    assert "6 messages" in compaction.outcome


def test_how_far_the_model_has_read_can_be_asked_until_it_writes() -> None:
    class Reading(FakeEngine):
        def turn(self, *asked: object) -> Iterator[TurnEvent]:
            yield Prefilling(20, 90, 1.5)
            yield from super().turn(*asked)  # type: ignore[arg-type]

    seen: list[tuple[str, Prefilling | None]] = []
    compaction = _compaction(_chat([20, 30] * 4), keep=1)
    compaction.task(Reading("Notes.", facts=FACTS), lambda text, *_: seen.append((text, compaction.reading)), _never)
    assert ("", Prefilling(20, 90, 1.5)) in seen
    assert all(reading is None for text, reading in seen if text)


def test_what_does_not_fit_at_once_is_summarised_part_after_part() -> None:
    said = _chat([40, 40] * 8)
    engine, told = FakeEngine("First.", "Second.", "Third.", "Fourth.", facts=FACTS), Told()
    compaction = _compaction(said, keep=1)
    compaction.task(engine, told, _never)
    assert len(engine.requests) > 1
    assert engine.requests[1].messages[1:3] == (Message("user", QUESTION), Message("assistant", "First."))
    read = [one for request in engine.requests for one in request.messages if one.content.startswith("word")]
    assert read == said[: compaction.start]
    assert {total for _, total in told.parts} == {len(engine.requests)}


def test_a_stopped_summary_leaves_nothing_behind() -> None:
    compaction = _compaction(_chat([20, 20, 20]))
    stopped = iter([False, False])
    compaction.task(FakeEngine("One two three.", facts=FACTS), Told(), lambda: next(stopped, True))
    assert compaction.summary == ""


def test_a_model_that_fails_or_says_nothing_is_told_as_that() -> None:
    class Failing(FakeEngine):
        def turn(self, *_arguments: object) -> Iterator[TurnEvent]:
            yield TextDelta("Half")
            yield Failed("The decode failed.", "Try again.")

    class Silent(FakeEngine):
        def turn(self, *_arguments: object) -> Iterator[TurnEvent]:
            yield Finished(Message("assistant", " "), TurnStats(), "stop")

    for engine, words in ((Failing(facts=FACTS), "decode failed"), (Silent(facts=FACTS), "no summary")):
        compaction = _compaction(_chat([20, 20, 20]))
        with pytest.raises(EngineError, match=words):
            compaction.task(engine, Told(), _never)
        assert compaction.summary == ""


def test_there_has_to_be_something_older() -> None:
    with pytest.raises(CommandError, match="nothing older"):
        split(_chat([10, 10]), [10, 10], 1000, None)
    with pytest.raises(CommandError, match="nothing older"):
        split(_chat([10, 10, 10]), [10, 10, 10], 1000, 2)
    assert split(_chat([10, 10]), [10, 10], 1000, 0) == 2


@given(SIZES, st.integers(0, 500))
def test_the_last_turns_stay_whole_and_as_many_as_there_is_room_for(sizes: list[int], room: int) -> None:
    said = _chat(sizes)
    starts = turn_starts([one.role for one in said])
    if len(starts) < 2:
        return
    start = split(said, sizes, room, None)
    assert start in starts[1:]
    assert start == starts[-1] or sum(sizes[start:]) <= room
    earlier = starts[starts.index(start) - 1]
    assert earlier == 0 or sum(sizes[earlier:]) > room


@given(SIZES, st.integers(1, 200))
def test_parts_are_whole_turns_in_order_and_small_enough(sizes: list[int], room: int) -> None:
    said = _chat(sizes)
    try:
        parts = rounds(said, sizes, room)
    except ContextFull:
        return
    assert [one for part in parts for one in part] == said
    for part in parts:
        assert sum(len(one.content.split()) for one in part) <= room
        assert part[0].role == "user"


@given(SIZES, st.text(min_size=1))
def test_what_stays_is_untouched(sizes: list[int], summary: str) -> None:
    said = _chat(sizes)
    for start in range(len(said) + 1):
        after = compacted(said, start, summary)
        assert after[0] == Message("user", QUESTION)
        assert after[1] == Message("assistant", summary)
        assert list(after[2:]) == said[start:]
