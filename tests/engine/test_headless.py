"""One answer without the app: exit codes, piped text, Ctrl+C and readers that go away."""

from __future__ import annotations

import asyncio
import errno
import io
import json
import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mtpchat import headless
from mtpchat.backend.protocol import LoadPlan
from mtpchat.cli import main
from mtpchat.engine.requests import TurnRequest
from mtpchat.errors import ConfigError, Interrupted, LoadCancelled, ModelUnreadable
from mtpchat.events import Failed, Finished, Measured, ModelFacts, SpeculationControl, StatsTick, TextDelta, TurnEvent
from mtpchat.log_file import stop_log
from mtpchat.messages import Message
from mtpchat.stats import TurnStats

Cancelled = Callable[[], bool]


class FakeEngine:
    """Echoes the question. `on_load`, `on_measure` and `on_turn` run on the engine thread before anything else does."""

    def __init__(
        self,
        *,
        on_load: Callable[[], None] | None = None,
        on_measure: Callable[[], None] | None = None,
        on_turn: Callable[[], None] | None = None,
    ) -> None:
        self.plan: LoadPlan | None = None
        self.request: TurnRequest | None = None
        self.closed = False
        self._on_load, self._on_measure, self._on_turn = on_load, on_measure, on_turn

    def load(self, plan: LoadPlan, progress: Callable[[str, float, int], None], cancelled: Cancelled) -> ModelFacts:
        self.plan = plan
        progress("model", 0.5, 100)
        if self._on_load:
            self._on_load()
            wait_for(cancelled)
            raise LoadCancelled("The load was stopped.")
        return ModelFacts("fake", plan.model, "fake", "none", "plain")

    def turn(
        self, request: TurnRequest, control: Callable[[], SpeculationControl], cancelled: Cancelled
    ) -> Iterator[TurnEvent]:
        self.request = request
        question = request.messages[-1].content
        yield TextDelta("hm", "thinking")
        yield TextDelta(f"You said: {question}")
        yield StatsTick(TurnStats(output_tokens=1))
        if self._on_turn:
            self._on_turn()
            wait_for(cancelled)
        if question == "fail":
            yield Failed("decode failed", "Try less.")
            return
        reason = "cancelled" if cancelled() else "stop"
        message = Message("assistant", f"You said: {question}", "hm", complete=reason == "stop")
        yield Finished(message, TurnStats(output_tokens=3, steps=3, prompt_tokens=2, decode_s=1.5), reason)

    def measure(self, request: TurnRequest, cancelled: Cancelled) -> Measured:
        if self._on_measure:
            self._on_measure()
            wait_for(cancelled)
            raise Interrupted("The measuring was given up.")
        return Measured(len(request.messages))

    def rest(self, cancelled: Cancelled) -> None:
        return

    def close(self) -> None:
        self.closed = True


def wait_for(state: Cancelled) -> None:
    pause = threading.Event()
    while not state():
        pause.wait(0.002)


def press_ctrl_c() -> None:
    """The main thread is where the signal of a terminal ends a wait; one of this thread might end here."""
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


@pytest.fixture
def model(tmp_path: Path) -> str:
    path = tmp_path / "model.gguf"
    path.touch()
    return str(path)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, model: str) -> Iterator[Callable[..., int]]:
    def run(*argv: str, stdin: bytes = b"", engine: FakeEngine | None = None) -> int:
        used = engine or FakeEngine()
        monkeypatch.setattr("mtpchat.composition.open_engine", lambda *_: used)
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = main(["-m", model, *argv])
        assert used.closed
        return code

    yield run
    stop_log()


def test_a_prompt_is_answered_on_stdout_alone(run: Callable[..., int], capfd: pytest.CaptureFixture[str]) -> None:
    assert run("-p", "hi") == 0
    assert capfd.readouterr() == ("You said: hi\n", "")


def test_piped_text_is_the_question(run: Callable[..., int], capfd: pytest.CaptureFixture[str]) -> None:
    assert run(stdin="größe\n".encode()) == 0
    assert capfd.readouterr().out == "You said: größe\n"


def test_piped_text_goes_below_the_prompt(run: Callable[..., int], capfd: pytest.CaptureFixture[str]) -> None:
    assert run("-p", "Explain:", stdin=b"a\n b\n\n") == 0
    assert capfd.readouterr().out == "You said: Explain:\n\na\n b\n"


def test_piped_bytes_that_are_not_text_are_replaced_and_told(
    run: Callable[..., int], capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(stdin=b"a\xffb") == 0
    out, err = capfd.readouterr()
    assert out == "You said: a\ufffdb\n"
    assert "not UTF-8 (byte 1)" in err


@pytest.mark.parametrize("argv", [(), ("-p", ""), ("-p", " \n")])
def test_nothing_to_answer_is_a_clear_message(
    run: Callable[..., int], capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, argv: tuple[str, ...]
) -> None:
    with pytest.raises(AssertionError):  # the engine is not even opened
        run(*argv, stdin=b"\n")
    out, err = capfd.readouterr()
    assert out == ""
    assert "mtpchat: " in err
    assert "Say something" in err


def test_a_question_needs_text(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="empty"):
        headless.read_question(None, None, print)


def test_flags_reach_the_engine(run: Callable[..., int], model: str) -> None:
    engine = FakeEngine()
    assert run("-p", "hi", "-n", "5", "-s", "42", "-sys", "Be brief.", "-c", "99", engine=engine) == 0
    assert engine.plan is not None
    assert (engine.plan.model, engine.plan.config.model.context) == (model, 99)
    assert engine.request is not None
    assert engine.request.messages == (Message("system", "Be brief."), Message("user", "hi"))
    assert (engine.request.sampling.max_tokens, engine.request.sampling.seed) == (5, 42)


def test_json_is_the_only_thing_on_stdout(run: Callable[..., int], capfd: pytest.CaptureFixture[str]) -> None:
    assert run("-p", "hi", "--json") == 0
    value = json.loads(capfd.readouterr().out)
    assert (value["text"], value["thinking"], value["finish_reason"]) == ("You said: hi", "hm", "stop")
    assert value["usage"]["completion_tokens"] == 3
    assert value["timings"]["tokens_per_second"] == 2.0


def test_a_failing_turn_keeps_what_was_said_and_ends_with_1(
    run: Callable[..., int], capfd: pytest.CaptureFixture[str]
) -> None:
    assert run("-p", "fail") == 1
    assert capfd.readouterr() == ("You said: fail\n", "mtpchat: decode failed.\n  Try less.\n")
    assert run("-p", "fail", "--json") == 1
    assert json.loads(capfd.readouterr().out) == {
        "error": {"type": "generation", "message": "decode failed", "hint": "Try less.", "text": "You said: fail"}
    }


def test_a_model_that_does_not_load_ends_with_2(run: Callable[..., int], capfd: pytest.CaptureFixture[str]) -> None:
    def refuse() -> None:
        raise ModelUnreadable("not a GGUF", hint="Download it again.")

    assert run("-p", "hi", engine=FakeEngine(on_load=refuse)) == 2
    assert capfd.readouterr() == ("", "mtpchat: not a GGUF.\n  Download it again.\n")
    assert run("-p", "hi", "--json", engine=FakeEngine(on_load=refuse)) == 2
    assert json.loads(capfd.readouterr().out)["error"]["type"] == "load"


def test_ctrl_c_stops_the_answer_and_keeps_what_was_said(
    run: Callable[..., int], capfd: pytest.CaptureFixture[str]
) -> None:
    before = signal.getsignal(signal.SIGINT)
    assert run("-p", "hi", engine=FakeEngine(on_turn=press_ctrl_c)) == 130
    assert capfd.readouterr().out == "You said: hi\n"
    assert signal.getsignal(signal.SIGINT) is before


def test_ctrl_c_in_json_prints_the_object_so_far(run: Callable[..., int], capfd: pytest.CaptureFixture[str]) -> None:
    assert run("-p", "hi", "--json", engine=FakeEngine(on_turn=press_ctrl_c)) == 130
    assert json.loads(capfd.readouterr().out)["finish_reason"] == "cancelled"


def test_ctrl_c_while_loading_stops_the_load(run: Callable[..., int], capfd: pytest.CaptureFixture[str]) -> None:
    assert run("-p", "hi", engine=FakeEngine(on_load=press_ctrl_c)) == 130
    assert capfd.readouterr() == ("", "mtpchat: interrupted.\n")
    assert run("-p", "hi", "--json", engine=FakeEngine(on_load=press_ctrl_c)) == 130
    assert json.loads(capfd.readouterr().out)["error"]["type"] == "interrupted"


def test_ctrl_c_while_the_prompt_is_measured_is_no_failure(
    run: Callable[..., int], capfd: pytest.CaptureFixture[str]
) -> None:
    assert run("-p", "hi", engine=FakeEngine(on_measure=press_ctrl_c)) == 130
    assert capfd.readouterr() == ("", "mtpchat: interrupted.\n")
    assert run("-p", "hi", "--json", engine=FakeEngine(on_measure=press_ctrl_c)) == 130
    assert json.loads(capfd.readouterr().out)["error"]["type"] == "interrupted"


async def test_a_second_ctrl_c_ends_the_process_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    codes: list[int] = []
    monkeypatch.setattr("mtpchat.headless.os._exit", codes.append)
    stuck = asyncio.Event()

    async def cancel() -> None:
        await stuck.wait()

    with headless.Interrupts(cancel) as interrupts:
        signal.raise_signal(signal.SIGINT)
        assert (interrupts.asked, codes) == (True, [])
        signal.raise_signal(signal.SIGINT)
        assert codes == [130]
        stuck.set()
        await asyncio.sleep(0)
        await interrupts.settled()


@pytest.mark.parametrize(("number", "outcome"), [("EPIPE", (0, "")), ("ENOSPC", (1, "No space left"))])
def test_a_stdout_that_breaks_stops_the_engine_and_says_so_only_if_it_matters(
    run: Callable[..., int],
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    number: str,
    outcome: tuple[int, str],
) -> None:
    class Broken(io.StringIO):
        def write(self, text: str) -> int:
            failure = getattr(errno, number)
            raise OSError(failure, os.strerror(failure))

    code, says = outcome
    monkeypatch.setattr("sys.stdout", Broken())
    engine = FakeEngine(on_turn=lambda: None)
    assert run("-p", "hi", engine=engine) == code
    err = capfd.readouterr().err
    assert says in err
    assert bool(err) == bool(says)
