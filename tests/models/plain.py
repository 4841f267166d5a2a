"""Models without heads: dense (also as drafts for one another), sliding-window, recurrent without snapshots."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np

from tests.models.chain import Chain
from tests.models.weights import TinyModel, Weights, add_attention_keys, open_writer

HEADS, HEADS_KV, HEAD_SIZE = 2, 1, 32


def dense(
    path: Path,
    agreement: float = 1.0,
    *,
    chain: Chain | None = None,
    mode: Literal["chain", "random"] = "chain",
    width: int = 128,
    blocks: int = 2,
    mix: float = 0.15,
    seed: int = 3,
    chat_template: str | None = None,
) -> TinyModel:
    """Write a llama model.

    Args:
        agreement: share of the chain's tokens after which it says what the chain says; below 1 it serves as a draft
            for the models that follow `chain`.
        chain: a chain over another vocabulary makes a draft that fits nobody.
        width: smaller for a cheap draft.
        chat_template: None: ChatML; "": none in the file.
    """
    chain = chain or Chain()
    weights = Weights(width, 1.0 if mode == "random" else mix, seed)
    says = chain.guesses(agreement, seed=20) if agreement < 1 else chain.successor
    weights.trunk_ends(chain, chain.random_output(width, seed) if mode == "random" else chain.output(says, width))
    for index in range(blocks):
        block = f"blk.{index}"
        weights.ones(f"{block}.attn_norm.weight", width)
        weights.ones(f"{block}.ffn_norm.weight", width)
        weights.attention(block, HEADS, HEADS_KV, HEAD_SIZE)
        weights.feed_forward(block, width)
    writer = open_writer(path, "llama", f"tiny dense {mode}", blocks=blocks, width=width)
    add_attention_keys(writer, heads=HEADS, heads_kv=HEADS_KV, size=HEAD_SIZE, inner=width)
    if chat_template is None:
        chain.vocabulary.write(writer)
    else:
        chain.vocabulary.write(writer, chat_template=chat_template)
    weights.save(writer)
    return TinyModel(path, chain, (says,))


def sliding_window(
    path: Path, *, window: int = 32, chain: Chain | None = None, mix: float = 0.08, seed: int = 4
) -> TinyModel:
    """Write a gemma3 model whose first two of three blocks see only the last `window` tokens."""
    chain = chain or Chain()
    width, blocks = 128, 3
    weights = Weights(width, 1.0, seed)
    weights.trunk_ends(chain, chain.output(chain.successor, width))
    for index in range(blocks):
        block = f"blk.{index}"
        for name in ("attn_norm", "ffn_norm"):
            weights.ones(f"{block}.{name}.weight", width)
        for name in ("post_attention_norm", "post_ffw_norm"):
            # Embeddings enter this architecture times sqrt(width), and norms set the scale of what blocks add.
            weights.ones(f"{block}.{name}.weight", width, mix * np.sqrt(width))
        for name in ("attn_q_norm", "attn_k_norm"):
            weights.ones(f"{block}.{name}.weight", HEAD_SIZE)
        weights.attention(block, HEADS, HEADS_KV, HEAD_SIZE)
        weights.feed_forward(block, width)
    writer = open_writer(path, "gemma3", "tiny sliding window", blocks=blocks, width=width)
    add_attention_keys(writer, heads=HEADS, heads_kv=HEADS_KV, size=HEAD_SIZE, inner=width)
    writer.add_sliding_window(window)
    writer.add_sliding_window_pattern([True, True, False])
    chain.vocabulary.write(writer)
    weights.save(writer)
    return TinyModel(path, chain)


def recurrent(path: Path, *, chain: Chain | None = None, mix: float = 0.05, seed: int = 5) -> TinyModel:
    """Write a mamba model: its memory is one state, and llama.cpp keeps no snapshots to go back to."""
    chain = chain or Chain()
    width, blocks, state, rank, convolution = 128, 2, 16, 8, 4
    inner = 2 * width
    weights = Weights(width, mix, seed)
    normal = weights.random.standard_normal
    weights.trunk_ends(chain, chain.output(chain.successor, width))
    for index in range(blocks):
        block = f"blk.{index}"
        weights.ones(f"{block}.attn_norm.weight", width)
        weights.noise(f"{block}.ssm_in.weight", 2 * inner, width)
        weights.add(f"{block}.ssm_conv1d.weight", normal((inner, convolution)) * 0.5)
        weights.add(f"{block}.ssm_conv1d.bias", normal(inner) * 0.1)
        weights.noise(f"{block}.ssm_x.weight", rank + 2 * state, inner)
        weights.noise(f"{block}.ssm_dt.weight", inner, rank)
        weights.add(f"{block}.ssm_dt.bias", normal(inner) * 0.5)
        weights.add(f"{block}.ssm_a", -np.exp(normal((inner, state)) * 0.3))
        weights.ones(f"{block}.ssm_d", inner)
        weights.noise(f"{block}.ssm_out.weight", width, inner, mix)
    writer = open_writer(path, "mamba", "tiny recurrent", blocks=blocks, width=width)
    writer.add_feed_forward_length(0)
    writer.add_head_count(0)
    writer.add_ssm_conv_kernel(convolution)
    writer.add_ssm_inner_size(inner)
    writer.add_ssm_state_size(state)
    writer.add_ssm_time_step_rank(rank)
    chain.vocabulary.write(writer)
    weights.save(writer)
    return TinyModel(path, chain)
