"""The memory plan: exact where shapes decide, monotone in everything that costs, never negative."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtpchat.config import Config
from mtpchat.config_schema import replace_values
from mtpchat.gguf.attention_shape import LayerShape, MemoryShape, memory_shape
from mtpchat.gguf.choice import choose_drafter
from mtpchat.gguf.facts import facts_of, read_model
from mtpchat.gguf.header import Header
from mtpchat.gguf.memory_plan import Device, Files, Machine, MemoryPlan, context_shapes, plan_memory, read_files
from mtpchat.gguf.memory_sizes import ContextShape, context_size
from tests.models import TinyModel

GPU = Machine(1 << 34, (Device("GPU0", 1 << 34, 1 << 34),))
NOWHERE = Machine()
HALF = 2


def files_of(model: TinyModel, drafter: TinyModel | None = None, kind: str = "auto") -> Files:
    header = read_model(model.path)
    choice = choose_drafter(header, kind, str(drafter.path) if drafter else "")
    assert not choice.reason, choice.reason
    return read_files(header, choice)


def settings(**values: object) -> Config:
    return replace_values(Config(), [(name.replace("__", "."), value) for name, value in values.items()])


def planned(files: Files, machine: Machine = NOWHERE, gpu_layers: int = 0, **values: object) -> MemoryPlan:
    return plan_memory(files, settings(**values), machine, gpu_layers=gpu_layers)


def header_with(values: dict[str, Any], lists: dict[str, tuple[Any, ...]] | None = None) -> Header:
    """A header of these settings without tensors; lists are settings of the architecture."""
    from mtpchat.gguf.header import ArrayRef

    arch = str(values["general.architecture"])
    found = {f"{arch}.{key}": value for key, value in (lists or {}).items()}
    arrays = {key: ArrayRef(4, len(value), 0) for key, value in found.items()}
    named = {
        key if "." in key and key.startswith("general") else f"{arch}.{key}": value for key, value in values.items()
    }
    return Header(Path("x.gguf"), 0, 3, named, arrays, {}, 0, 0, lists=found)


def shape_with(values: dict[str, Any], lists: dict[str, tuple[Any, ...]] | None = None) -> MemoryShape:
    header = header_with(values, lists)
    return memory_shape(header, facts_of(header))


# Exact bytes, by hand.


def test_a_dense_model_keeps_two_rows_per_layer_and_token(dense_model: TinyModel) -> None:
    plan = planned(files_of(dense_model, kind="none"), model__context=1000)
    cells, layers, heads, size = 1024, 2, 1, 32
    assert plan.of("KV cache") == cells * layers * 2 * heads * size * HALF


def test_a_q8_0_cache_takes_34_bytes_for_32_numbers(dense_model: TinyModel) -> None:
    plan = planned(
        files_of(dense_model, kind="none"),
        model__context=1024,
        model__cache_type_k="q8_0",
        model__cache_type_v="q8_0",
    )
    assert plan.of("KV cache") == 1024 * 2 * 2 * 34


def test_a_window_keeps_the_window_and_a_batch(sliding: TinyModel) -> None:
    plan = planned(files_of(sliding, kind="none"), model__context=4096, model__batch=256)
    row = 2 * 32 * HALF
    windowed = 512  # 32 + 256, rounded up to a multiple of 256
    assert plan.of("KV cache") == row * (4096 + 2 * windowed)


def test_a_hybrid_keeps_a_state_and_a_copy_of_it_per_snapshot(hybrid_random: TinyModel) -> None:
    plan = planned(files_of(hybrid_random), model__context=2048, speculative__depth_cap=4, speculative__draft_max=4)
    # Convolution: 3 columns of 128 + 2 * 2 * 64 channels; state: 64 by 128; three of four layers.
    one = 3 * 4 * (3 * (128 + 2 * 2 * 64) + 64 * 128)
    assert plan.of("state") == one
    assert plan.of("snapshots") == 4 * one
    attention = 2048 * 2 * 64 * HALF
    assert plan.of("KV cache", "model") == attention
    assert plan.of("KV cache", "MTP heads") == attention


def test_without_a_drafter_a_hybrid_keeps_no_snapshots(hybrid_random: TinyModel) -> None:
    assert planned(files_of(hybrid_random, kind="none")).of("snapshots") == 0


def test_chained_heads_keep_a_cache_each(chained: TinyModel) -> None:
    plan = planned(files_of(chained), model__context=2048)
    assert plan.of("KV cache", "MTP heads") == 3 * 2048 * 2 * 64 * HALF


def test_an_assistant_reads_the_cache_of_its_model(gemma: TinyModel, assistant: Callable[[float], TinyModel]) -> None:
    plan = planned(files_of(gemma, assistant(0.7), "mtp"), model__context=2048)
    assert plan.of("KV cache", "assistant") == 0
    assert plan.of("weights", "assistant") > 0


def test_a_recurrent_model_takes_the_same_at_any_context(recurrent_model: TinyModel) -> None:
    files = files_of(recurrent_model, kind="none")
    assert planned(files, model__context=1024).of("KV cache") == planned(files, model__context=4096).of("KV cache") == 0


def test_latent_attention_keeps_keys_alone() -> None:
    shape = shape_with(
        {
            "general.architecture": "deepseek2",
            "block_count": 3,
            "embedding_length": 5120,
            "attention.head_count": 128,
            "attention.head_count_kv": 1,
            "attention.key_length": 576,
            "attention.value_length": 512,
            "attention.key_length_mla": 192,
            "attention.value_length_mla": 128,
        }
    )
    assert sum(context_size(shape, ContextShape(4096)).kv) == 3 * 4096 * 576 * HALF


def test_grouped_queries_keep_what_the_groups_keep() -> None:
    values = {"block_count": 4, "embedding_length": 4096, "attention.head_count": 32, "attention.head_count_kv": 8}
    shape = shape_with({"general.architecture": "llama", **values})
    assert sum(context_size(shape, ContextShape(8192)).kv) == 4 * 8192 * 2 * 8 * 128 * HALF


def test_layers_that_share_the_cache_of_others_keep_none() -> None:
    shape = shape_with(
        {
            "general.architecture": "gemma4",
            "block_count": 6,
            "embedding_length": 256,
            "attention.head_count": 4,
            "attention.head_count_kv": 1,
            "attention.sliding_window": 512,
            "attention.shared_kv_layers": 2,
        },
        {"attention.sliding_window_pattern": (True, True, False, True, True, False)},
    )
    assert [layer.keys for layer in shape.layers] == [64, 64, 64, 64, 0, 0]
    assert [layer.windowed for layer in shape.layers] == [True, True, False, True, True, False]


@pytest.mark.parametrize(
    ("architecture", "values", "windowed"),
    [
        ("gemma3", {"attention.sliding_window": 512}, "111110"),
        ("gemma2", {}, "101010"),
        ("gpt-oss", {"attention.sliding_window": 128}, "101010"),
        ("cohere2moe", {"attention.sliding_window": 128}, "011101"),
        ("phi3", {"attention.sliding_window": 2048}, "000000"),
        ("qwen2", {"attention.sliding_window": 2048}, "000000"),
        ("gemma3", {}, "000000"),
    ],
)
def test_windows_lie_where_llama_cpp_puts_them(architecture: str, values: dict[str, int], windowed: str) -> None:
    usual = {"block_count": 6, "embedding_length": 256, "attention.head_count": 4}
    shape = shape_with({"general.architecture": architecture, **usual, **values})
    assert "".join(str(int(layer.windowed)) for layer in shape.layers) == windowed


def test_lists_tell_which_layers_of_a_hybrid_attend() -> None:
    shape = shape_with(
        {"general.architecture": "lfm2", "block_count": 4, "embedding_length": 64, "attention.head_count": 4}
        | {"shortconv.l_cache": 3},
        {"attention.head_count_kv": (0, 2, 0, 2)},
    )
    assert [layer.recurrent for layer in shape.layers] == [True, False, True, False]
    assert [layer.keys for layer in shape.layers] == [0, 32, 0, 32]
    assert shape.state == 64 * 2


# Laws.

NUMBERS = st.integers(0, 1 << 40) | st.integers(-5, 5)
KEYS = ["block_count", "embedding_length", "attention.head_count", "attention.head_count_kv", "attention.key_length"]
KEYS += [
    "attention.value_length",
    "attention.sliding_window",
    "attention.sliding_window_pattern",
    "feed_forward_length",
]
KEYS += ["ssm.inner_size", "ssm.state_size", "ssm.group_count", "ssm.conv_kernel", "full_attention_interval"]
KEYS += ["nextn_predict_layers", "attention.shared_kv_layers", "expert_used_count", "context_length"]


@given(
    architecture=st.sampled_from(["llama", "qwen35", "gemma3", "gemma4", "mamba", "falcon-h1", "lfm2", "mimo2", "x"]),
    values=st.dictionaries(st.sampled_from(KEYS), NUMBERS),
    context=st.integers(1, 1 << 20),
)
def test_no_header_makes_a_size_negative_or_the_planning_fail(
    architecture: str, values: dict[str, int], context: int
) -> None:
    header = header_with({"general.architecture": architecture, **values})
    files = read_files(header, choose_drafter(header, "none", ""))
    plan = planned(files, model__context=context)
    assert all(line.mapped >= 0 and line.ram >= 0 and line.vram >= 0 for line in plan.lines)


LAYERS = st.builds(
    LayerShape,
    keys=st.sampled_from([0, 64, 1024]),
    values=st.sampled_from([0, 64, 1024]),
    windowed=st.booleans(),
    recurrent=st.booleans(),
    head=st.just(value=False),
)
SHAPES = st.builds(
    MemoryShape,
    layers=st.lists(LAYERS, min_size=1, max_size=8).map(tuple),
    width=st.sampled_from([64, 4096]),
    window=st.sampled_from([0, 32, 4096]),
    state=st.integers(0, 1 << 20),
    heads=st.integers(0, 64),
    head_size=st.sampled_from([64, 128]),
    feed_forward=st.integers(0, 20000),
    experts_used=st.sampled_from([0, 8]),
    channels=st.integers(0, 20000),
    inner=st.integers(0, 10000),
    scanned=st.booleans(),
    output=st.integers(0, 200_000),
    scored=st.just(0),
)
CONTEXTS = st.builds(
    ContextShape,
    context=st.integers(1, 1 << 18),
    batch=st.integers(1, 2048),
    snapshots=st.integers(0, 16),
    copies=st.booleans(),
    rows=st.integers(1, 32),
    hidden_rows=st.sampled_from([0, 1, 3]),
    flash=st.booleans(),
    type_k=st.sampled_from(["f16", "q8_0", "q4_0"]),
    type_v=st.sampled_from(["f16", "q8_0", "q4_0"]),
)


@given(SHAPES, CONTEXTS, st.integers(0, 1 << 18))
def test_a_longer_context_never_takes_less(shape: MemoryShape, context: ContextShape, more: int) -> None:
    longer = replace(context, context=context.context + more)
    assert context_size(shape, longer).total >= context_size(shape, context).total


@given(SHAPES, CONTEXTS)
def test_more_of_anything_never_takes_less(shape: MemoryShape, context: ContextShape) -> None:
    total = context_size(shape, context).total
    for more in (
        replace(context, snapshots=context.snapshots + 1),
        replace(context, rows=context.rows + 1),
        replace(context, batch=context.batch + 1),
        replace(context, hidden_rows=context.hidden_rows + 1),
        replace(context, type_k="f16", type_v="f16"),
        replace(context, flash=False),
    ):
        assert context_size(shape, more).total >= total, more


def test_a_drafter_never_takes_nothing(
    dense_model: TinyModel, draft_model: TinyModel, hybrid_trunk: TinyModel, hybrid_head: TinyModel
) -> None:
    for model, drafter, kind in ((dense_model, draft_model, "draft"), (hybrid_trunk, hybrid_head, "mtp")):
        without = planned(files_of(model, kind="none"))
        assert planned(files_of(model, drafter, kind)).total > without.total


@pytest.mark.parametrize("layers", range(7))
def test_layers_on_a_gpu_are_gone_from_main_memory(hybrid_random: TinyModel, layers: int) -> None:
    files = files_of(hybrid_random)
    plans = [planned(files, GPU, gpu_layers=layers) for layers in (layers, layers + 1)]
    assert plans[0].vram <= plans[1].vram
    for what in ("KV cache", "state", "snapshots"):
        assert plans[0].of(what) == plans[1].of(what)
    if layers == 0:
        assert plans[0].vram == 0


def test_without_a_gpu_no_layer_is_on_it(hybrid_random: TinyModel) -> None:
    plan = planned(files_of(hybrid_random), gpu_layers=99)
    assert (plan.vram, plan.gpu_layers) == (0, 0)


def test_what_is_not_mapped_is_taken(dense_model: TinyModel) -> None:
    files = files_of(dense_model, kind="none")
    mapped, copied = planned(files), planned(files, model__mmap=False)
    assert mapped.mapped == copied.of("weights") == mapped.of("weights")
    assert copied.mapped == 0
    assert copied.total == mapped.total


def test_contexts_are_planned_with_the_settings_of_the_loader(hybrid_random: TinyModel) -> None:
    target, draft = context_shapes(files_of(hybrid_random), settings(speculative__draft_max=40, model__batch=16))
    assert (target.snapshots, target.rows, target.batch) == (16, 17, 18)
    assert draft is not None
    assert (draft.context, draft.rows) == (target.context, 1)


def test_each_of_several_gpus_computes(dense_model: TinyModel) -> None:
    files = files_of(dense_model, kind="none")
    two = replace(GPU, devices=GPU.devices * 2)
    one = planned(files, GPU, gpu_layers=99)
    assert planned(files, two, gpu_layers=99).vram - one.vram == one.of("compute")
