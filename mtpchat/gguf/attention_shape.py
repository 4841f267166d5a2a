"""What a model keeps for each token and each layer, read off its header: the shape of its memory, not its size.

Which layers attend, to how much, with how many heads, and which keep a recurrent state instead, is decided in llama.cpp
per architecture (src/models/*.cpp, llama_model::create_memory). This is that knowledge, as far as memory goes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mtpchat.gguf.facts import FileFacts
from mtpchat.gguf.header import Header

MAX_LAYERS = 512
"""As in llama.cpp (LLAMA_MAX_LAYERS); a hostile header may claim more."""

_MOST = 1 << 24
"""Larger dimensions than any model has are taken as not said."""

_WINDOWS: dict[str, tuple[int, bool, int]] = {
    "afmoe": (4, False, 0),
    "cohere2": (4, False, 0),
    "cohere2moe": (4, True, 0),
    "deepseek4": (0, False, 0),
    "dots3note": (1, False, 0),
    "exaone-moe": (4, False, 128),
    "gemma2": (2, False, 4096),
    "gemma3": (6, False, 0),
    "gemma3n": (5, False, 0),
    "gemma4": (1, False, 0),
    "gemma4-assistant": (1, False, 0),
    "gemma4_assistant": (1, False, 0),
    "gpt-oss": (2, False, 0),
    "granite-swa": (1, False, 0),
    "laguna": (4, True, 0),
    "llama4": (4, False, 8192),
    "maple": (1, False, 0),
    "mellum": (4, False, 0),
    "mimo2": (1, False, 0),
    "muse-glimmer": (4, False, 0),
    "olmo2": (4, False, 0),
    "plamo3": (8, False, 0),
    "smallthinker": (4, True, 4096),
    "spark2-5": (1, False, 0),
    "step35": (1, False, 0),
}
"""Architecture -> (period of its pattern when the file has none, whether a period begins with the layer that sees all,
window when the file does not say). In a period all layers but one see a window only; 1 is no window, 0 is all. Other
architectures ignore a window that their files announce."""

_EVERY_FOURTH_ATTENDS = frozenset({"minimax-01", "qwen35", "qwen35moe", "qwen3next", "qwen4exp"})
_FEED_FORWARD_ALONE = frozenset({"nemotron_h", "nemotron_h_moe"})
"""Hybrids some of whose blocks neither attend nor remember."""


@dataclass(frozen=True, slots=True)
class LayerShape:
    """One block.

    Attributes:
        keys / values: numbers kept per token; both 0 for a block that keeps none.
        windowed: keeps them for a window of tokens only.
        recurrent: keeps a state.
        head: a prediction head, which the model's own context leaves out.
    """

    keys: int
    values: int
    windowed: bool
    recurrent: bool
    head: bool


@dataclass(frozen=True, slots=True)
class MemoryShape:
    """All blocks of a model, and the widths that its computations take.

    Attributes:
        window: tokens that windowed layers see.
        state: numbers of the recurrent state of one layer, its convolution included.
        heads: attention heads, at most.
        head_size: numbers per head in queries and keys.
        feed_forward: widest inner layer that is computed at once; experts in use side by side.
        experts_used: of a layer.
        channels: width of the convolution of recurrent layers.
        inner: width of their state's input.
        scanned: mamba's own way of computing, without attention.
        output: tokens of the vocabulary.
        scored: those of them that the file itself scores; a head may know the likely ones only.
    """

    layers: tuple[LayerShape, ...]
    width: int
    window: int
    state: int
    heads: int
    head_size: int
    feed_forward: int
    experts_used: int
    channels: int
    inner: int
    scanned: bool
    output: int
    scored: int


def memory_shape(header: Header, facts: FileFacts) -> MemoryShape:
    """Read the shape. Never raises on odd values: what makes no sense counts as 0, or as what llama.cpp assumes.

    Raises:
        ModelUnreadable: the file has changed since its header was read.
    """
    reader = _Reader(header, facts.architecture)
    count = min(facts.blocks, MAX_LAYERS)
    heads = reader.per_layer("attention.head_count", count)
    width = min(facts.width or 0, _MOST)
    usual = width // heads[0] if heads and heads[0] else 0
    keys, values = reader.number("attention.key_length", usual), reader.number("attention.value_length", usual)
    used = reader.most("expert_used_count", count)
    output = min(facts.vocabulary or 0, _MOST)
    return MemoryShape(
        layers=_layers(reader, facts, count, keys if any(heads) else 0, values if any(heads) else 0),
        width=width,
        window=_window(reader),
        state=_state(reader, heads[0] if heads else 0, width),
        heads=max(heads, default=0),
        head_size=keys,
        feed_forward=max(
            reader.most("feed_forward_length", count), used * reader.most("expert_feed_forward_length", count)
        ),
        experts_used=used,
        channels=reader.number("ssm.inner_size")
        + 2 * reader.number("ssm.group_count") * reader.number("ssm.state_size"),
        inner=reader.number("ssm.inner_size"),
        scanned=facts.memory == "recurrent",
        output=output,
        scored=_scored(header, output),
    )


def _scored(header: Header, output: int) -> int:
    table = header.tensors.get("output.weight")
    return min(output, table.shape[1]) if "d2t" in header.tensors and table and len(table.shape) == 2 else 0


def _layers(reader: _Reader, facts: FileFacts, count: int, keys: int, values: int) -> tuple[LayerShape, ...]:
    trunk = max(0, min(facts.trunk, count))
    kv_key = "attention.head_count_kv" if reader.says("attention.head_count_kv") else "attention.head_count"
    heads_kv = reader.per_layer(kv_key, count)
    windowed = _windowed(reader, count, trunk, heads_kv)
    recurrent, attends = _kinds(reader, facts, count, trunk, heads_kv)
    sharing_from = _sharing_from(reader, count)
    latent = reader.number("attention.key_length_mla") > 0
    indexer = reader.number("attention.indexer.key_length")
    narrow = reader.number("attention.key_length_swa", keys), reader.number("attention.value_length_swa", values)
    layers = []
    for index in range(count):
        size = narrow if windowed[index] else (keys, values)
        own = attends[index] and index < sharing_from
        layers.append(
            LayerShape(
                keys=heads_kv[index] * size[0] + indexer if own and heads_kv[index] else 0,
                values=heads_kv[index] * size[1] if own and not latent else 0,
                windowed=windowed[index],
                recurrent=recurrent[index],
                head=index >= trunk > 0,
            )
        )
    return tuple(layers)


def _window(reader: _Reader) -> int:
    if reader.arch not in _WINDOWS and not reader.arch.startswith("lfm2"):
        return 0
    return reader.number("attention.sliding_window", _WINDOWS.get(reader.arch, (0, False, 0))[2])


def _windowed(reader: _Reader, count: int, trunk: int, heads_kv: Sequence[int]) -> list[bool]:
    """Which layers keep a window only (llama_hparams::set_swa_pattern)."""
    if not _window(reader):
        return [False] * count
    if reader.arch.startswith("lfm2"):
        return [index < trunk and heads_kv[index] > 0 for index in range(count)]
    period, dense_first, _ = _WINDOWS[reader.arch]
    told = reader.flags("attention.sliding_window_pattern")
    if told:
        return [index < len(told) and told[index] for index in range(count)]
    period = reader.number("attention.sliding_window_pattern", period)
    if period == 0:
        return [True] * count
    whole = 0 if dense_first else period - 1
    return [index < trunk and index % period != whole for index in range(count)]


def _kinds(
    reader: _Reader, facts: FileFacts, count: int, trunk: int, heads_kv: Sequence[int]
) -> tuple[list[bool], list[bool]]:
    """Which layers keep a state, and which attend."""
    arch = facts.architecture
    if facts.memory == "recurrent":
        return [index < trunk for index in range(count)], [False] * count
    if facts.memory == "attention":
        return [False] * count, [True] * count
    if arch == "falcon-h1":
        return [index < trunk for index in range(count)], [True] * count
    told = reader.flags("attention.recurrent_layers")
    if arch in _EVERY_FOURTH_ATTENDS:
        interval = max(1, reader.number("full_attention_interval", 4))
        recurrent = [
            index < trunk and (told[index] if index < len(told) else (index + 1) % interval != 0)
            for index in range(count)
        ]
    else:
        inner = reader.per_layer("feed_forward_length", count) if arch in _FEED_FORWARD_ALONE else [0] * count
        recurrent = [index < trunk and heads_kv[index] == 0 and inner[index] == 0 for index in range(count)]
    return recurrent, [not state for state in recurrent]


def _sharing_from(reader: _Reader, count: int) -> int:
    """From which layer on the keys and values of earlier ones are used."""
    if reader.arch == "gemma3n":
        return min(20, count)
    return count - min(count, reader.number("attention.shared_kv_layers")) if reader.arch == "gemma4" else count


def _state(reader: _Reader, heads: int, width: int) -> int:
    """Numbers per layer: llama_hparams::n_embd_r + n_embd_s."""
    if size := reader.number("wkv.head_size"):
        return (reader.number("token_shift_count", 2) + size) * width
    if cache := reader.number("shortconv.l_cache"):
        return width * (cache - 1)
    kernel = reader.number("ssm.conv_kernel")
    if size := reader.number("kda.head_dim"):
        return 3 * (kernel - 1 if kernel else 3) * heads * size + size * size * heads
    if reader.arch == "minimax-01":
        return reader.number("attention.key_length") ** 2 * heads
    inner, size, groups = (
        reader.number("ssm.inner_size"),
        reader.number("ssm.state_size"),
        reader.number("ssm.group_count"),
    )
    return max(0, kernel - 1) * (inner + 2 * groups * size) + size * inner


@dataclass(frozen=True, slots=True)
class _Reader:
    """Numbers of one architecture, with nonsense taken as not said."""

    header: Header
    arch: str

    def number(self, key: str, default: int = 0) -> int:
        value = self.header.integer(f"{self.arch}.{key}")
        return value if value is not None and 0 <= value < _MOST else default

    def numbers(self, key: str) -> list[int]:
        array = self.header.arrays.get(f"{self.arch}.{key}")
        if array is None or array.count > 4 * MAX_LAYERS:
            return []
        return [max(0, min(int(value), _MOST)) for value in self.header.numbers(f"{self.arch}.{key}")]

    def flags(self, key: str) -> list[bool]:
        return [bool(value) for value in self.numbers(key)]

    def says(self, key: str) -> bool:
        return f"{self.arch}.{key}" in self.header.values or f"{self.arch}.{key}" in self.header.arrays

    def per_layer(self, key: str, count: int) -> list[int]:
        """One number for each layer, from a list or from one number for all."""
        told = self.numbers(key)
        if told:
            return [told[index] if index < len(told) else 0 for index in range(count)]
        return [self.number(key)] * count

    def most(self, key: str, count: int) -> int:
        """The largest of all layers."""
        return max(self.per_layer(key, count), default=0)
