"""Verifying in a chat: the comparison of the command line over the loaded model, and the chat is none the wiser."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace

import pytest

from mtpchat.backend.llama.loader import LlamaBackend
from mtpchat.bench.proof import Findings, Proof, asked, asked_in, prove
from mtpchat.bench.verify import Check, Difference, samplings_for
from mtpchat.commands.base import RunTask
from mtpchat.commands.registry import dispatch
from mtpchat.commands.verification import reported
from mtpchat.config import Config, ModelConfig, SamplingConfig, SpeculativeConfig
from mtpchat.engine.engine import ChatEngine
from mtpchat.engine.requests import Task
from mtpchat.engine.service import EngineService
from mtpchat.engine.session import Session
from mtpchat.errors import EngineError
from mtpchat.events import Finished, JobEvent, SpeculationControl, Worked, Working
from mtpchat.messages import Message
from mtpchat.speculate import controller
from tests.bench.gullible import believe
from tests.command_fakes import FakeContext, refuse, say, talk
from tests.fakes import FakeEngine
from tests.models import TinyModel
from tests.native.talk import Talk, pinned
from tests.native.talk import talk as loaded

WANTED = SpeculationControl(mode="on", draft_max=2)
PROOF = Proof(
    asked(), samplings_for(SamplingConfig(), (0.0, 0.8), 12), "mtp", WANTED, model=ModelConfig(thinking=False)
)
SAME = Check("one", "mtp 1", 0.0, tokens=20, drafted=9, accepted=4)
OTHER = Difference(3, 1, 2, "|a\x1b", "b`", 4.0, 0.0, 0.001, flips=False, verdict="mismatch")


def never() -> bool:
    return False


def silent(_what: str, _done: int, _total: int) -> None:
    return


@pytest.fixture
def talking(hybrid: Callable[[float], TinyModel]) -> Iterator[Talk]:
    with loaded(hybrid(0.7).path) as found:
        yield found


def test_every_depth_and_auto_are_compared_and_nothing_differs(talking: Talk) -> None:
    told: list[tuple[str, int, int]] = []
    findings = prove(talking.engine, PROOF, lambda *progress: told.append(progress), never)
    assert [one.variant for one in findings.checks[:3]] == ["mtp 1", "mtp 2", "mtp auto"]
    assert all(one.difference is None for one in findings.checks)
    assert sum(one.drafted for one in findings.checks) > 0
    assert len(findings.checks) == findings.total == 3 * 3 * 2
    assert [done for _, done, _ in told] == list(range(19))
    assert told[0] == ("", 0, 18)


def test_what_the_chat_learnt_stays_its_own_and_its_next_answer_is_the_same(talking: Talk) -> None:
    messages = (Message("user", "[again] again"),)
    talking.events(messages, WANTED)
    chat = talking.engine.probe().controller
    costs, accepted = chat.costs.plain_s, chat.report().sources
    prove(talking.engine, PROOF, silent, never)
    probe = talking.engine.probe()
    assert probe.controller is chat
    assert (chat.costs.plain_s, chat.report().sources) == (costs, accepted)
    assert probe.context == ()
    assert probe.loaded.target.length == 0
    before = talking.say(messages, WANTED)
    prove(talking.engine, PROOF, silent, never)
    after = talking.say(messages, WANTED)
    assert after[0] == before[0]
    assert after[1].cached_tokens == 0


@pytest.mark.parametrize("after", [0, 1, 40, 300])
def test_it_ends_soon_after_a_stop_with_what_was_compared_and_the_engine_answers_on(talking: Talk, after: int) -> None:
    asked_for = 0

    def stopped() -> bool:
        nonlocal asked_for
        asked_for += 1
        return asked_for > after

    findings = prove(talking.engine, PROOF, silent, stopped)
    assert findings.stopped
    assert len(findings.checks) < findings.total
    assert all(one.difference is None for one in findings.checks)
    assert asked_for <= after + 4
    assert talking.say("Hello", pinned(2))[0] == talking.say("Hello")[0]


def test_a_stop_while_a_difference_is_looked_at_ends_it_too(talking: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    believe(monkeypatch)
    looking = False
    original = type(talking.engine.probe()).logits_after

    def look(*given: object, **options: object) -> object:
        nonlocal looking
        looking = True
        return original(*given, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(type(talking.engine.probe()), "logits_after", look)
    findings = prove(talking.engine, PROOF, silent, lambda: looking)
    assert looking
    assert findings.stopped
    assert findings.checks == ()


def test_an_engine_that_believes_its_drafter_is_found_out(talking: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    believe(monkeypatch)
    findings = prove(talking.engine, PROOF, silent, never)
    worked = reported(findings, "mtpchat verify")
    assert worked.warning
    assert "Not lossless" in worked.line
    assert "MISMATCH" in worked.page


def test_where_nothing_can_draft_there_is_nothing_to_compare(talking: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(controller.Controller, "depth_limit", lambda *_: 0)
    with pytest.raises(EngineError, match="guess ahead"):
        prove(talking.engine, PROOF, silent, never)


def test_an_engine_of_another_kind_is_refused() -> None:
    with pytest.raises(EngineError, match="looked into"):
        prove(FakeEngine(), PROOF, silent, never)


def test_the_questions_of_a_chat_come_with_what_was_said_before_them() -> None:
    messages = (Message("system", "Be brief."), *talk("a", "b", "c", "d"), Message("user", "and e?"))
    found = asked_in(messages)
    assert [(one.name, one.text) for one in found] == [
        ("question-3", "about c"),
        ("question-4", "about d"),
        ("question-5", "and e?"),
    ]
    assert found[-1].before == messages[1:-1]
    assert {one.system for one in found} == {"Be brief."}
    assert asked_in(()) == ()


# What is said about it.


def test_a_whole_comparison_is_one_sentence_and_a_page() -> None:
    worked = reported(Findings((SAME, SAME), 2), "mtpchat verify -m x.gguf", read_again=True)
    assert worked.line == (
        "2 answers compared. Lossless: every answer is the same, token for token. "
        "The chat is read again at its next turn."
    )
    assert "| `mtp 1` | 2 of 2 | 0 | 0 | 8 of 18 |" in worked.page
    assert "mtpchat verify -m x.gguf" in worked.page
    assert not worked.warning


def test_a_stopped_comparison_claims_no_more_than_it_saw() -> None:
    worked = reported(Findings((SAME,), 9), "line")
    assert worked.line == "Stopped after 1 of 9 comparisons, in which no token was changed."
    assert worked.page == ""
    found = reported(Findings((replace(SAME, difference=OTHER),), 9), "line")
    assert found.warning
    assert found.line.startswith("Stopped after 1 of 9 comparisons. Not lossless")
    assert "Stopped after 1 of 9" in found.page


def test_text_of_the_model_stays_text_on_the_page() -> None:
    page = reported(Findings((replace(SAME, difference=OTHER),), 1), "line").page
    assert "\x1b" not in page
    assert "\\|a" in page


# The command.


def test_arguments_choose_prompts_depths_and_length(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Proof] = []
    monkeypatch.setattr("mtpchat.bench.proof.prove", lambda _engine, proof, *_: made.append(proof) or Findings((), 0))
    context = FakeContext()
    context.session.arrange(messages=talk("a"))
    for words in ("", "1-2,5 9", "all 20", "chat 3", "CHAT"):
        effect = say(context, f"/verify {words}").effect
        assert isinstance(effect, RunTask)
        effect.task(FakeEngine(), silent, never)
    assert [(proof.depths, proof.samplings[0].max_tokens) for proof in made] == [
        ((), 48),
        ((1, 2, 5), 9),
        ((), 20),
        ((3,), 48),
        ((), 48),
    ]
    assert [proof.prompts[0].group for proof in made] == ["code", "code", "code", "chat", "chat"]
    assert [one.temperature for one in made[0].samplings] == [0.0, context.session.config.sampling.temperature]
    assert made[0].kind == "mtp"


@pytest.mark.parametrize(
    ("words", "expected"),
    [("0", "depths"), ("3-1", "depths"), ("65", "depths"), ("x", "depths"), ("1 0", "length"), ("1 2 3", "takes")],
)
def test_arguments_that_make_no_sense_are_refused(words: str, expected: str) -> None:
    assert expected in refuse(FakeContext(), f"/verify {words}")


def test_a_chat_without_a_question_is_refused() -> None:
    assert "Nothing was asked" in refuse(FakeContext(), "/verify chat")


def test_during_an_answer_it_has_to_wait() -> None:
    context = FakeContext()
    context.session.arrange(busy=True)
    assert "has to wait" in refuse(context, "/verify")


# All of it together, as the app runs it.


@asynccontextmanager
async def session_on(model: TinyModel) -> AsyncIterator[Session]:
    service = EngineService(lambda: ChatEngine(LlamaBackend()))
    service.start()
    config = Config(
        model=ModelConfig(path=str(model.path), context=2048, threads=1, trial="off"),
        speculative=SpeculativeConfig(off_rebuild="never"),
        sampling=SamplingConfig(temperature=0, max_tokens=24),
    )
    session = Session(service, config)
    try:
        async for _ in session.load():
            pass
        yield session
    finally:
        service.close()


def task_of(session: Session, line: str) -> Task:
    effect = dispatch(FakeContext(session), line).effect  # type: ignore[arg-type]
    assert isinstance(effect, RunTask)
    return effect.task


async def test_in_a_session_the_conversation_and_its_figures_stay_as_they_are(
    hybrid: Callable[[float], TinyModel],
) -> None:
    async with session_on(hybrid(0.7)) as session:
        events = [event async for event in session.send("[again] again")]
        assert isinstance(events[-1], Finished)
        before = session.messages, session.stats, session.totals, session.seed, session.control
        jobs: list[JobEvent] = [event async for event in session.work(task_of(session, "/verify chat 2 16"))]
        assert isinstance(jobs[0], Working)
        assert isinstance(jobs[-1], Worked)
        assert "Lossless" in jobs[-1].line
        assert "read again" in jobs[-1].line
        assert (session.messages, session.stats, session.totals, session.seed, session.control) == before
        assert isinstance([event async for event in session.send("And then?")][-1], Finished)


async def test_in_a_session_a_cancel_ends_it_and_the_next_turn_answers(hybrid: Callable[[float], TinyModel]) -> None:
    async with session_on(hybrid(0.7)) as session:
        async with aclosing(session.work(task_of(session, "/verify all 256"))) as jobs:
            assert isinstance(await anext(jobs), Working)
            await session.cancel()
            last = [event async for event in jobs][-1]
        assert isinstance(last, Worked)
        assert last.line.startswith("Stopped after")
        assert not session.busy
        assert isinstance([event async for event in session.send("Hello")][-1], Finished)


async def test_no_word_of_it_reaches_the_kept_chats(hybrid: Callable[[float], TinyModel]) -> None:
    async with session_on(hybrid(0.7)) as session:
        put: list[object] = []
        session.archive.put = put.append  # type: ignore[method-assign]
        _ = [event async for event in session.send("[again] again")]
        before = len(put)
        assert before > 0
        _ = [event async for event in session.work(task_of(session, "/verify 1 8"))]
        assert len(put) == before
