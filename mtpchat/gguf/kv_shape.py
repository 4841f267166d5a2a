"""How much a model remembers of each token, read off its header: what its KV cache and its recurrent state hold.

Which layers have a window and which are recurrent is partly said in the file and partly fixed in llama.cpp's sources
(src/models/*.cpp, src/llama-hparams.cpp); the tables here are those of the pinned version.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mtpchat.gguf import architectures as known
from mtpchat.gguf.header import Header

_MOST_LAYERS = 4096
_MOST_FLOATS = 1 << 40
"""No layer keeps more of one token; numbers beyond are not believed."""

_INTERVALS = {"minimax-01": 8, "qwen35": 4, "qwen35moe": 4, "qwen3next": 4, "qwen4exp": 4}
"""Every n-th layer attends, the others are recurrent, unless the file names another n."""

_WINDOWS = {
    "afmoe": (4, False),
    "cohere2": (4, False),
    "cohere2moe": (4, True),
    "exaone-moe": (4, False),
    "exaone4": (4, False),
    "gemma2": (2, False),
    "gemma3": (6, False),
    "gemma3n": (5, False),
    "gpt-oss": (2, False),
    "laguna": (4, True),
    "llama4": (4, False),
    "mellum": (4, False),
    "olmo2": (4, False),
    "phi3": (1, False),
    "plamo3": (8, False),
    "smallthinker": (4, True),
}
"""Architecture -> (n, first): one layer of n sees everything, the first or the last of them."""


@dataclass(frozen=True, slots=True)
class KvShape:
    """Numbers per token, layers of the model itself only (heads keep their own).

    Attributes:
        keys / values: entries of K and of V per token in layers that see the whole context.
        window_keys / window_values: the same in layers that see a window of it.
        layers / window_layers: how many there are of both.
        recurrent_layers: layers that keep a state of fixed size instead.
    """

    keys: int
    values: int
    window_keys: int
    window_values: int
    layers: int
    window_layers: int
    recurrent_layers: int

    def bytes_per_token(self, key_bytes: float = 2.0, value_bytes: float = 2.0) -> int:
        """Bytes that one more token takes within the window; the arguments are bytes of an entry (F16: 2)."""
        keys, values = self.keys + self.window_keys, self.values + self.window_values
        return round(keys * key_bytes + values * value_bytes)

    def lasting_bytes_per_token(self, key_bytes: float = 2.0, value_bytes: float = 2.0) -> int:
        """Bytes that one more token takes in a long context, where layers with a window have stopped growing."""
        return round(self.keys * key_bytes + self.values * value_bytes)


def kv_shape(header: Header, arch: str, trunk: int) -> KvShape | None:
    """What the first `trunk` layers keep of a token; None where the header does not tell."""
    width = header.integer(f"{arch}.embedding_length")
    heads = _per_layer(header, f"{arch}.attention.head_count", trunk)
    if not 0 < trunk <= _MOST_LAYERS or width is None or arch in known.RECURRENT:
        return None
    kv_heads = _per_layer(header, f"{arch}.attention.head_count_kv", trunk) or heads
    if not heads or not kv_heads:
        return None
    default = width // max(heads) if max(heads) > 0 else 0
    sizes = [_length(header, arch, what, default) for what in ("key", "value")]
    in_window = [_length(header, arch, f"{what}_swa", size) for what, size in zip(("key", "value"), sizes, strict=True)]
    latent = bool(header.integer(f"{arch}.attention.key_length_mla")) and bool(
        header.integer(f"{arch}.attention.value_length_mla")
    )
    windows, recurrent = _windows(header, arch, trunk), _recurrent(header, arch, kv_heads)
    owning = trunk - min(trunk, header.integer(f"{arch}.attention.shared_kv_layers") or 0)
    totals = [0, 0, 0, 0, 0, 0]
    for layer in range(owning):
        count = kv_heads[layer]
        if recurrent[layer] or count <= 0:
            continue
        at = 2 if windows[layer] else 0
        key, value = in_window if windows[layer] else sizes
        totals[at] += count * key
        totals[at + 1] += 0 if latent else count * value
        totals[5 if windows[layer] else 4] += 1
    if max(totals) > _MOST_FLOATS:
        return None
    return KvShape(totals[0], totals[1], totals[2], totals[3], totals[4], totals[5], sum(recurrent))


def _length(header: Header, arch: str, what: str, default: int) -> int:
    name, _, rest = what.partition("_")
    told = header.integer(f"{arch}.attention.{name}_length{'_' + rest if rest else ''}")
    return told if told is not None and 0 < told < _MOST_FLOATS else default


def _per_layer(header: Header, key: str, layers: int) -> list[int]:
    """A number that is given once or for each layer; [] where it is missing or makes no sense."""
    told = header.integer(key)
    numbers: Sequence[object] = [told] * min(layers, _MOST_LAYERS) if told is not None else header.lists.get(key, ())
    whole = [number for number in numbers if isinstance(number, int) and 0 <= number <= _MOST_FLOATS]
    return whole[:layers] if len(whole) == len(numbers) and len(whole) >= layers else []


def _windows(header: Header, arch: str, layers: int) -> list[bool]:
    """Which layers see a window only."""
    key = f"{arch}.attention.sliding_window_pattern"
    if not (header.integer(f"{arch}.attention.sliding_window") or arch == "gemma2"):
        return [False] * layers
    listed = header.lists.get(key, ())
    if listed:
        return [*(bool(one) for one in listed), *[False] * layers][:layers]
    if arch not in _WINDOWS:
        return [False] * layers
    period, first = _WINDOWS[arch]
    period = header.integer(key) or period
    if arch == "phi3" or period < 1:
        return [True] * layers
    return [layer % period != 0 if first else layer % period < period - 1 for layer in range(layers)]


def _recurrent(header: Header, arch: str, kv_heads: Sequence[int]) -> list[bool]:
    """Which layers keep a state instead of keys and values."""
    if arch in _INTERVALS:
        interval = header.integer(f"{arch}.full_attention_interval") or _INTERVALS[arch]
        return [(layer + 1) % max(interval, 1) != 0 for layer in range(len(kv_heads))]
    return [count == 0 and arch in known.HYBRID for count in kv_heads]
