"""Going back by a copy of the state before the draft: recurrent models without snapshots."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from mtpchat.backend.llama.target import LlamaTarget
from mtpchat.errors import RollbackImpossible
from tests.models import TinyModel
from tests.native.contexts import LOG, load, settings


@pytest.fixture
def target(hybrid_random: TinyModel) -> Iterator[LlamaTarget]:
    model = load(hybrid_random.path, load_mtp=True)
    target = LlamaTarget(model, settings(hidden_rows=True, copies="on"), LOG)
    yield target
    target.close()
    model.close()


@pytest.mark.parametrize(("before", "kept"), [(0, 1), (0, 2), (0, 3), (3, 0), (3, 1), (3, 2), (3, 3)])
def test_a_copy_brings_back_logits_and_hidden_rows(target: LlamaTarget, before: int, kept: int) -> None:
    past, draft = [5, 6, 7][:before], [8, 9, 10, 11]
    if past:
        target.decode(past, rows="none")
    rows = target.decode(draft, rows="all")
    target.rollback(before + kept)
    hidden = rows.hidden()[:kept]
    assert target.length == before + kept
    after = target.decode([12]).logits(0).copy()
    target.clear()
    truth_hidden = target.decode([*past, *draft[:kept]], rows="none").hidden()[before:]
    truth = target.decode([12]).logits(0)
    assert np.abs(after - truth).max() < 1e-3
    assert hidden.shape == truth_hidden.shape
    assert kept == 0 or np.abs(hidden - truth_hidden).max() < 1e-3


@pytest.mark.parametrize("kept", range(4))
def test_a_copy_brings_back_a_purely_recurrent_state(recurrent_model: TinyModel, kept: int) -> None:
    model = load(recurrent_model.path)
    target = LlamaTarget(model, settings(copies="on"), LOG)
    target.decode([5, 6, 7], rows="none")
    target.decode([8, 9, 10, 11], rows="all")
    spoiled = target.decode([12]).logits(0).copy()
    target.clear()
    target.decode([5, 6, 7], rows="none")
    target.decode([8, 9, 10, 11], rows="all")
    target.rollback(3 + kept)
    after = target.decode([12]).logits(0).copy()
    target.clear()
    target.decode([5, 6, 7, *[8, 9, 10, 11][:kept]], rows="none")
    truth = target.decode([12]).logits(0)
    assert np.abs(after - truth).max() < 1e-4 < np.abs(spoiled - truth).max()
    target.close()
    model.close()


def test_copies_allow_drafts_as_long_as_there_are_rows(target: LlamaTarget) -> None:
    assert target.capabilities.rollback == target.capabilities.max_rows - 1
    assert target.capabilities.why_no_draft == ""


def test_a_copy_is_gone_after_the_next_change(target: LlamaTarget) -> None:
    target.decode([5, 6, 7], rows="none")
    for change in (
        lambda: target.decode([12]),
        lambda: target.rollback(target.length - 2),
        lambda: target.checkpoint(),
        lambda: (target.clear(), target.decode([1] * 30, rows="none")),
    ):
        start = target.length
        target.decode([8, 9, 10, 11], rows="all")
        change()
        with pytest.raises(RollbackImpossible):
            target.rollback(start + 1)


def test_no_copy_is_made_for_plain_decoding(target: LlamaTarget) -> None:
    target.decode([5, 6, 7], rows="none")
    with pytest.raises(RollbackImpossible):
        target.rollback(2)


def test_a_copy_that_cannot_be_restored_leaves_an_empty_memory(
    target: LlamaTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    target.decode([5, 6, 7], rows="none")
    target.decode([8, 9], rows="all")
    monkeypatch.setattr(target._copier, "put", lambda state: False)
    with pytest.raises(RollbackImpossible):
        target.rollback(4)
    assert target.length == 0


def test_copies_are_left_out_where_they_are_switched_off_or_snapshots_are_kept(
    recurrent_model: TinyModel, hybrid_random: TinyModel
) -> None:
    for path, changes in ((recurrent_model.path, {"copies": "off"}), (hybrid_random.path, {"snapshots": 2})):
        model = load(path)
        target = LlamaTarget(model, settings(**changes), LOG)
        assert target.capabilities.rollback == changes.get("snapshots", 0)
        target.close()
        model.close()


@pytest.mark.parametrize(("cheap", "depth"), [(1e9, 4), (0.0, 0)])
def test_copies_are_used_by_themselves_only_where_they_are_measured_to_be_cheap(
    recurrent_model: TinyModel, monkeypatch: pytest.MonkeyPatch, cheap: float, depth: int
) -> None:
    monkeypatch.setattr("mtpchat.backend.llama.target._CHEAP", cheap)
    model = load(recurrent_model.path)
    target = LlamaTarget(model, settings(copies="auto"), LOG)
    assert target.capabilities.rollback == depth
    assert bool(target.capabilities.why_no_draft) == (depth == 0)
    assert target.length == 0
    target.close()
    model.close()
