"""Looking at a loaded model from inside: plain logits say what plain answers said, and what is learnt stays apart."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from mtpchat import cli
from mtpchat.bench.prompts import Prompt
from mtpchat.bench.subject import EngineSubject
from mtpchat.errors import EngineError
from tests.bench.gullible import believe
from tests.models import TinyModel
from tests.native.talk import GREEDY, OFF, Talk, pinned, talk

PROMPT = Prompt("p", "Why do rivers meander? Because because because.")


@pytest.fixture(scope="module", params=["hybrid_random", "dense_random", "sliding"])
def talking(request: pytest.FixtureRequest) -> Iterator[Talk]:
    model: TinyModel = request.getfixturevalue(request.param)
    with talk(model.path) as loaded:
        yield loaded


@pytest.mark.parametrize("width", [1, 2, 5])
def test_logits_computed_anew_choose_what_was_said(talking: Talk, width: int) -> None:
    subject = EngineSubject(talking.engine)
    answer = subject.ask(PROMPT, OFF, GREEDY)
    assert len(answer.tokens) > 4
    for length in range(min(12, len(answer.tokens))):
        logits = subject.logits_after(PROMPT, answer.tokens[:length], width)
        assert int(np.argmax(logits)) == answer.tokens[length]


def test_looking_changes_no_later_answer(talking: Talk) -> None:
    subject = EngineSubject(talking.engine)
    before = subject.ask(PROMPT, pinned(3), GREEDY)
    subject.logits_after(PROMPT, before.tokens[:5], 3)
    assert subject.ask(PROMPT, pinned(3), GREEDY).tokens == before.tokens


def test_what_is_learnt_apart_starts_from_nothing_and_says_the_same(talking: Talk) -> None:
    subject = EngineSubject(talking.engine)
    subject.apart("")
    plain = subject.ask(PROMPT, OFF, GREEDY)
    first = talking.engine.probe().controller
    subject.apart("other")
    answer = subject.ask(PROMPT, pinned(2), GREEDY)
    assert talking.engine.probe().controller is not first
    assert (answer.tokens, answer.stats.cached_tokens) == (plain.tokens, 0)
    subject.apart("")
    assert talking.engine.probe().controller is first
    assert subject.ask(PROMPT, pinned(2), GREEDY).tokens == plain.tokens


def test_without_a_model_there_is_nothing_to_look_at(dense_random: TinyModel) -> None:
    with talk(dense_random.path) as loaded:
        loaded.engine._unload()
        with pytest.raises(EngineError, match="No model"):
            loaded.engine.probe()


def test_an_engine_that_believes_its_drafter_is_found_out(
    hybrid: Callable[[float], TinyModel], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    believe(monkeypatch)
    model = hybrid(0.0).path
    flags = ["-t", "1", "-c", "1024", "-n", "16", "--depths", "1", "--temps", "0", "--kinds", "mtp"]
    code = cli.main(["verify", "-m", str(model), *flags, "-p", PROMPT.text])
    shown = capsys.readouterr().out
    assert code == 1
    assert "mtp 1, prompt, temperature 0, token" in shown
    assert "MISMATCH" in shown
    assert "Not lossless here" in shown
