"""Whatever happens to a turn, what was said stays said."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace

import msgspec
import pytest

from mtpchat.config import Config, ModelConfig, SamplingConfig, SpeculativeConfig, UiConfig
from mtpchat.engine.service import EngineService
from mtpchat.engine.session import Session
from mtpchat.engine.wanted import control_of
from mtpchat.errors import CommandError, ConfigError, EngineError, ModelUnreadable
from mtpchat.events import Event, Failed, Finished, SpeculationControl, TextDelta
from mtpchat.messages import Message
from mtpchat.stats import TurnStats, summed
from tests.fakes import FakeEngine, Gate

HELLO = Message("user", "Hello?")


@asynccontextmanager
async def _session(
    engine: FakeEngine, config: Config | None = None, draw_seed: Callable[[], int] | None = None
) -> AsyncIterator[Session]:
    service = EngineService(lambda: engine)
    service.start()
    seeds = iter(range(100, 200))
    try:
        yield Session(service, config or Config(), draw_seed or (lambda: next(seeds)))
    finally:
        service.close()


async def _all(events: AsyncGenerator[Event, None]) -> list[Event]:
    async with aclosing(events):
        return [event async for event in events]


async def _stopped(session: Session, gate: Gate, events: AsyncGenerator[Event, None]) -> list[Event]:
    """Run a turn up to a gate and stop it there."""
    turn = asyncio.create_task(_all(events))
    assert await asyncio.to_thread(gate.reached.wait, 20)
    await session.cancel()
    return await turn


def _with_seed(seed: int) -> Config:
    return Config(sampling=SamplingConfig(seed=seed))


async def test_a_turn_adds_both_messages() -> None:
    async with _session(FakeEngine(("A greeting.", "Hi there."))) as session:
        events = await _all(session.send("Hello?"))
        answer = Message("assistant", "Hi there.", "A greeting.")
        assert session.messages == (HELLO, answer)
        assert isinstance(events[-1], Finished)
        assert events[-1].message == answer
        assert not session.busy


async def test_the_engine_gets_system_message_history_options_and_a_drawn_seed() -> None:
    engine = FakeEngine("Hi.", "Yes.")
    config = Config(ui=UiConfig(system="Be brief."), model=ModelConfig(thinking="off"))
    async with _session(engine, config) as session:
        await _all(session.send("Hello?"))
        await _all(session.send("More?"))
        system = Message("system", "Be brief.")
        history = (system, HELLO, Message("assistant", "Hi."), Message("user", "More?"))
        assert [request.messages for request in engine.requests] == [(system, HELLO), history]
        assert [request.sampling.seed for request in engine.requests] == [100, 101]
        assert engine.requests[0].template_options == (("enable_thinking", False),)
        assert session.seed == 101
        assert session.config.sampling.seed == -1


async def test_the_system_message_can_be_changed_and_emptied() -> None:
    engine = FakeEngine()
    async with _session(engine) as session:
        session.system = "Be long."
        await _all(session.send("Hello?"))
        session.system = ""
        await _all(session.send("Hello?"))
        assert engine.requests[0].messages[0] == Message("system", "Be long.")
        assert engine.requests[1].messages[0] == HELLO


@pytest.mark.parametrize("text", ["", "  \n"])
async def test_empty_text_is_refused(text: str) -> None:
    async with _session(FakeEngine()) as session:
        with pytest.raises(CommandError):
            session.send(text)
        assert session.messages == ()


async def test_a_turn_that_was_never_begun_changes_nothing() -> None:
    async with _session(FakeEngine()) as session:
        await session.send("Hello?").aclose()
        assert session.messages == ()
        assert not session.busy


async def test_a_stopped_answer_is_kept_as_incomplete_and_can_be_continued() -> None:
    gate = Gate()
    engine = FakeEngine("One two three.", "two three.", step=gate)
    async with _session(engine) as session:
        await _stopped(session, gate, session.send("Hello?"))
        assert session.messages == (HELLO, Message("assistant", "One ", complete=False))
        gate.open()
        events = await _all(session.continue_last())
        whole = Message("assistant", "One two three.")
        assert session.messages == (HELLO, whole)
        assert isinstance(events[-1], Finished)
        assert events[-1].message == whole
        assert engine.requests[1].continue_last
        assert engine.requests[1].messages[-1] == Message("assistant", "One ", complete=False)
        assert engine.requests[1].sampling.seed == engine.requests[0].sampling.seed


async def test_continuing_merges_thinking_too() -> None:
    gate = Gate()
    async with _session(FakeEngine(("Hm, well.", "Yes."), ("well.", "Yes."), step=gate)) as session:
        await _stopped(session, gate, session.send("Hello?"))
        assert session.messages[-1] == Message("assistant", "", "Hm, ", complete=False)
        gate.open()
        await _all(session.continue_last())
        assert session.messages[-1] == Message("assistant", "Yes.", "Hm, well.")


async def test_an_answer_stays_part_of_the_conversation_while_it_is_continued() -> None:
    gate = Gate()
    async with _session(FakeEngine("One two three.", step=gate)) as session:
        await _stopped(session, gate, session.send("Hello?"))
        events = session.continue_last()
        await anext(events)
        assert session.messages[-1].content == "One "
        await events.aclose()
        assert len(session.messages) == 2
        assert session.messages[-1].content.startswith("One ")
        assert not session.messages[-1].complete


async def test_there_is_nothing_to_continue_after_a_complete_answer_or_none() -> None:
    async with _session(FakeEngine()) as session:
        with pytest.raises(CommandError, match="no answer"):
            session.continue_last()
        await _all(session.send("Hello?"))
        with pytest.raises(CommandError, match="complete"):
            session.continue_last()


async def test_a_failure_mid_turn_keeps_the_message_and_the_partial_answer() -> None:
    async with _session(FakeEngine(ZeroDivisionError("oops"), "Fine.")) as session:
        events = await _all(session.send("Hello?"))
        partial = Message("assistant", "Half ", complete=False)
        assert isinstance(events[-1], Failed)
        assert events[-1].partial == partial
        assert session.messages == (HELLO, partial)
        await _all(session.send("Again?"))
        assert session.messages[-1].content == "Fine."


async def test_a_turn_stopped_before_its_first_word_keeps_the_message_alone() -> None:
    gate = Gate()
    async with _session(FakeEngine("Hi.", prefill=gate)) as session:
        await _stopped(session, gate, session.send("Hello?"))
        assert session.messages == (HELLO,)
        gate.open()
        await _all(session.retry())
        assert session.messages[-1] == Message("assistant", "Hi.")


async def test_an_abandoned_turn_keeps_what_was_read() -> None:
    gate = Gate()
    async with _session(FakeEngine("One two three.", step=gate)) as session:
        async with aclosing(session.send("Hello?")) as events:
            async for event in events:
                if isinstance(event, TextDelta):
                    break
        assert session.messages == (HELLO, Message("assistant", "One ", complete=False))
        assert not session.busy


async def test_retry_replaces_the_answer_with_a_new_seed() -> None:
    engine = FakeEngine("First.", "Second.")
    async with _session(engine) as session:
        await _all(session.send("Hello?"))
        await _all(session.retry())
        assert session.messages == (HELLO, Message("assistant", "Second."))
        assert engine.requests[1].messages == (HELLO,)
        assert engine.requests[0].sampling.seed != engine.requests[1].sampling.seed


async def test_with_a_fixed_seed_turns_repeat_and_retries_differ() -> None:
    engine = FakeEngine()
    async with _session(engine, _with_seed(7)) as session:
        await _all(session.send("Hello?"))
        await _all(session.retry())
        await _all(session.retry())
        await _all(session.send("More?"))
        assert [request.sampling.seed for request in engine.requests] == [7, 8, 9, 7]


async def test_with_a_fixed_seed_what_is_taken_back_and_said_again_is_answered_differently() -> None:
    engine = FakeEngine()
    async with _session(engine, _with_seed(7)) as session:
        await _all(session.send("Hello?"))
        session.undo()
        await _all(session.send("Hello?"))
        await _all(session.edit(0, "Good day?"))
        await _all(session.edit(0, "Hello?"))
        assert [request.sampling.seed for request in engine.requests] == [7, 8, 7, 9]
        assert [session.siblings(at) for at in range(2)] == [(1, 2), (3, 3)]


async def test_the_largest_seed_can_be_retried() -> None:
    engine = FakeEngine()
    async with _session(engine, _with_seed(2**63 - 1)) as session:
        await _all(session.send("Hello?"))
        await _all(session.retry())
        assert engine.requests[1].sampling.seed == 0


async def test_a_retry_that_brings_nothing_gives_the_old_answer_back() -> None:
    gate = Gate()
    engine = FakeEngine("First.")
    async with _session(engine) as session:
        await _all(session.send("Hello?"))
        engine.gate_prefill(gate)
        await _stopped(session, gate, session.retry())
        assert session.messages == (HELLO, Message("assistant", "First."))


async def test_there_must_be_something_to_retry() -> None:
    async with _session(FakeEngine()) as session:
        with pytest.raises(CommandError):
            session.retry()


async def test_undo_gives_the_text_back_and_takes_both_messages_away() -> None:
    async with _session(FakeEngine()) as session:
        await _all(session.send("Hello?"))
        await _all(session.send("More?"))
        assert session.undo() == "More?"
        assert [message.content for message in session.messages] == ["Hello?", "Hello there."]
        assert session.undo() == "Hello?"
        assert session.undo() == ""
        assert session.messages == ()


async def test_clear_forgets_the_chat_but_not_the_settings() -> None:
    async with _session(FakeEngine()) as session:
        session.system = "Be brief."
        await _all(session.send("Hello?"))
        session.clear()
        assert (session.messages, session.stats, session.totals.output_tokens) == ((), None, 0)
        assert session.system == "Be brief."


async def test_while_busy_everything_that_changes_the_conversation_is_refused() -> None:
    gate = Gate()
    async with _session(FakeEngine("One two.", step=gate)) as session:
        turn = asyncio.create_task(_all(session.send("Hello?")))
        assert await asyncio.to_thread(gate.reached.wait, 20)
        assert session.busy
        refused: list[Callable[[], object]] = [
            lambda: session.send("More?"),
            session.retry,
            session.continue_last,
            session.undo,
            session.clear,
        ]
        for call in refused:
            with pytest.raises(EngineError):
                call()
        with pytest.raises(EngineError):
            await anext(session.load())
        gate.open()
        await turn
        assert session.messages == (HELLO, Message("assistant", "One two."))


async def test_of_two_turns_prepared_at_once_the_second_is_refused_when_it_begins() -> None:
    gate = Gate()
    async with _session(FakeEngine("One two.", step=gate)) as session:
        first, second = session.send("Hello?"), session.send("More?")
        await anext(first)
        with pytest.raises(EngineError):
            await anext(second)
        gate.open()
        await _all(first)
        assert session.messages[0] == HELLO
        assert len(session.messages) == 2


async def test_stats_follow_the_turn_and_totals_the_chat() -> None:
    async with _session(FakeEngine("One two.", "One two three.")) as session:
        await _all(session.send("Hello?"))
        await _all(session.send("More?"))
        assert session.stats is not None
        assert session.stats.output_tokens == 3
        assert session.totals.output_tokens == 5
        assert session.totals.prompt_tokens == 20
        assert session.totals.tokens_per_second == pytest.approx(2.5)


def test_a_chat_sums_what_plain_decoding_would_have_taken_only_if_every_turn_knows_it() -> None:
    known = TurnStats(output_tokens=10, decode_s=1.0, plain_s=1.5, plain_tokens_per_second=99.0)
    assert summed(TurnStats(plain_s=0.0), known).speedup == pytest.approx(1.5)
    assert summed(summed(TurnStats(plain_s=0.0), known), known).speedup == pytest.approx(1.5)
    assert summed(TurnStats(plain_s=0.0), TurnStats(output_tokens=1, decode_s=1.0)).speedup is None


def test_bounds_that_leave_no_choice_pin_the_depth() -> None:
    def control(least: int, most: int) -> SpeculationControl:
        return control_of(Config(speculative=SpeculativeConfig(draft_min=least, draft_max=most)))

    assert control(2, 2).pinned
    assert not control(0, 2).pinned
    assert not control(0, 0).pinned


async def test_load_keeps_the_facts_and_a_failed_load_forgets_the_old_ones() -> None:
    engine = FakeEngine()
    async with _session(engine) as session:
        await _all(session.load())
        assert session.facts == engine.facts
        assert engine.plans == [session.plan()]
        engine.facts = ModelUnreadable("Not a GGUF.")
        events = await _all(session.load())
        assert isinstance(events[-1], Failed)
        assert session.facts is None


async def test_the_plan_follows_the_settings() -> None:
    async with _session(FakeEngine()) as session:
        session.config = Config(
            model=ModelConfig(path="/m.gguf"), speculative=SpeculativeConfig(drafter="/d.gguf", kind="draft")
        )
        plan = session.plan()
        assert (plan.model, plan.drafter, plan.kind) == ("/m.gguf", "/d.gguf", "draft")


async def test_control_starts_from_the_settings_and_changes_are_seen_in_them() -> None:
    config = Config(speculative=SpeculativeConfig(mode="on", draft_min=1, draft_max=6, pinned=True))
    async with _session(FakeEngine(), config) as session:
        assert session.control == SpeculationControl("on", 1, 6, pinned=True)
        session.set_control(replace(session.control, mode="off", draft_max=3))
        assert session.control.draft_max == 3
        assert session.config.speculative == msgspec.structs.replace(config.speculative, mode="off", draft_max=3)


async def test_sampling_is_set_from_text_and_used_by_the_next_turn() -> None:
    engine = FakeEngine()
    async with _session(engine) as session:
        assert session.set_sampling("temperature", "0.25") == 0.25
        assert session.set_sampling("sampling.top_k", "5") == 5
        await _all(session.send("Hello?"))
        assert (engine.requests[0].sampling.temperature, engine.requests[0].sampling.top_k) == (0.25, 5)


async def test_a_wrong_sampling_key_names_the_nearest_and_changes_nothing() -> None:
    async with _session(FakeEngine()) as session:
        before = session.config
        with pytest.raises(ConfigError) as caught:
            session.set_sampling("temprature", "1")
        assert "temperature" in caught.value.message + caught.value.hint
        with pytest.raises(ConfigError):
            session.set_sampling("temperature", "warm")
        assert session.config is before


def test_loops_of_a_turn_stay_left_out_of_the_chat() -> None:
    looping = TurnStats(output_tokens=100, decode_s=2.0, plain_s=1.0, looping=True, looped_tokens=60, looped_s=1.0)
    twice = summed(summed(TurnStats(plain_s=0.0), looping), looping)
    assert (twice.looped_tokens, twice.looped_s) == (120, 2.0)
    assert twice.speedup == pytest.approx(1.0)
