"""How many bytes llama.cpp takes for one model and one context of it, computed from the header.

Weights, caches and states are exact: their sizes follow from shapes (llama-kv-cache.cpp, llama-memory-recurrent.cpp).
The compute buffer holds the intermediate values of the widest moment of a graph; which ones live at that moment is
modelled after what llama.cpp reports of models of each kind (`mtpchat plan` against its log, tests/native).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from mtpchat.gguf.attention_shape import LayerShape, MemoryShape
from mtpchat.gguf.header import Header
from mtpchat.gguf.quantization import BLOCKS, tensor_bytes

ContextKind = Literal["target", "draft", "heads", "eagle3", "assistant"]
PAD = 256
"""llama.cpp rounds a context, and the cache of a window, up to a multiple of it."""

_TYPES = {name.lower(): kind for kind, (name, _, _) in BLOCKS.items()}
_FLOAT = 4
_SLACK = 16 << 10
"""Small inputs of a graph: positions, ids, rows."""


@dataclass(frozen=True, slots=True)
class ContextShape:
    """How a context is made, as far as its size goes.

    Attributes:
        context: tokens it holds.
        batch: most tokens of a decode.
        kind: the target; a draft model; prediction heads; an EAGLE-3 head; an assistant that reads the target's cache.
        snapshots: states kept to roll back to (n_rs_seq).
        copies: whether the state is copied before drafts.
        rows: most rows with logits of a decode.
        hidden_rows: rows of the width of the model that are kept for each token of a decode.
        flash: whether attention is computed without its scores being kept.
        type_k / type_v: of the cache, by ggml's names in small letters.
    """

    context: int
    batch: int = 512
    kind: ContextKind = "target"
    snapshots: int = 0
    copies: bool = False
    rows: int = 1
    hidden_rows: int = 0
    flash: bool = True
    type_k: str = "f16"
    type_v: str = "f16"

    @property
    def cells(self) -> int:
        """Tokens there is room for."""
        return _padded(self.context)

    @property
    def width(self) -> int:
        """Tokens that are computed at once."""
        return min(self.context, self.batch)


@dataclass(frozen=True, slots=True)
class ContextSize:
    """Bytes of one context.

    Attributes:
        kv: cache of keys and values, by layer.
        state: recurrent states, by layer.
        snapshots: how much of `state` is there for rolling back alone.
        copies: copies of the state on the host.
        compute: buffer of intermediate values.
        output: rows that are handed out.
    """

    kv: tuple[int, ...]
    state: tuple[int, ...]
    snapshots: int
    copies: int
    compute: int
    output: int

    @property
    def total(self) -> int:
        """All of it."""
        return sum(self.kv) + sum(self.state) + self.copies + self.compute + self.output


@dataclass(frozen=True, slots=True)
class WeightSize:
    """Bytes of the weights that are loaded.

    Attributes:
        layers: by block.
        input: embeddings, which stay in main memory.
        output: what comes after the last block; the embeddings once more where they serve as output, on a GPU.
        rearranged: of all, how much the CPU copies into a layout of its own: memory that is not the file's.
        tied: the embeddings serve as output.
    """

    layers: tuple[int, ...]
    input: int
    output: int
    rearranged: int
    tied: bool

    @property
    def total(self) -> int:
        """Bytes of the file that are used."""
        return sum(self.layers) + self.input + self.output


def weight_size(
    header: Header, blocks: int, trunk: int, *, heads: bool, rearranges: frozenset[str] = frozenset()
) -> WeightSize:
    """Bytes of the weights.

    Args:
        blocks / trunk: blocks of the file, and those without heads.
        heads: whether prediction heads are loaded.
        rearranges: names of tensor types that this CPU computes in another layout (CPU_REPACK).
    """
    layers, ends, rearranged = [0] * max(blocks, 0), {"input": 0, "output": 0}, 0
    for name, tensor in header.tensors.items():
        size = tensor.size or 0
        index = _block(name)
        if index is not None and trunk <= index < blocks and trunk > 0 and not heads:
            continue
        if index is not None and index < blocks:
            layers[index] += size
        else:
            ends["input" if name.startswith(("token_embd", "per_layer")) else "output"] += size
        if _rearranged(name, tensor.kind, tensor.shape, rearranges):
            rearranged += size
    return WeightSize(tuple(layers), ends["input"], ends["output"], rearranged, "output.weight" not in header.tensors)


def context_size(shape: MemoryShape, context: ContextShape) -> ContextSize:
    """Bytes of a context over a model of that shape."""
    kv = tuple(_kv_bytes(shape, context, layer) for layer in shape.layers)
    planes = 1 + context.snapshots
    one = [
        shape.state * _FLOAT if layer.recurrent and context.kind in ("target", "draft") else 0 for layer in shape.layers
    ]
    return ContextSize(
        kv=kv,
        state=tuple(size * planes for size in one),
        snapshots=sum(one) * context.snapshots,
        copies=sum(one) if context.copies else 0,
        compute=_compute(shape, context),
        output=_FLOAT * (context.rows * shape.output + context.width * context.hidden_rows * shape.width),
    )


def quantizable(shape: MemoryShape, kind: str) -> bool:
    """Whether the rows of every layer's cache can be of that type."""
    block = BLOCKS[_TYPES[kind]][1]
    return all(layer.keys % block == 0 and layer.values % block == 0 for layer in shape.layers)


def _padded(tokens: int) -> int:
    return -(-tokens // PAD) * PAD


def _block(name: str) -> int | None:
    first, _, rest = name.partition(".")
    number = rest.partition(".")[0]
    return int(number) if first == "blk" and number.isdecimal() and len(number) < 6 else None


def _rearranged(name: str, kind: int, shape: tuple[int, ...], rearranges: frozenset[str]) -> bool:
    """Matrices that are multiplied with; embeddings are looked up, and stay as they are."""
    looked_up = name.startswith(("token_embd", "per_layer")) or len(shape) < 2 or "norm" in name
    return not looked_up and BLOCKS.get(kind, ("",))[0] in rearranges and shape[1] % 8 == 0


def _kv_bytes(shape: MemoryShape, context: ContextShape, layer: LayerShape) -> int:
    if not _keeps(shape, context, layer):
        return 0
    cells = window_cells(shape, context) if layer.windowed else context.cells
    # Without flash attention V lies transposed, and layers of different widths are padded to the widest.
    values = layer.values if context.flash or not layer.values else max(each.values for each in shape.layers)
    return cells * (_row(context.type_k, layer.keys) + _row(context.type_v, values))


def _keeps(shape: MemoryShape, context: ContextShape, layer: LayerShape) -> bool:
    """Whether the cache of this context has that layer: the heads are in a context of their own."""
    if context.kind == "assistant" or not (layer.keys or layer.values):
        return False
    return (context.kind == "heads") == layer.head or all(each.head for each in shape.layers)


def window_cells(shape: MemoryShape, context: ContextShape) -> int:
    """Tokens that the cache of windowed layers holds."""
    return _padded(min(context.cells, shape.window + context.width))


def _row(kind: str, numbers: int) -> int:
    return (tensor_bytes(_TYPES.get(kind, 1), (numbers,)) or 0) if numbers else 0


def _compute(shape: MemoryShape, context: ContextShape) -> int:
    """The widest moment of the graph. Everything in it has a row per token of a decode."""
    row = context.width * _FLOAT
    rows = context.width if context.kind == "eagle3" else min(context.rows, context.width)
    logits = rows * shape.output * _FLOAT
    if context.kind == "eagle3":
        # Because it has an encoder, llama.cpp keeps a row of logits for every token; twice if it knows some words only.
        return _masks(shape, context) + logits + row * max(shape.scored + shape.width, 5 * shape.width) + _SLACK
    moments = [_feed_forward(shape, context) * row, logits + rows * shape.width * _FLOAT]
    if any(layer.keys for layer in shape.layers) or context.kind == "assistant":
        moments.append(_attention(shape, context))
    if any(layer.recurrent for layer in shape.layers) and context.kind != "heads":
        moments.append(_recurrence(shape, context))
    return _masks(shape, context) + max(moments) + _SLACK


def _masks(shape: MemoryShape, context: ContextShape) -> int:
    """Who sees whom: once for all layers that see everything, once for those with a window."""
    size = context.width * (2 if context.flash else _FLOAT)
    mine = [layer for layer in shape.layers if context.kind == "assistant" or _keeps(shape, context, layer)]
    whole = any(not layer.windowed for layer in mine)
    windowed = any(layer.windowed for layer in mine)
    return size * (context.cells * whole + window_cells(shape, context) * windowed)


def _feed_forward(shape: MemoryShape, context: ContextShape) -> int:
    """Numbers per token: gate, up and their product beside the residual stream, which is kept several times over."""
    kept = 1.0 if context.kind == "heads" else 4.0 if shape.feed_forward > shape.width else 2.5
    inner = 3 * shape.feed_forward
    if shape.experts_used:
        inner = max(inner, shape.feed_forward + 2 * shape.experts_used * shape.width)
    return int(kept * shape.width) + inner


def _attention(shape: MemoryShape, context: ContextShape) -> int:
    row = context.width * _FLOAT
    widest = max((layer.keys + layer.values for layer in shape.layers), default=0)
    beside = 3 * shape.width + 2 * shape.heads * shape.head_size + widest
    scores = 0 if context.flash else shape.heads * context.cells
    return row * (beside + scores)


def _recurrence(shape: MemoryShape, context: ContextShape) -> int:
    row = context.width * _FLOAT
    if shape.scanned:
        return row * (shape.width + 6 * shape.inner)
    states = (1 + context.snapshots) * shape.state * _FLOAT
    return row * 3 * (shape.channels + shape.width) + states
