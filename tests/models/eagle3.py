"""EAGLE-3 heads for the dense models: they read the inputs of three layers and guess from a smaller vocabulary."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.models.chain import BIAS, Chain, Floats
from tests.models.plain import HEAD_SIZE, HEADS, HEADS_KV
from tests.models.weights import TinyModel, Weights, add_attention_keys, open_writer

LAYERS = (0, 1, 2)
HEAD_MIX = 0.02
GATE = 20.0
"""So far up the gate's function is the identity."""


def eagle3_head(
    path: Path,
    acceptance: float = 0.7,
    *,
    chain: Chain | None = None,
    target_width: int = 128,
    layers: tuple[int, ...] = LAYERS,
    own_embedding: bool = False,
    seed: int = 8,
) -> TinyModel:
    """Write an EAGLE-3 head for `dense(blocks=3)`.

    Its state carries a token: the encoder's the one that the layers saw, before the token the row is paired with. The
    decoder takes it one step along the chain, to the paired token, and the output guesses what follows that.

    Args:
        acceptance: share of the chain's tokens after which it is right.
        own_embedding: write a token embedding; else the model's is used.
    """
    chain = chain or Chain()
    weights = Weights(target_width, HEAD_MIX, seed)
    # The draft's words are the answer's tokens alone: everything else it cannot say.
    words = np.array(sorted(set(chain.answer)), dtype=np.int64)
    guess = chain.guesses(acceptance, seed=30)
    weights.add("fc.weight", np.concatenate([np.eye(target_width) / len(layers)] * len(layers), axis=1))
    weights.add("output.weight", chain.output(guess, target_width)[words])
    weights.ones("output_norm.weight", target_width)
    _block(weights, chain.advance(target_width))
    if own_embedding:
        weights.add("token_embd.weight", chain.embeddings(target_width))
    writer = open_writer(path, "eagle3", "tiny eagle3", blocks=1, width=target_width)
    add_attention_keys(writer, heads=HEADS, heads_kv=HEADS_KV, size=HEAD_SIZE, inner=target_width)
    writer.add_array("eagle3.target_layers", list(layers))
    writer.add_uint32("eagle3.target_hidden_size", target_width)
    chain.vocabulary.write(writer, chat_template="")
    writer.add_tensor("d2t", words)
    weights.save(writer)
    return TinyModel(path, chain, (guess,))


def _block(weights: Weights, advance: Floats) -> None:
    """One block whose feed-forward part is the step along the chain: with a constant gate it is a linear map."""
    width = weights.width
    for name in ("attn_norm", "attn_norm_2", "ffn_norm"):
        weights.ones(f"blk.0.{name}.weight", width)
    weights.noise("blk.0.attn_q.weight", HEADS * HEAD_SIZE, 2 * width)
    weights.noise("blk.0.attn_k.weight", HEADS_KV * HEAD_SIZE, 2 * width)
    weights.noise("blk.0.attn_v.weight", HEADS_KV * HEAD_SIZE, 2 * width)
    weights.noise("blk.0.attn_output.weight", width, HEADS * HEAD_SIZE, weights.mix)
    gate = np.zeros((width, width))
    gate[:, 0] = GATE / BIAS  # dimension 0 of every state is BIAS
    weights.add("blk.0.ffn_gate.weight", gate)
    weights.add("blk.0.ffn_up.weight", advance - np.eye(width))
    weights.add("blk.0.ffn_down.weight", np.eye(width) / GATE)
