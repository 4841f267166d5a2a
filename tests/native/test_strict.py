"""Strict mode on llama.cpp: what is taken back, how near a tie has to be, and that the text stays the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtpchat.backend.llama import rounding
from mtpchat.backend.llama.rounding import displacement, measure_displacement
from mtpchat.backend.llama.sampler import LlamaSampler
from mtpchat.backend.llama.target import LlamaTarget
from mtpchat.config import SamplingConfig
from mtpchat.errors import DecodeFailed
from mtpchat.events import Failed, SpeculationControl
from mtpchat.paths import cache_dir
from mtpchat.speculate.controller import Controller
from mtpchat.speculate.none import NoDrafter
from tests.models import TinyModel
from tests.native import contexts
from tests.native.contexts import LOG, load
from tests.native.talk import GREEDY, OFF, Talk, pinned, talk
from tests.native.test_lossless import PENALISED, PROMPTS, SAMPLED
from tests.speculate.fake_model import VOCABULARY, FakeTarget
from tests.speculate.test_controller import Clock, Scripted

Pair = tuple[Path, Path | str, str]

CASES: dict[str, Callable[[pytest.FixtureRequest], Pair]] = {
    "hybrid": lambda r: (r.getfixturevalue("hybrid")(0.7).path, "", "mtp"),
    "hybrid whose text hangs on all of its past": lambda r: (r.getfixturevalue("hybrid_random").path, "", "mtp"),
    "recurrent": lambda r: (r.getfixturevalue("recurrent_model").path, "", "ngram"),
    "dense": lambda r: (r.getfixturevalue("dense_random").path, "", "ngram"),
    "window": lambda r: (r.getfixturevalue("sliding").path, r.getfixturevalue("draft_model").path, "draft"),
    "chained": lambda r: (r.getfixturevalue("chained").path, "", "mtp"),
    "EAGLE-3": lambda r: (r.getfixturevalue("eagle3_model").path, r.getfixturevalue("eagle3")(0.7).path, "eagle3"),
    "assistant": lambda r: (r.getfixturevalue("gemma").path, r.getfixturevalue("assistant")(0.7).path, "mtp"),
}


@pytest.fixture(params=CASES, ids=lambda name: name.replace(" ", "-"))
def talking(request: pytest.FixtureRequest) -> Iterator[Talk]:
    with talk(*CASES[request.param](request), copies="on", strict=True) as loaded:
        yield loaded


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 4.0, 1e9])
def test_text_is_the_same_however_much_is_doubted(talking: Talk, epsilon: float) -> None:
    """A large epsilon makes rows of every place doubtful, so that all ways of going back are taken."""
    talking.engine._epsilon = epsilon
    for sampling in (GREEDY, SAMPLED, PENALISED):
        for prompt in PROMPTS[:2]:
            plain, _ = talking.say(prompt, OFF, sampling)
            for depth in (1, 3, 6):
                text, stats = talking.say(prompt, pinned(depth), sampling)
                assert text == plain, f"depth {depth}"
                assert stats.output_tokens == stats.steps + stats.accepted
                assert epsilon < 1e9 or stats.accepted == 0


def test_near_ties_are_measured_once_and_small(talking: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    measured = []
    monkeypatch.setattr(
        "mtpchat.backend.llama.loader.displacement",
        lambda *of: measured.append(displacement(*of)) or measured[-1],
    )
    for control in (OFF, pinned(3), pinned(2)):
        talking.say(PROMPTS[0], control)
    assert len(measured) == 1
    assert 0 <= measured[0] < 0.05
    assert talking.engine.probe().controller.epsilon == 2 * measured[0]


def test_without_strict_nothing_is_measured_and_nothing_copied(
    hybrid_random: TinyModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mtpchat.backend.llama.loader.displacement", lambda *_: pytest.fail("measured"))
    monkeypatch.setattr("mtpchat.backend.llama.state.StateCopier.take", lambda _: pytest.fail("copied"))
    with talk(hybrid_random.path, kind="mtp") as loaded:
        target = loaded.engine.probe().loaded.target
        target.decode([1, 2, 3], rows="all")
        target.rollback(1)
        target.clear()
        assert loaded.engine.probe().controller.epsilon == 0.0


def test_strict_mode_that_cannot_be_prepared_is_refused_in_words(
    dense_model: TinyModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> float:
        raise DecodeFailed("llama.cpp could not decode (code -1).", code=-1)

    monkeypatch.setattr("mtpchat.backend.llama.loader.displacement", fails)
    with talk(dense_model.path, strict=True) as loaded:
        last = loaded.events(PROMPTS[0], OFF)[-1]
        assert isinstance(last, Failed)
        assert "Strict mode" in last.message
        assert "--strict" in last.hint


@pytest.mark.parametrize("before", [0, 1, 5])
def test_a_whole_decode_is_taken_back_exactly_on_a_hybrid(hybrid_random: TinyModel, before: int) -> None:
    model = load(hybrid_random.path, load_mtp=True)
    target = LlamaTarget(model, contexts.settings(snapshots=4, whole_steps=True, hidden_rows=True), LOG)
    past = [5, 6, 7, 8, 9][:before]
    for token in past:
        target.decode([token])
    target.decode([10, 11, 12], rows="all")
    target.rollback(before)
    after = target.decode([10]).logits(0).copy()
    target.clear()
    for token in past:
        target.decode([token])
    assert np.array_equal(after, target.decode([10]).logits(0))
    target.close()
    model.close()


def test_displacement_is_that_of_the_widths(dense_model: TinyModel, monkeypatch: pytest.MonkeyPatch) -> None:
    model = load(dense_model.path)
    exact, complete = measure_displacement(model, contexts.settings(), LOG)
    assert complete
    assert measure_displacement(model, contexts.settings(), LOG) == (exact, True), "fixed tokens, fixed result"
    widths: list[int] = []
    logits = rounding._logits

    def moved(target: LlamaTarget, tokens: list[int], width: int) -> np.ndarray:
        widths.append(width)
        assert target.length == rounding._PAST
        found = logits(target, tokens, width)
        found[3] += 100.0  # all words alike: changes nothing
        if width == 3:
            found[5, np.argmax(found[5])] += 0.25
        return found

    monkeypatch.setattr(rounding, "_logits", moved)
    assert measure_displacement(model, contexts.settings(), LOG)[0] == pytest.approx(0.25, abs=2 * exact + 1e-4)
    assert widths == [1, 5, 4, 3, 2]
    assert measure_displacement(model, contexts.settings(max_rows=1), LOG)[0] == 0.0
    model.close()


def test_a_slow_model_is_measured_in_little(dense_model: TinyModel, monkeypatch: pytest.MonkeyPatch) -> None:
    model, widths, ticks = load(dense_model.path), [], iter(range(0, 1000, 16))
    logits = rounding._logits

    def noted(target: LlamaTarget, tokens: list[int], width: int) -> np.ndarray:
        widths.append((target.length, width))
        return logits(target, tokens, width)

    monkeypatch.setattr(rounding, "_logits", noted)
    _, complete = measure_displacement(model, contexts.settings(), LOG, clock=lambda: float(next(ticks)))
    assert widths == [(64, 1), (64, 5)]
    assert not complete
    monkeypatch.setattr(rounding, "measure_displacement", lambda *_: (0.01, False))
    assert displacement([dense_model.path], 0, model, contexts.settings(), LOG) == 0.5, "what was not seen is assumed"
    assert not (cache_dir() / "near-ties.json").exists()
    model.close()


@pytest.mark.parametrize("name", ["hybrid_random", "recurrent_model", "sliding", "dense_random"])
def test_displacement_is_measured_on_every_kind_of_memory_and_kept(
    name: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = request.getfixturevalue(name).path
    model = load(path)
    found = displacement([path], 0, model, contexts.settings(), LOG)
    assert 0 <= found < 0.1
    monkeypatch.setattr(rounding, "measure_displacement", lambda *_: pytest.fail("measured again"))
    assert displacement([path], 0, model, contexts.settings(), LOG) == found
    with pytest.raises(pytest.fail.Exception):
        displacement([path], 0, model, contexts.settings(threads=2), LOG)
    model.close()


@given(
    st.lists(st.lists(st.integers(0, VOCABULARY - 1), max_size=5), max_size=30),
    st.sampled_from([None, 3]),
    st.sampled_from(
        [
            SamplingConfig(temperature=0.7, top_k=4, top_p=0.9, min_p=0.0),
            SamplingConfig(temperature=1.0, top_k=0, top_p=0.8, min_p=0.1),
            SamplingConfig(temperature=0.0, repeat_penalty=1.2),
        ]
    ),
    st.integers(0, 1000),
)
@settings(max_examples=60, deadline=None)
def test_sampled_text_is_that_of_plain_decoding_in_spite_of_rounding(
    script: list[list[int]], snapshots: int | None, sampling: SamplingConfig, seed: int
) -> None:
    """The target's logits are off by up to .05 in wide decodes, and close to each other."""

    def said(guesses: Sequence[list[int]]) -> list[int]:
        target = FakeTarget(snapshots, whole_steps=True, wobble=0.05)
        made = Controller(target, {"none": NoDrafter(), "test": Scripted(list(guesses))}, Clock(), epsilon=0.2)
        made.context[:] = [1, 2, 3]
        made.learn(0, [1, 2], target.decode([1, 2], rows="none"))
        sampler = LlamaSampler(sampling, seed, VOCABULARY)
        sampler.reset(made.context)
        while len(made.context) < 43:
            control = SpeculationControl(mode="on", draft_max=4, pinned=True)
            made.step(sampler, control, "test", 43 - len(made.context), lambda _: False)
        sampler.close()
        return made.context

    assert said(script) == said(())
