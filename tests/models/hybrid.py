"""Hybrid models in the layout of Qwen3.5: three gated-delta-net blocks, one attention block, and heads.

Recurrent state with snapshots is where rollback goes wrong most easily, so this is the model most tests want.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
from gguf import GGUFWriter

from tests.models.chain import Chain
from tests.models.weights import TinyModel, Weights, add_attention_keys, open_writer

ARCHITECTURE = "qwen35"
WIDTH = 128
TRUNK = 4
HEADS, HEADS_KV, HEAD_SIZE, INNER = 2, 1, 64, 128
STATE, GROUPS, STEPS, CONVOLUTION = 64, 2, 2, 4
HEAD_MIX = 0.02

Part = Literal["full", "trunk", "head", "stripped"]


def hybrid_mtp(
    path: Path,
    acceptance: float = 0.7,
    part: Part = "full",
    *,
    nextn: int = 1,
    chain: Chain | None = None,
    mode: Literal["chain", "random"] = "chain",
    mix: float = 0.15,
    hidden_share: float = 0.6,
    seed: int = 1,
) -> TinyModel:
    """Write a hybrid model of about 3 MB.

    Args:
        acceptance: share of the chain's tokens after which the head guesses right (exact over one round of the chain).
        part: everything; the trunk with no word of heads; the heads as a file of their own (they fit the trunk of the
            same arguments); or "stripped": heads announced, their tensors left out.
        nextn: number of heads.
        mode: "random": weights without sense, whose greedy text depends on the whole history.
        mix: see Weights.
        hidden_share: weight of the hidden row, against the token, in the head's input.
    """
    chain = chain or Chain()
    random = mode == "random"
    weights = Weights(WIDTH, 1.0 if random else mix, seed)
    following = chain.successor
    weights.trunk_ends(chain, chain.random_output(WIDTH, seed) if random else chain.output(following, WIDTH))
    for index in range(TRUNK):
        _trunk_block(weights, index)
    guesses = tuple(chain.guesses(acceptance, seed=index) for index in range(nextn))
    for index, guess in enumerate(guesses):
        block = f"blk.{TRUNK + index}"
        weights.mix = 1.0 if random else HEAD_MIX
        _attention_block(weights, block)
        weights.feed_forward(block, INNER)
        weights.head_projection(block, chain, hidden_share, random)
        if not random:
            weights.add(f"{block}.nextn.shared_head_head.weight", chain.output(guess, WIDTH))
    _keep(weights, part)
    declared = 0 if part == "trunk" else nextn
    writer = open_writer(path, ARCHITECTURE, f"tiny hybrid {mode} {part}", blocks=TRUNK + declared, width=WIDTH)
    _add_keys(writer, declared)
    chain.vocabulary.write(writer)
    weights.save(writer)
    return TinyModel(path, chain, guesses)


def _keep(weights: Weights, part: Part) -> None:
    if part == "full":
        return
    own_heads = tuple(f"blk.{TRUNK + index}." for index in range(8))
    for name in list(weights.tensors):
        if name.startswith("blk.") and name.startswith(own_heads) != (part == "head"):
            del weights.tensors[name]


def _trunk_block(weights: Weights, index: int) -> None:
    block = f"blk.{index}"
    if (index + 1) % 4 == 0:
        _attention_block(weights, block)
    else:
        _delta_net_block(weights, block)
    weights.feed_forward(block, INNER)


def _norms(weights: Weights, block: str) -> None:
    weights.ones(f"{block}.attn_norm.weight", WIDTH)
    weights.ones(f"{block}.post_attention_norm.weight", WIDTH)


def _attention_block(weights: Weights, block: str) -> None:
    _norms(weights, block)
    weights.attention(block, HEADS, HEADS_KV, HEAD_SIZE)
    # This layout packs the query and its gate into one matrix.
    weights.noise(f"{block}.attn_q.weight", 2 * HEADS * HEAD_SIZE, WIDTH)
    weights.ones(f"{block}.attn_q_norm.weight", HEAD_SIZE)
    weights.ones(f"{block}.attn_k_norm.weight", HEAD_SIZE)


def _delta_net_block(weights: Weights, block: str) -> None:
    values = STATE * STEPS
    mixed = 2 * STATE * GROUPS + values
    normal = weights.random.standard_normal
    _norms(weights, block)
    weights.noise(f"{block}.attn_qkv.weight", mixed, WIDTH)
    weights.noise(f"{block}.attn_gate.weight", values, WIDTH)
    weights.add(f"{block}.ssm_conv1d.weight", normal((mixed, CONVOLUTION)) * 0.5)
    weights.add(f"{block}.ssm_dt.bias", normal(STEPS) * 0.5)
    weights.add(f"{block}.ssm_a", -np.exp(normal(STEPS) * 0.3))
    weights.noise(f"{block}.ssm_beta.weight", STEPS, WIDTH)
    weights.noise(f"{block}.ssm_alpha.weight", STEPS, WIDTH)
    weights.ones(f"{block}.ssm_norm.weight", STATE)
    weights.noise(f"{block}.ssm_out.weight", WIDTH, values, weights.mix)


def _add_keys(writer: GGUFWriter, nextn: int) -> None:
    add_attention_keys(writer, heads=HEADS, heads_kv=HEADS_KV, size=HEAD_SIZE, inner=INNER, rotary=32)
    writer.add_rope_dimension_sections([6, 5, 5, 0])
    writer.add_ssm_conv_kernel(CONVOLUTION)
    writer.add_ssm_inner_size(STATE * STEPS)
    writer.add_ssm_state_size(STATE)
    writer.add_ssm_time_step_rank(STEPS)
    writer.add_ssm_group_count(GROUPS)
    writer.add_full_attention_interval(4)
    if nextn:
        writer.add_nextn_predict_layers(nextn)
