"""What a file is good for, told from its header alone."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest
from gguf import GGUFWriter
from hypothesis import given
from hypothesis import strategies as st

from mtpchat.errors import ModelNotFound, ModelUnreadable, ModelUnsupported
from mtpchat.gguf import architectures
from mtpchat.gguf.facts import FileFacts, facts_of, read_model, require_chat, why_no_heads
from mtpchat.gguf.header import Header, Scalar, TensorInfo
from tests.models import CHATML, STANDARD, TinyModel, chained_heads, hybrid_mtp


def header(values: Mapping[str, Scalar], tensors: tuple[str, ...] = ("blk.0.attn_norm.weight",)) -> Header:
    infos = {name: TensorInfo(name, (8,), 0, 0, 32) for name in tensors}
    return Header(Path("model.gguf"), 1000, 3, values, {}, infos, 0, 1000)


def facts(path: Path) -> FileFacts:
    return facts_of(read_model(path))


def test_a_hybrid_model_with_its_head(hybrid: Callable[[float], TinyModel]) -> None:
    told = facts(hybrid(0.7).path)
    assert (told.role, told.architecture, told.memory, told.snapshots) == ("chat", "qwen35", "hybrid", True)
    assert (told.heads, told.heads_there, told.trunk, told.blocks) == (1, 1, 4, 5)
    assert (told.width, told.vocabulary, told.context) == (128, STANDARD.size, 4096)
    assert told.chat_template == CHATML
    assert told.can_roll_back
    assert not told.chained
    assert why_no_heads(told) == ""
    require_chat(told)


def test_heads_alone_are_no_chat_model(hybrid_head: TinyModel, chained_head_file: TinyModel) -> None:
    for model in (hybrid_head, chained_head_file):
        told = facts(model.path)
        assert told.role == "mtp_only"
        assert why_no_heads(told) == ""
        with pytest.raises(ModelUnsupported, match="prediction heads alone") as caught:
            require_chat(told)
        assert "-md" in caught.value.hint


def test_chained_heads_are_known_as_such(chained: TinyModel) -> None:
    told = facts(chained.path)
    assert told.chained
    assert (told.heads, told.heads_there) == (3, 3)
    assert why_no_heads(told) == ""


def test_a_model_without_heads_says_so(dense_model: TinyModel) -> None:
    assert why_no_heads(facts(dense_model.path)) == "dense.gguf has no prediction heads."


def test_announced_heads_without_tensors_are_noticed(tmp_path: Path) -> None:
    told = facts(hybrid_mtp(tmp_path / "stripped.gguf", part="stripped").path)
    assert (told.heads, told.heads_there, told.role) == (1, 0, "chat")
    assert "left out" in why_no_heads(told)
    assert told.overrides == (("qwen35.nextn_predict_layers", 0), ("qwen35.block_count", 4))


def test_two_heads_where_llama_cpp_aborts_unless_there_is_one(tmp_path: Path) -> None:
    told = facts(hybrid_mtp(tmp_path / "two.gguf", nextn=2).path)
    assert told.heads_there == 2
    assert "exactly one" in why_no_heads(told)


@pytest.mark.parametrize("part", ["attn_qkv", "ffn_gate", "ffn_up", "ffn_down"])
def test_a_head_that_lacks_what_its_graph_insists_on(tmp_path: Path, part: str) -> None:
    whole = read_model(chained_heads(tmp_path / "chained.gguf").path)
    name = f"blk.3.{part}.weight"
    damaged = dataclasses.replace(whole, tensors={key: info for key, info in whole.tensors.items() if key != name})
    assert name in why_no_heads(facts_of(damaged))


def test_heads_under_the_names_of_another_converter_are_recognised() -> None:
    told = facts_of(
        header(
            {"general.architecture": "qwen35", "qwen35.block_count": 4},
            ("blk.0.attn_norm.weight", "mtp.layers.0.eh_proj.weight"),
        )
    )
    assert "mtp.layers.0.eh_proj.weight" in why_no_heads(told)


def test_heads_that_llama_cpp_has_no_graph_for() -> None:
    told = facts_of(
        header(
            {"general.architecture": "glm5-next", "glm5-next.block_count": 3, "glm5-next.nextn_predict_layers": 1},
            ("blk.0.attn_norm.weight", "blk.2.nextn.eh_proj.weight"),
        )
    )
    assert "cannot run those of the architecture glm5-next" in why_no_heads(told)


@pytest.mark.parametrize(
    ("values", "tensors", "role"),
    [
        ({"general.architecture": "llama"}, ("blk.0.attn_norm.weight",), "chat"),
        ({"general.architecture": "llama"}, (), "vocab_only"),
        ({"general.architecture": "llama", "general.type": "adapter"}, ("x",), "adapter"),
        ({"general.architecture": "llama", "adapter.type": "lora"}, ("x",), "adapter"),
        ({"general.architecture": "llama", "general.type": "imatrix"}, ("x",), "other"),
        ({"general.architecture": "clip"}, ("x",), "projector"),
        ({"general.architecture": "llama", "general.type": "mmproj"}, ("x",), "projector"),
        ({"general.architecture": "bert"}, ("x",), "embedding"),
        ({"general.architecture": "qwen3", "qwen3.pooling_type": 3}, ("x",), "embedding"),
        ({"general.architecture": "qwen3", "qwen3.pooling_type": 0}, ("x",), "chat"),
        ({"general.architecture": "llada"}, ("x",), "diffusion"),
        ({"general.architecture": "t5"}, ("x",), "other"),
        ({}, ("x",), "other"),
        ({"general.architecture": "eagle3"}, ("fc.weight",), "eagle3"),
        ({"general.architecture": "dflash"}, ("x",), "dflash"),
        ({"general.architecture": "dflash"}, ("markov_w1.weight",), "dspark"),
        ({"general.architecture": "gemma4-assistant"}, ("x",), "gemma4_assistant"),
        ({"general.architecture": "llama"}, ("d2t",), "draft_head"),
        ({"general.architecture": "qwen35", "qwen35.nextn_predict_layers": 1}, ("x",), "mtp_only"),
    ],
)
def test_every_kind_of_file_is_told_apart(values: dict[str, Scalar], tensors: tuple[str, ...], role: str) -> None:
    told = facts_of(header(values, tensors))
    assert told.role == role
    if role != "chat":
        with pytest.raises(ModelUnsupported, match=r"^model\.gguf ") as caught:
            require_chat(told)
        assert caught.value.hint


def test_more_heads_than_blocks_are_refused_because_llama_cpp_aborts() -> None:
    told = facts_of(
        header({"general.architecture": "qwen35", "qwen35.block_count": 2, "qwen35.nextn_predict_layers": 2**31})
    )
    with pytest.raises(ModelUnsupported, match="among 2 blocks"):
        require_chat(told)


@given(
    blocks=st.one_of(st.integers(-(2**63), 2**64), st.text(), st.booleans()),
    heads=st.one_of(st.integers(-(2**63), 2**64), st.floats()),
    arch=st.sampled_from(sorted(architectures.RUNS_HEADS | {"llama", ""})),
)
def test_senseless_numbers_are_taken_as_not_said(blocks: Scalar, heads: Scalar, arch: str) -> None:
    told = facts_of(
        header({"general.architecture": arch, f"{arch}.block_count": blocks, f"{arch}.nextn_predict_layers": heads})
    )
    assert told.heads >= 0
    assert told.heads_there == 0
    assert why_no_heads(told)


def test_memory_and_window_are_told(recurrent_model: TinyModel, sliding: TinyModel, dense_model: TinyModel) -> None:
    assert not facts(recurrent_model.path).can_roll_back
    assert facts(sliding.path).window == 32
    assert facts(dense_model.path).window == 0
    assert facts(dense_model.path).can_roll_back


def test_the_lists_of_architectures_hang_together() -> None:
    assert architectures.CHAINS_HEADS <= architectures.RUNS_HEADS
    assert architectures.REFUSES_MISSING_HEADS <= architectures.RUNS_HEADS
    assert architectures.SNAPSHOTS <= architectures.HYBRID
    assert not architectures.HYBRID & architectures.RECURRENT


@pytest.fixture
def split(tmp_path: Path) -> Path:
    """A model in two parts, of which the second has the head; the path of the first."""
    for number, tensor in enumerate(("blk.0.attn_norm.weight", "blk.1.nextn.eh_proj.weight")):
        writer = GGUFWriter(tmp_path / f"big-{number + 1:05d}-of-00002.gguf", "qwen35")
        writer.add_uint16("split.count", 2)
        writer.add_uint16("split.no", number)
        if number == 0:
            writer.add_block_count(2)
            writer.add_nextn_predict_layers(1)
        writer.add_tensor(tensor, np.ones(8, np.float32))
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
    return tmp_path / "big-00001-of-00002.gguf"


def test_the_parts_of_a_split_model_count_together(split: Path) -> None:
    told = facts(split)
    assert (told.parts, told.heads_there, told.role) == (2, 1, "chat")
    assert told.size == sum(part.stat().st_size for part in split.parent.iterdir())


def test_a_later_part_of_a_split_model_points_to_the_first(split: Path) -> None:
    with pytest.raises(ModelUnreadable, match="part 2 of 2") as caught:
        read_model(split.with_name("big-00002-of-00002.gguf"))
    assert "big-00001-of-00002.gguf" in caught.value.hint


def test_a_missing_part_is_named(split: Path) -> None:
    split.with_name("big-00002-of-00002.gguf").unlink()
    with pytest.raises(ModelNotFound, match=r"big-00002-of-00002\.gguf is missing"):
        read_model(split)


def test_a_renamed_part_is_explained(split: Path) -> None:
    renamed = split.rename(split.with_name("mine.gguf"))
    with pytest.raises(ModelUnreadable, match="one of 2 parts"):
        read_model(renamed)
