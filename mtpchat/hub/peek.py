"""Tells from the first bytes of a model file on a server what it is, without fetching it.

Settings of the architecture come before the vocabulary in every file that llama.cpp's tools write, so 128 kB are
enough to see whether prediction heads are announced. Whether their tensors are there shows only the whole header.
"""

from __future__ import annotations

import io
import struct
from dataclasses import dataclass
from pathlib import Path

from mtpchat.errors import ModelUnreadable
from mtpchat.gguf.cursor import Cursor

PREFIX = 128 << 10
"""Bytes that are looked at."""

_MOST_PAIRS = 4096
_MOST_KEY, _MOST_TEXT = 1024, 64 << 10
_U32, _U64 = struct.Struct("<I"), struct.Struct("<Q")
_SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
_INTEGERS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 10: "<Q", 11: "<q"}
_STRING, _ARRAY = 8, 9


@dataclass(frozen=True, slots=True)
class FileStart:
    """What the beginning of a file says.

    Attributes:
        architecture: "" when it was not reached.
        heads: prediction heads announced; None when the place where they are announced was not reached.
        blocks: layers, heads included.
        tensors: in this file.
    """

    architecture: str
    heads: int | None
    blocks: int | None
    tensors: int

    @property
    def heads_alone(self) -> bool:
        """A file with fewer tensors than the model has layers holds the heads and nothing else."""
        return bool(self.heads and self.blocks and self.tensors < 2 * self.blocks)


def read_start(data: bytes, name: str) -> FileStart | None:
    """Understand the first bytes of a GGUF file; None when they are none of a version that is read here."""
    cursor = Cursor(io.BytesIO(data), Path(name), len(data), 0)
    values: dict[str, int | str] = {}
    reached = False
    try:
        if cursor.take(4) != b"GGUF" or cursor.number(_U32) not in (2, 3):
            return None
        tensors, pairs = cursor.number(_U64), cursor.number(_U64)
    except ModelUnreadable:
        return None
    try:
        for _ in range(min(pairs, _MOST_PAIRS)):
            key = cursor.text(_MOST_KEY, "a name")
            if key.startswith("tokenizer.") and "general.architecture" in values:
                reached = True
                break
            _read_value(cursor, key, values)
        else:
            reached = pairs <= _MOST_PAIRS
    except ModelUnreadable:
        reached = False  # the end of what was fetched, or nonsense; what came before counts
    return _start(values, tensors, reached=reached)


def _read_value(cursor: Cursor, key: str, values: dict[str, int | str]) -> None:
    kind = cursor.number(_U32)
    if kind == _STRING:
        values[key] = cursor.text(_MOST_TEXT, "a text")
    elif kind in _INTEGERS:
        layout = struct.Struct(_INTEGERS[kind])
        values[key] = cursor.number(layout)
    elif kind == _ARRAY:
        inner, count = cursor.number(_U32), cursor.number(_U64)
        if inner == _STRING:
            cursor.skip_strings(count)
        elif inner in _SIZES:
            cursor.skip(count * _SIZES[inner])
        else:
            raise cursor.broken("has a list of an unknown type")
    elif kind in _SIZES:
        cursor.skip(_SIZES[kind])
    else:
        raise cursor.broken("has a setting of an unknown type")


def _start(values: dict[str, int | str], tensors: int, *, reached: bool) -> FileStart:
    architecture = str(values.get("general.architecture", ""))
    heads, blocks = (values.get(f"{architecture}.{key}") for key in ("nextn_predict_layers", "block_count"))
    told = heads if isinstance(heads, int) and heads >= 0 else 0 if reached else None
    return FileStart(architecture, told, blocks if isinstance(blocks, int) and blocks > 0 else None, tensors)
