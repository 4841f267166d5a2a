"""Gemma 4 in small: a model whose last layer but one has a window, and an assistant that reads its memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from gguf import GGUFWriter

from tests.models.chain import Chain, Floats, Ids
from tests.models.weights import TinyModel, Weights, add_attention_keys, open_writer

WIDTH, ASSISTANT_WIDTH = 128, 96
HEADS, HEADS_KV, HEAD_SIZE = 2, 1, 32
WINDOWS = (True, False)
"""Which layers have a window; the assistant's read the model's layer of the same kind."""
HEAD_MIX = 0.05


def gemma4(path: Path, *, window: int = 32, chain: Chain | None = None, mix: float = 0.15, seed: int = 9) -> TinyModel:
    """Write a gemma4 model of two layers."""
    chain = chain or Chain()
    weights = Weights(WIDTH, 1.0, seed)
    weights.trunk_ends(chain, chain.output(chain.successor, WIDTH))
    for index in range(len(WINDOWS)):
        block = f"blk.{index}"
        weights.attention(block, HEADS, HEADS_KV, HEAD_SIZE)
        weights.ones(f"{block}.attn_k_norm.weight", HEAD_SIZE)
        # Embeddings enter this architecture times sqrt(width), and norms set the scale of what blocks add.
        _block(weights, block, mix * np.sqrt(WIDTH))
    weights.ones("rope_freqs.weight", HEAD_SIZE // 2)
    writer = open_writer(path, "gemma4", "tiny gemma4", blocks=len(WINDOWS), width=WIDTH)
    _add_keys(writer, "gemma4", WIDTH, window)
    writer.add_uint32("gemma4.embedding_length_per_layer_input", 0)
    chain.vocabulary.write(writer)
    weights.save(writer)
    return TinyModel(path, chain)


def gemma4_assistant(
    path: Path,
    acceptance: float = 0.7,
    *,
    window: int = 32,
    chain: Chain | None = None,
    hidden_share: float = 0.6,
    seed: int = 10,
) -> TinyModel:
    """Write an assistant for `gemma4`.

    Args:
        acceptance: share of the chain's tokens after which it is right.
        hidden_share: weight of the model's state, against the token, in its input.
    """
    chain = chain or Chain()
    guess = chain.guesses(acceptance, seed=40)
    weights = Weights(ASSISTANT_WIDTH, 1.0, seed)
    weights.add("token_embd.weight", chain.output(guess, ASSISTANT_WIDTH))
    weights.ones("output_norm.weight", ASSISTANT_WIDTH)
    same = np.arange(chain.vocabulary.size)
    # The token's embedding comes times sqrt(width), the state before it as a norm leaves it.
    halves = [
        (1 - hidden_share) / np.sqrt(WIDTH) * translation(chain, same, WIDTH, ASSISTANT_WIDTH),
        hidden_share * translation(chain, chain.successor, WIDTH, ASSISTANT_WIDTH),
    ]
    weights.add("nextn.pre_projection.weight", np.concatenate(halves, axis=1))
    weights.add("nextn.post_projection.weight", translation(chain, same, ASSISTANT_WIDTH, WIDTH))
    for index in range(len(WINDOWS)):
        block = f"blk.{index}"
        weights.noise(f"{block}.attn_q.weight", HEADS * HEAD_SIZE, ASSISTANT_WIDTH)
        weights.noise(f"{block}.attn_output.weight", ASSISTANT_WIDTH, HEADS * HEAD_SIZE)
        weights.ones(f"{block}.layer_output_scale.weight", 1)
        _block(weights, block, HEAD_MIX)
    weights.ones("rope_freqs.weight", HEAD_SIZE // 2)
    name = "gemma4-assistant"
    writer = open_writer(path, name, "tiny assistant", blocks=len(WINDOWS), width=ASSISTANT_WIDTH)
    _add_keys(writer, name, ASSISTANT_WIDTH, window)
    writer.add_nextn_predict_layers(len(WINDOWS))
    writer.add_uint32(f"{name}.embedding_length_out", WIDTH)
    chain.vocabulary.write(writer, chat_template="")
    weights.save(writer)
    return TinyModel(path, chain, (guess,))


def translation(chain: Chain, becomes: Ids, width: int, other: int) -> Floats:
    """The matrix that turns a state of one of the answer's tokens into that of what it becomes; (other, width)."""
    circle = np.array(chain.answer)
    here, there = chain.embeddings(width)[circle], chain.embeddings(other)[becomes[circle]]
    gram = here.astype(np.float64) @ here.T + 0.01 * width * np.eye(len(circle))
    return (there.T @ np.linalg.solve(gram, here)).astype(np.float32)


def _block(weights: Weights, block: str, added: float) -> None:
    """Norms and the feed-forward part; `added` is the scale of what attention and feed-forward add."""
    for name in ("attn_norm", "ffn_norm"):
        weights.ones(f"{block}.{name}.weight", weights.width)
    for name in ("post_attention_norm", "post_ffw_norm"):
        weights.ones(f"{block}.{name}.weight", weights.width, added)
    weights.ones(f"{block}.attn_q_norm.weight", HEAD_SIZE)
    weights.feed_forward(block, weights.width)


def _add_keys(writer: GGUFWriter, name: str, inner: int, window: int) -> None:
    add_attention_keys(writer, heads=HEADS, heads_kv=HEADS_KV, size=HEAD_SIZE, inner=inner)
    writer.add_uint32(f"{name}.attention.key_length_swa", HEAD_SIZE)
    writer.add_uint32(f"{name}.attention.value_length_swa", HEAD_SIZE)
    writer.add_sliding_window(window)
    writer.add_sliding_window_pattern(list(WINDOWS))
