"""Damaged model files, thousands of different ones, each made again by its number alone.

A file is first described (pairs, tensors, data), then spoiled in one way or several, then written; what no description
can express, such as a cut or a flipped bit, is done to the bytes.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from pathlib import Path

from tests.gguf.draft import (
    ARRAY,
    BOOL,
    F32,
    F64,
    I8,
    I16,
    I32,
    I64,
    PACK,
    STRING,
    U8,
    U16,
    U32,
    U64,
    Draft,
    draft_of,
    scalar,
    sound,
    text,
)  # fmt: skip

HUGE = (0, 1, 2**15, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**40, 2**62, 2**63 - 1, 2**63, 2**64 - 1)
NASTY = (
    b"",
    b"\xff\xfe\xfd",
    b"\x1b]0;title\x07\x1b[2J",
    b"[bold red]markup[/]",
    "\u202egnp.exe".encode(),
    b"\x00\x00",
    "é".encode("latin-1"),
    b"a" * 5000,
    b"../../etc/passwd",
    b"{{ 1 / 0 }}",
    "\ud800".encode("utf-8", "surrogatepass"),
)


def damaged_model(path: Path, number: int) -> bytes:
    """A model that could be run, damaged in a way that does not show in the form of the file."""
    chance = random.Random(number)
    draft = draft_of(path)
    for _ in range(chance.choice((1, 1, 2))):
        chance.choice(SUBTLE)(draft, chance)
    return draft.write()


def mutant(number: int) -> bytes:
    """The damaged file of this number."""
    chance = random.Random(number)
    draft = sound(number)
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        chance.choice(DAMAGES)(draft, chance)
    raw = draft.write()
    return chance.choice(INJURIES)(raw, chance) if chance.random() < 0.5 else raw


def _wrong_type(draft: Draft, chance: random.Random) -> None:
    at = chance.randrange(len(draft.pairs))
    key, _, value = draft.pairs[at]
    draft.pairs[at] = (key, chance.choice((*range(13), 13, 99, 2**32 - 1)), value)


def _hostile_number(draft: Draft, chance: random.Random) -> None:
    keys = [
        "block_count", "nextn_predict_layers", "context_length", "embedding_length", "expert_count", "pooling_type",
        "attention.head_count", "attention.head_count_kv", "attention.key_length", "attention.sliding_window",
        "attention.sliding_window_pattern", "full_attention_interval", "attention.shared_kv_layers", "vocab_size",
    ]  # fmt: skip
    others = ["split.count", "split.no", "general.base_model.count", "general.file_type", "split.tensors.count"]
    tokens = ["tokenizer.ggml.bos_token_id", "tokenizer.ggml.eos_token_id"]
    key = chance.choice([*(f"{draft.arch}.{key}" for key in keys), *others, *tokens])
    draft.set(key, chance.choice((U8, I8, U16, I16, U32, I32, U64, I64)), chance.choice(HUGE))


def _hostile_float(draft: Draft, chance: random.Random) -> None:
    key = chance.choice((f"{draft.arch}.block_count", "general.alignment", f"{draft.arch}.rope.freq_base"))
    draft.set(key, F64, chance.choice((float("nan"), float("inf"), -1e300, 0.5)))


def _hostile_list(draft: Draft, chance: random.Random) -> None:
    key = chance.choice(("attention.head_count", "attention.head_count_kv", "attention.sliding_window_pattern"))
    kind = chance.choice((U8, I32, U64, BOOL))
    values: list[object] = [chance.choice(HUGE) for _ in range(chance.choice((0, 1, 3, 700, 2000)))]
    draft.list(f"{draft.arch}.{key}", kind, values)


def _nasty_text(draft: Draft, chance: random.Random) -> None:
    keys = (
        "general.name", "general.architecture", "general.license", "general.type", "general.size_label",
        "tokenizer.ggml.model", "tokenizer.ggml.pre", "tokenizer.chat_template", "general.base_model.0.name",
    )  # fmt: skip
    draft.set(chance.choice(keys), STRING, chance.choice(NASTY))


def _nasty_key(draft: Draft, chance: random.Random) -> None:
    draft.pairs.append((chance.choice(NASTY), STRING, text(chance.choice(NASTY))))


def _double_key(draft: Draft, chance: random.Random) -> None:
    draft.pairs.insert(chance.randrange(len(draft.pairs)), chance.choice(draft.pairs))


def _missing_pair(draft: Draft, chance: random.Random) -> None:
    draft.pairs.pop(chance.randrange(len(draft.pairs)))
    draft.pairs = draft.pairs or sound(1).pairs


def _nested_list(draft: Draft, chance: random.Random) -> None:
    depth = chance.choice((1, 2, 100, 50_000))
    body = struct.pack("<IQ", ARRAY, 1) * depth + struct.pack("<IQI", U32, 1, 7)
    draft.pairs.append((b"nested", ARRAY, body))


def _long_list(draft: Draft, chance: random.Random) -> None:
    kind = chance.choice((STRING, U8, U64, 77))
    draft.pairs.append((b"long", ARRAY, struct.pack("<IQ", kind, chance.choice(HUGE))))


def _strange_tokens(draft: Draft, chance: random.Random) -> None:
    draft.list("tokenizer.ggml.tokens", STRING, [chance.choice(NASTY) for _ in range(chance.choice((0, 1, 4, 300)))])


def _missing_tensor(draft: Draft, chance: random.Random) -> None:
    if draft.tensors:
        draft.tensors.pop(chance.randrange(len(draft.tensors)))


def _double_tensor(draft: Draft, chance: random.Random) -> None:
    if draft.tensors:
        draft.tensors.append(chance.choice(draft.tensors))


def _strange_tensor(draft: Draft, chance: random.Random) -> None:
    if not draft.tensors:
        return
    at = chance.randrange(len(draft.tensors))
    name, shape, kind, offset = draft.tensors[at]
    match chance.randrange(4):
        case 0:
            shape = [chance.choice(HUGE) for _ in range(chance.choice((0, 1, 2, 4, 5)))]
        case 1:
            kind = chance.choice((1, 2, 4, 8, 12, 31, 42, 43, 99, 2**32 - 1))
        case 2:
            offset = chance.choice((*HUGE, 4, 16, offset + 32))
        case _:
            name = chance.choice((*NASTY, b"blk.99999999999999999999.nextn.eh_proj.weight", b"mtp.layers.0.x", b"d2t"))
    draft.tensors[at] = (name, shape, kind, offset)


def _many_tensors(draft: Draft, chance: random.Random) -> None:
    for number in range(chance.choice((10, 300))):
        draft.tensors.append((f"blk.{number}.x{number}".encode(), [8], 0, 0))


def _alignment(draft: Draft, chance: random.Random) -> None:
    draft.set("general.alignment", chance.choice((U32, U64, I32, STRING)), chance.choice((0, 1, 3, 64, 2**31, 2**63)))


def _counts(draft: Draft, chance: random.Random) -> None:
    right = (len(draft.tensors), len(draft.pairs))
    near = (right[0] + chance.randrange(-1, 2)) % 2**64, (right[1] + chance.randrange(-1, 2)) % 2**64
    draft.counts = chance.choice((near, (chance.choice(HUGE), right[1]), (right[0], chance.choice(HUGE))))


def _version(draft: Draft, chance: random.Random) -> None:
    draft.version = chance.choice((0, 1, 2, 2, 4, 3 << 24, 2**32 - 1))


def _no_data(draft: Draft, chance: random.Random) -> None:
    draft.data = draft.data[: chance.randrange(len(draft.data) + 1)]


def _cut(raw: bytes, chance: random.Random) -> bytes:
    return raw[: chance.randrange(len(raw) + 1)]


def _flip(raw: bytes, chance: random.Random) -> bytes:
    spoiled = bytearray(raw)
    for _ in range(chance.choice((1, 4, 32))):
        spoiled[chance.randrange(len(spoiled))] = chance.randrange(256)
    return bytes(spoiled)


def _overwrite(raw: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(raw))
    return raw[:at] + struct.pack("<Q", chance.choice(HUGE)) + raw[at + 8 :]


def _insert(raw: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(raw))
    return raw[:at] + chance.randbytes(chance.choice((1, 8, 100))) + raw[at:]


def _swap_words(raw: bytes, chance: random.Random) -> bytes:
    size = chance.choice((4, 8))
    return raw[:4] + b"".join(raw[at : at + size][::-1] for at in range(4, len(raw), size))


def _garbage(raw: bytes, chance: random.Random) -> bytes:
    return chance.choice((b"", b"GGUF", b"GGUF" + chance.randbytes(200), chance.randbytes(64), b"<html>", raw[::-1]))


def _other_number(draft: Draft, chance: random.Random) -> None:
    """A whole number that the file has, made a little or very different."""
    at = chance.choice([at for at, one in enumerate(draft.pairs) if one[1] in (U32, I32, U64, U16)])
    key, kind, raw = draft.pairs[at]
    old = int.from_bytes(raw, "little")
    new = chance.choice((0, 1, old + 1, max(old - 1, 0), old * 2, old // 2, chance.choice(HUGE)))
    draft.pairs[at] = (key, kind, scalar(kind, new))


def _other_float(draft: Draft, chance: random.Random) -> None:
    at = chance.choice([at for at, one in enumerate(draft.pairs) if one[1] == F32])
    value = chance.choice((0.0, -1.0, 1e38, float("nan"), float("inf")))
    draft.pairs[at] = (draft.pairs[at][0], F32, scalar(F32, value))


def _other_list(draft: Draft, chance: random.Random) -> None:
    """A list that is shorter, longer or empty: tokens without types, layers without heads."""
    lists = [at for at, one in enumerate(draft.pairs) if one[1] == ARRAY]
    at = chance.choice(lists)
    key, _, raw = draft.pairs[at]
    kind, count = struct.unpack_from("<IQ", raw)
    if kind == STRING:
        words = [f"w{number}" for number in range(chance.choice((0, 1, count - 1, count, count + 1)))]
        draft.list(key.decode(), STRING, [chance.choice(("twice", word)) for word in words])
        return
    size = struct.calcsize(PACK[kind])
    items = [raw[12 + size * index : 12 + size * (index + 1)] for index in range(count)]
    new = chance.choice((items[:-1], items + items[:1], [], items[::-1], [bytes([255]) * size] * count))
    draft.pairs[at] = (key, ARRAY, struct.pack("<IQ", kind, len(new)) + b"".join(new))


def _turned_tensor(draft: Draft, chance: random.Random) -> None:
    """Another shape of the same size."""
    at = chance.randrange(len(draft.tensors))
    name, shape, kind, offset = draft.tensors[at]
    flat = 1
    for dimension in shape:
        flat *= dimension
    shapes = [shape[::-1], [flat], [*shape, 1], [flat // 2, 2] if flat % 2 == 0 else shape, [1, *shape][:4]]
    draft.tensors[at] = (name, chance.choice(shapes), kind, offset)


def _renamed_tensor(draft: Draft, chance: random.Random) -> None:
    at, other = chance.randrange(len(draft.tensors)), chance.choice(draft.tensors)[0]
    name, shape, kind, offset = draft.tensors[at]
    new = chance.choice((other, name.replace(b"0", b"7"), name + b"x", name.replace(b"weight", b"bias")))
    draft.tensors[at] = (new, shape, kind, offset)


def _other_words(draft: Draft, chance: random.Random) -> None:
    keys = ("general.architecture", "tokenizer.ggml.model", "tokenizer.ggml.pre", "tokenizer.chat_template")
    words = ("llama", "qwen35", "gemma4", "mamba", "rwkv7", "bert", "gpt2", "t5", "default", "{{", "", "none")
    draft.set(chance.choice(keys), STRING, chance.choice(words))


def _noise(draft: Draft, chance: random.Random) -> None:
    """Weights of noise, not-a-number included."""
    at = chance.randrange(max(len(draft.data) - 4096, 1))
    draft.data = draft.data[:at] + chance.randbytes(4096) + draft.data[at + 4096 :]


SUBTLE: tuple[Callable[[Draft, random.Random], None], ...] = (
    _other_number, _other_number, _other_number, _hostile_number, _other_float, _other_list, _other_list,
    _turned_tensor, _renamed_tensor, _missing_tensor, _missing_pair, _strange_tensor, _other_words, _noise,
)  # fmt: skip
DAMAGES: tuple[Callable[[Draft, random.Random], None], ...] = (
    _wrong_type, _hostile_number, _hostile_number, _hostile_float, _hostile_list, _nasty_text, _nasty_key, _double_key,
    _missing_pair, _nested_list, _long_list, _strange_tokens, _missing_tensor, _double_tensor, _strange_tensor,
    _strange_tensor, _many_tensors, _alignment, _counts, _version, _no_data,
)  # fmt: skip
INJURIES: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    _cut, _flip, _overwrite, _insert, _swap_words, _garbage,
)  # fmt: skip
