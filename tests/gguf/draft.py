"""GGUF files as descriptions that can be changed before they are written, and small sound ones to begin with."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from pathlib import Path

U8, I8, U16, I16, U32, I32, F32, BOOL, STRING, ARRAY, U64, I64, F64 = range(13)
PACK = {
    U8: "<B",
    I8: "<b",
    U16: "<H",
    I16: "<h",
    U32: "<I",
    I32: "<i",
    F32: "<f",
    BOOL: "<?",
    U64: "<Q",
    I64: "<q",
    F64: "<d",
}


@dataclass
class Draft:
    """A file before it is written."""

    arch: str
    pairs: list[tuple[bytes, int, bytes]] = field(default_factory=list)
    tensors: list[tuple[bytes, list[int], int, int]] = field(default_factory=list)
    data: bytes = b""
    magic: bytes = b"GGUF"
    version: int = 3
    counts: tuple[int, int] | None = None
    alignment: int = 32

    def set(self, key: str, kind: int, value: object) -> None:
        self.pairs = [one for one in self.pairs if one[0] != key.encode()]
        self.pairs.append((key.encode(), kind, scalar(kind, value)))

    def list(self, key: str, kind: int, values: list[object]) -> None:
        body = b"".join(scalar(kind, value) for value in values)
        self.pairs = [one for one in self.pairs if one[0] != key.encode()]
        self.pairs.append((key.encode(), ARRAY, struct.pack("<IQ", kind, len(values)) + body))

    def tensor(self, name: str, *shape: int) -> None:
        size = 4
        for dimension in shape:
            size *= dimension
        self.tensors.append((name.encode(), list(shape), 0, len(self.data)))
        self.data += bytes(size + -size % 32)

    def write(self) -> bytes:
        tensors, pairs = self.counts or (len(self.tensors), len(self.pairs))
        parts = [self.magic, struct.pack("<IQQ", self.version, tensors, pairs)]
        for key, kind, value in self.pairs:
            parts += [text(key), struct.pack("<I", kind & 0xFFFFFFFF), value]
        for name, shape, kind, offset in self.tensors:
            parts += [text(name), struct.pack("<I", len(shape)), *(struct.pack("<Q", one % 2**64) for one in shape)]
            parts.append(struct.pack("<IQ", kind & 0xFFFFFFFF, offset % 2**64))
        header = b"".join(parts)
        return header + bytes(-len(header) % self.alignment) + self.data


def text(raw: bytes) -> bytes:
    return struct.pack("<Q", len(raw)) + raw


def scalar(kind: int, value: object) -> bytes:
    if kind == STRING:
        return text(value if isinstance(value, bytes) else str(value).encode())
    assert isinstance(value, (int, float))
    if kind in (F32, F64, BOOL):
        return struct.pack(PACK[kind], value)
    size = struct.calcsize(PACK[kind])
    return (int(value) % 2 ** (8 * size)).to_bytes(size, "little")


def sound(number: int) -> Draft:
    """A file in order, of one of several kinds."""
    return (_hybrid, _dense, _eagle3, _assistant, _split)[number % 5]()


def _basis(arch: str, blocks: int) -> Draft:
    draft = Draft(arch)
    draft.set("general.architecture", STRING, arch)
    draft.set("general.name", STRING, "Small")
    draft.set("general.file_type", U32, 15)
    draft.set("general.license", STRING, "mit")
    draft.set(f"{arch}.block_count", U32, blocks)
    draft.set(f"{arch}.context_length", U32, 128)
    draft.set(f"{arch}.embedding_length", U32, 8)
    draft.set(f"{arch}.feed_forward_length", U32, 16)
    draft.set(f"{arch}.attention.head_count", U32, 2)
    draft.set(f"{arch}.attention.head_count_kv", U32, 1)
    draft.set("tokenizer.ggml.model", STRING, "gpt2")
    draft.list("tokenizer.ggml.tokens", STRING, ["a", "b", "<|im_end|>", "d"])
    draft.list("tokenizer.ggml.token_type", I32, [1, 1, 3, 1])
    draft.list("tokenizer.ggml.merges", STRING, ["a b"])
    draft.set("tokenizer.ggml.eos_token_id", U32, 2)
    draft.tensor("token_embd.weight", 8, 4)
    return draft


def _hybrid() -> Draft:
    draft = _basis("qwen35", 5)
    draft.set("qwen35.nextn_predict_layers", U32, 1)
    draft.set("qwen35.full_attention_interval", U32, 4)
    draft.set("qwen35.ssm.state_size", U32, 4)
    draft.set("general.base_model.count", U32, 1)
    draft.set("general.base_model.0.name", STRING, "Base")
    draft.set("tokenizer.chat_template", STRING, "{{ messages }}")
    for block in range(5):
        draft.tensor(f"blk.{block}.attn_norm.weight", 8)
    draft.tensor("blk.4.nextn.eh_proj.weight", 16, 8)
    return draft


def _dense() -> Draft:
    draft = _basis("llama", 2)
    draft.list("llama.attention.head_count_kv", U32, [1, 2])
    draft.set("llama.expert_count", U32, 4)
    draft.set("llama.expert_used_count", U32, 2)
    for block in range(2):
        draft.tensor(f"blk.{block}.attn_norm.weight", 8)
    return draft


def _eagle3() -> Draft:
    draft = _basis("eagle3", 1)
    draft.list("eagle3.target_layers", I32, [1, 2, 3])
    draft.set("eagle3.target_hidden_size", U32, 8)
    for name in ("fc.weight", "output_norm.weight", "blk.0.attn_norm_2.weight"):
        draft.tensor(name, 8)
    return draft


def _assistant() -> Draft:
    draft = _basis("gemma4-assistant", 2)
    draft.list("gemma4-assistant.attention.sliding_window_pattern", BOOL, [True, False])
    draft.set("gemma4-assistant.attention.sliding_window", U32, 16)
    draft.tensor("blk.0.attn_norm.weight", 8)
    return draft


def _split() -> Draft:
    draft = _dense()
    draft.set("split.count", U16, 1)
    draft.set("split.no", U16, 0)
    return draft


def draft_of(path: Path) -> Draft:
    """A sound file, taken apart."""
    raw, at = path.read_bytes(), 24
    tensors, pairs = struct.unpack_from("<QQ", raw, 8)
    draft = Draft("")

    def number(layout: str) -> int:
        nonlocal at
        at += struct.calcsize(layout)
        return int(struct.unpack_from(layout, raw, at - struct.calcsize(layout))[0])

    def blob() -> bytes:
        nonlocal at
        length = number("<Q")
        at += length
        return raw[at - length : at]

    def value(kind: int) -> None:
        nonlocal at
        if kind == STRING:
            blob()
        elif kind == ARRAY:
            inner, count = number("<I"), number("<Q")
            for _ in range(count):
                value(inner)
        else:
            at += struct.calcsize(PACK[kind])

    for _ in range(pairs):
        key, kind, start = blob(), number("<I"), at
        value(kind)
        draft.pairs.append((key, kind, raw[start:at]))
        if key == b"general.architecture":
            draft.arch = raw[start + 8 : at].decode()
    for _ in range(tensors):
        name = blob()
        shape = [number("<Q") for _ in range(number("<I"))]
        draft.tensors.append((name, shape, number("<I"), number("<Q")))
    draft.data = raw[-(-at // 32) * 32 :]
    return draft
