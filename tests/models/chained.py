"""Models with several chained heads, in the layout of MiMo-V2.

Head i guesses the i-th token of a draft and has a memory of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from tests.models.chain import Chain
from tests.models.weights import TinyModel, Weights, add_attention_keys, open_writer

ARCHITECTURE = "mimo2"
WIDTH = 128
TRUNK = 2
HEADS, HEADS_KV, HEAD_SIZE, INNER = 2, 1, 64, 128
HEAD_MIX = 0.02


def chained_heads(
    path: Path,
    acceptance: Sequence[float] = (1.0, 0.8, 0.6),
    part: Literal["full", "trunk", "head"] = "full",
    *,
    chain: Chain | None = None,
    window: int = 4096,
    mix: float = 0.15,
    hidden_share: float = 0.6,
    seed: int = 2,
) -> TinyModel:
    """Write a model with one head per entry of `acceptance`.

    Args:
        acceptance: per head, the share of the chain's tokens after which it is right; each errs in its own places.
        part: as in hybrid_mtp.
        window: attention window of the first block and of all heads.
    """
    chain = chain or Chain()
    weights = Weights(WIDTH, mix, seed)
    weights.trunk_ends(chain, chain.output(chain.successor, WIDTH))
    guesses = tuple(chain.guesses(share, seed=10 + index) for index, share in enumerate(acceptance))
    count = len(guesses)
    for index in range(TRUNK if part != "head" else 0):
        _block(weights, f"blk.{index}")
    for index, guess in enumerate(guesses if part != "trunk" else ()):
        block = f"blk.{TRUNK + index}"
        weights.mix = HEAD_MIX
        _block(weights, block)
        weights.head_projection(block, chain, hidden_share, random=False)
        weights.add(f"{block}.nextn.shared_head_head.weight", chain.output(guess, WIDTH))
    declared = 0 if part == "trunk" else count
    writer = open_writer(path, ARCHITECTURE, f"tiny chained heads {part}", blocks=TRUNK + declared, width=WIDTH)
    add_attention_keys(writer, heads=HEADS, heads_kv=HEADS_KV, size=HEAD_SIZE, inner=INNER)
    writer.add_expert_feed_forward_length(INNER)
    writer.add_sliding_window(window)
    writer.add_sliding_window_pattern([True, False, *[True] * declared])
    writer.add_rope_freq_base_swa(10000.0)
    if declared:
        writer.add_nextn_predict_layers(declared)
    chain.vocabulary.write(writer)
    weights.save(writer)
    return TinyModel(path, chain, guesses)


def _block(weights: Weights, block: str) -> None:
    weights.ones(f"{block}.attn_norm.weight", WIDTH)
    weights.ones(f"{block}.ffn_norm.weight", WIDTH)
    weights.noise(f"{block}.attn_qkv.weight", (HEADS + 2 * HEADS_KV) * HEAD_SIZE, WIDTH)
    weights.noise(f"{block}.attn_output.weight", WIDTH, HEADS * HEAD_SIZE, weights.mix)
    weights.feed_forward(block, INNER)
