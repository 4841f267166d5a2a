"""What was measured in one run is where the next one begins."""

from __future__ import annotations

import time
from pathlib import Path

import msgspec
import pytest

from mtpchat.backend.llama.loader import LlamaBackend
from mtpchat.backend.protocol import LoadPlan
from mtpchat.config import Config, ModelConfig, SpeculativeConfig
from mtpchat.engine.engine import ChatEngine
from mtpchat.engine.requests import TurnRequest
from mtpchat.events import Finished, SpeculationControl
from mtpchat.messages import Message
from mtpchat.speculate.learned import Lessons
from tests.models import TinyModel
from tests.native.talk import GREEDY

AUTO = SpeculationControl()


def chat(model: TinyModel, kept: Path, *, learn: bool = True) -> tuple[int, float | None]:
    """One run with one answer; how many widths were known before it, and the plain step's cost after it."""
    lessons = Lessons(kept)
    engine = ChatEngine(LlamaBackend(), time.perf_counter, lessons)
    config = Config(model=ModelConfig(context=1024, threads=1), speculative=SpeculativeConfig(learn=learn))
    try:
        engine.load(LoadPlan(str(model.path), "", "ngram", config), lambda *_progress: None, lambda: False)
        costs = engine.probe().controller.costs
        known = len(costs.measured())
        sampling = msgspec.structs.replace(GREEDY, max_tokens=40)
        request = TurnRequest((Message("user", "again and again and again and again"),), sampling)
        *_, last = engine.turn(request, lambda: AUTO, lambda: False)
        assert isinstance(last, Finished)
        return known, costs.plain_s
    finally:
        engine.close()


@pytest.fixture
def model(dense_random: TinyModel) -> TinyModel:
    return dense_random


def test_costs_of_the_last_run_are_there_before_the_first_token(model: TinyModel, tmp_path: Path) -> None:
    kept = tmp_path / "speculation.json"
    known, plain_s = chat(model, kept)
    assert known == 0
    assert plain_s is not None
    known, _ = chat(model, kept)
    assert known > 0


def test_nothing_is_kept_or_used_when_that_is_switched_off(model: TinyModel, tmp_path: Path) -> None:
    kept = tmp_path / "speculation.json"
    chat(model, kept, learn=False)
    assert not kept.exists()
    chat(model, kept)
    assert chat(model, kept, learn=False)[0] == 0


def test_a_kept_file_that_is_no_good_does_not_stop_a_chat(model: TinyModel, tmp_path: Path) -> None:
    kept = tmp_path / "speculation.json"
    kept.write_bytes(b'{"costs": {"\xff')
    assert chat(model, kept)[0] == 0
    assert chat(model, kept)[0] > 0
