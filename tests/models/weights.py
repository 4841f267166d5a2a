"""Writing a tiny model: tensors by name, seeded noise scaled so that blocks add little to the chain."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from gguf import GGUFWriter

from tests.models.chain import Chain, Floats, Ids


@dataclass(frozen=True)
class TinyModel:
    """A file that was written and what it will say.

    Attributes:
        path: the file.
        chain: what it says after each token, in greedy decoding. Meaningless for a model of random weights.
        guesses: what each of its heads (or the model itself, if it is a draft) predicts, one (n_vocab,) array per head.
    """

    path: Path
    chain: Chain
    guesses: tuple[Ids, ...] = ()


@dataclass
class Weights:
    """Tensors under construction.

    Attributes:
        width: embedding width.
        mix: how much blocks add to the residual stream; history shows in the logits through this alone.
    """

    width: int
    mix: float
    seed: int
    tensors: dict[str, Floats] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.random = np.random.default_rng(self.seed)

    def add(self, name: str, values: np.ndarray) -> None:
        self.tensors[name] = np.ascontiguousarray(values, dtype=np.float32)

    def ones(self, name: str, size: int, value: float = 1.0) -> None:
        self.add(name, np.full(size, value))

    def noise(self, name: str, rows: int, columns: int, scale: float = 1.0) -> None:
        """A (rows, columns) matrix that keeps unit variance, times `scale`."""
        self.add(name, self.random.standard_normal((rows, columns)) * (scale / np.sqrt(columns)))

    def feed_forward(self, block: str, inner: int) -> None:
        self.noise(f"{block}.ffn_gate.weight", inner, self.width)
        self.noise(f"{block}.ffn_up.weight", inner, self.width)
        self.noise(f"{block}.ffn_down.weight", self.width, inner, self.mix)

    def attention(self, block: str, heads: int, heads_kv: int, size: int) -> None:
        self.noise(f"{block}.attn_q.weight", heads * size, self.width)
        self.noise(f"{block}.attn_k.weight", heads_kv * size, self.width)
        self.noise(f"{block}.attn_v.weight", heads_kv * size, self.width)
        self.noise(f"{block}.attn_output.weight", self.width, heads * size, self.mix)

    def trunk_ends(self, chain: Chain, output: Floats) -> None:
        """Embedding table, final norm and output rows."""
        self.add("token_embd.weight", chain.embeddings(self.width))
        self.ones("output_norm.weight", self.width)
        self.add("output.weight", output)

    def head_projection(self, block: str, chain: Chain, hidden_share: float, random: bool) -> None:
        """The projection of [token embedding, hidden state before it].

        On the chain both halves say the same; the hidden half weighs more, so a head that is fed the wrong
        row guesses wrong.
        """
        if random:
            self.noise(f"{block}.nextn.eh_proj.weight", self.width, 2 * self.width, 3.0)
        else:
            halves = [(1 - hidden_share) * np.eye(self.width), hidden_share * chain.advance(self.width)]
            self.add(f"{block}.nextn.eh_proj.weight", np.concatenate(halves, axis=1))
        self.ones(f"{block}.nextn.enorm.weight", self.width)
        self.ones(f"{block}.nextn.hnorm.weight", self.width)
        self.ones(f"{block}.nextn.shared_head_norm.weight", self.width)

    def save(self, writer: GGUFWriter) -> None:
        """Write everything and close the file."""
        for name, values in self.tensors.items():
            writer.add_tensor(name, values)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()


def open_writer(
    path: Path, architecture: str, name: str, *, blocks: int, width: int, context: int = 4096
) -> GGUFWriter:
    """A writer with the metadata that every architecture needs."""
    writer = GGUFWriter(path, architecture)
    writer.add_name(name)
    writer.add_block_count(blocks)
    writer.add_context_length(context)
    writer.add_embedding_length(width)
    writer.add_layer_norm_rms_eps(1e-6)
    return writer


def add_attention_keys(
    writer: GGUFWriter, *, heads: int, heads_kv: int, size: int, inner: int, rotary: int | None = None
) -> None:
    """Metadata of attention and feed-forward blocks; `rotary` dimensions of each head rotate, all by default."""
    writer.add_feed_forward_length(inner)
    writer.add_head_count(heads)
    writer.add_head_count_kv(heads_kv)
    writer.add_key_length(size)
    writer.add_value_length(size)
    writer.add_rope_dimension_count(rotary or size)
    writer.add_rope_freq_base(10000.0)
