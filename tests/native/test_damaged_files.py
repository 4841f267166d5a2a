"""Files as people have met them: heads without keys, heads without a tensor, vocabularies that llama.cpp dies of."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from mtpchat.backend.llama.trial import exercise
from mtpchat.backend.protocol import LoadPlan
from mtpchat.config import Config, ModelConfig
from mtpchat.errors import ModelError, MtpChatError
from tests.gguf.draft import U32, Draft, draft_of
from tests.models import TinyModel, hybrid_mtp


def plan(model: Path, drafter: Path | str = "") -> LoadPlan:
    return LoadPlan(str(model), str(drafter), "auto", Config(model=ModelConfig(context=256, threads=1, trial="off")))


def without(draft: Draft, unwanted: bytes) -> Draft:
    """The draft without some tensors, the others moved together as llama.cpp wants them."""
    kept, data = [], b""
    for name, shape, kind, offset in draft.tensors:
        if unwanted in name:
            continue
        kept.append((name, shape, kind, len(data)))
        data += draft.data[offset : offset + math.prod(shape) * (4 if kind == 0 else 2)]
        data += bytes(-len(data) % 32)
    draft.tensors, draft.data = kept, data
    return draft


def test_a_head_without_key_heads_is_left_out_in_words(tmp_path: Path) -> None:
    path = hybrid_mtp(tmp_path / "model.gguf").path
    draft = draft_of(path)
    draft.list("qwen35.attention.head_count_kv", U32, [1, 1, 1, 1, 0])
    path.write_bytes(draft.write())
    assert "model.gguf" in exercise(plan(path))


@pytest.mark.parametrize("tensor", ["nextn.enorm", "nextn.hnorm", "attn_norm"])
def test_a_head_that_lacks_a_tensor_is_refused_with_its_name(tmp_path: Path, tensor: str) -> None:
    path = hybrid_mtp(tmp_path / "model.gguf").path
    path.write_bytes(without(draft_of(path), f"blk.4.{tensor}".encode()).write())
    with pytest.raises(ModelError, match=rf"blk\.4\.{tensor}\.weight") as caught:
        exercise(plan(path))
    assert caught.value.hint


def test_a_drafter_that_is_cut_short_or_gone_costs_the_drafter_alone(
    dense_model: TinyModel, draft_model: TinyModel, tmp_path: Path
) -> None:
    cut = tmp_path / "cut.gguf"
    cut.write_bytes(draft_model.path.read_bytes()[:-64])
    assert "incomplete" in exercise(plan(dense_model.path, cut))
    assert "no file" in exercise(plan(dense_model.path, tmp_path / "gone.gguf"))


def test_prediction_heads_are_no_chat_model_and_say_what_they_are(hybrid_head: TinyModel) -> None:
    with pytest.raises(MtpChatError, match="prediction heads alone") as caught:
        exercise(plan(hybrid_head.path))
    assert "-md" in caught.value.hint


@pytest.mark.parametrize("trained", [2**31, 2**32 - 1])
def test_a_trained_context_beyond_what_the_library_can_say_does_not_become_the_context(
    dense_model: TinyModel, tmp_path: Path, trained: int
) -> None:
    path = tmp_path / "vast.gguf"
    draft = draft_of(dense_model.path)
    draft.set("llama.context_length", U32, trained)
    path.write_bytes(draft.write())
    assert exercise(plan(path)) == ""
