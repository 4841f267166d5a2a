"""Reads what a GGUF file says about itself, without loading weights and without trusting a byte of it.

llama.cpp aborts the whole process on some hostile files, and the reference reader builds Python lists of every
vocabulary; this one believes no length before it has compared it with the file, and leaves long arrays where they are.
It reads through a window instead of mapping the file: a map of a file that somebody cuts short ends the process.

The format: "GGUF", version u32, tensor count u64, pair count u64, pairs, tensor descriptions, padding, data; all
numbers are little-endian.
"""

from __future__ import annotations

import hashlib
import math
import os
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from mtpchat.gguf.cursor import MAX_ALL_TEXT, Cursor, human_size, open_model, quoted
from mtpchat.gguf.quantization import tensor_bytes

Scalar = str | int | float | bool
"""Value of a pair that is not an array."""

MAX_PAIRS = 65_536
MAX_TENSORS = 65_536
MAX_KEY = 65_535
MAX_TENSOR_NAME = 63
"""As in llama.cpp."""
MAX_TEXT = 16 << 20
"""Bytes of one text value; the longest chat templates have a hundred thousand."""
MAX_STRINGS = 4_000_000
"""Strings in all arrays together; the largest vocabularies have a million tokens and merges."""
MAX_FILE = 64 << 40
MAX_KEPT = 1024
"""Entries of a list of numbers that is kept with the header: one for each layer, not one for each token."""
MAX_ALL_KEPT = 65_536

STRING, ARRAY = 8, 9
_U32, _U64 = struct.Struct("<I"), struct.Struct("<Q")
_SCALARS = {
    0: struct.Struct("<B"),
    1: struct.Struct("<b"),
    2: struct.Struct("<H"),
    3: struct.Struct("<h"),
    4: _U32,
    5: struct.Struct("<i"),
    6: struct.Struct("<f"),
    7: struct.Struct("<?"),
    10: _U64,
    11: struct.Struct("<q"),
    12: struct.Struct("<d"),
}
_OTHER = "Look for another conversion of the model."
_FOREIGN = (
    (
        b"version https://git-lfs",
        "is a Git LFS pointer, not the file it points to",
        "Run `git lfs pull`, or download it.",
    ),
    (b"<", "is a web page", "Download the file itself; on a model page that is the download arrow."),
    (
        b"PK",
        "is an archive or a PyTorch checkpoint",
        "Unpack it if a .gguf file is in there; otherwise look for a GGUF version of the model.",
    ),
    (b"lmgg", "has the format that came before GGUF", "Look for a GGUF version of the model."),
    (b"tjgg", "has the format that came before GGUF", "Look for a GGUF version of the model."),
)


@dataclass(frozen=True, slots=True)
class ArrayRef:
    """An array that still lies in the file.

    Attributes:
        kind: GGUF type id of its elements.
        count: how many there are.
        start: where the first one begins, in bytes from the start of the file.
        end: where the last one ends; 0 when that is not known.
    """

    kind: int
    count: int
    start: int
    end: int = 0


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """A tensor as the header describes it.

    Attributes:
        shape: fastest dimension first, as in the file.
        kind: ggml type id.
        offset: bytes from the start of the data section.
        size: bytes; None for a type this program does not know.
    """

    name: str
    shape: tuple[int, ...]
    kind: int
    offset: int
    size: int | None


@dataclass(frozen=True, slots=True)
class Shard:
    """One file of a model that is split into several."""

    path: Path
    size: int
    tensors: int


@dataclass(frozen=True, slots=True)
class Header:
    """Everything a file says before its data.

    Attributes:
        size: bytes of the model; of all its files when it is split.
        values: pairs that are not arrays.
        arrays: pairs that are.
        tensors: by name.
        data_start: where the data section begins, in bytes from the start of the file.
        file_size: bytes of the file at `path`.
        lists: short arrays of numbers or flags, which were read along.
        alignment: of the data section and of each tensor in it, in bytes.
        shards: name, size and number of tensors of each file of a split model; empty for one in a single file.
    """

    path: Path
    size: int
    version: int
    values: Mapping[str, Scalar]
    arrays: Mapping[str, ArrayRef]
    tensors: Mapping[str, TensorInfo]
    data_start: int
    file_size: int
    lists: Mapping[str, tuple[int | float | bool, ...]] = field(default_factory=dict)
    alignment: int = 32
    shards: tuple[Shard, ...] = ()

    def text(self, key: str) -> str:
        """A text value; "" when it is missing or no text."""
        value = self.values.get(key)
        return value if isinstance(value, str) else ""

    def integer(self, key: str) -> int | None:
        """An integer value; None when it is missing or no integer."""
        value = self.values.get(key)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def flag(self, key: str, default: bool) -> bool:
        """A truth value."""
        value = self.values.get(key)
        return value if isinstance(value, bool) else default

    def strings(self, key: str) -> list[bytes]:
        """Read an array of strings; [] when there is none. Raises ModelUnreadable if the file has changed."""
        array = self.arrays.get(key)
        if array is None or array.kind != STRING:
            return []
        with open_model(self.path) as file:
            cursor = Cursor(file, self.path, self.file_size, array.start)
            return list(cursor.blobs(array.count, key))

    def numbers(self, key: str) -> list[int | float | bool]:
        """Read an array of numbers or flags; [] when there is none. Raises ModelUnreadable if the file has changed."""
        array = self.arrays.get(key)
        if array is None or array.kind not in _SCALARS:
            return []
        if key in self.lists:
            return list(self.lists[key])
        layout = _SCALARS[array.kind]
        with open_model(self.path) as file:
            cursor = Cursor(file, self.path, self.file_size, array.start)
            if array.count * layout.size > MAX_ALL_TEXT:
                raise cursor.broken(f"is damaged: the list {key!r} claims {array.count} entries")
            raw = cursor.take(array.count * layout.size)
        return [value for (value,) in layout.iter_unpack(raw)]

    def digest(self, *keys: str) -> str:
        """SHA-256 over some arrays as they lie in the file, in hexadecimal; "" when none of them is there.

        Equal digests mean equal entries in equal order. Raises ModelUnreadable if the file has changed.
        """
        arrays = [self.arrays[key] for key in keys if key in self.arrays and self.arrays[key].end]
        if not arrays:
            return ""
        digest = hashlib.sha256()
        with open_model(self.path) as file:
            for array in arrays:
                digest.update(struct.pack("<IQ", array.kind, array.count))
                for piece in Cursor(file, self.path, self.file_size, array.start).pieces(array.end - array.start):
                    digest.update(piece)
        return digest.hexdigest()


def read_header(path: str | os.PathLike[str]) -> Header:
    """Read and check the header of a GGUF file, and that the data it describes is there.

    Raises:
        ModelNotFound: there is no such file.
        ModelUnreadable: it is no GGUF, damaged, cut off, or may not be read.
    """
    place = Path(path)
    with open_model(place) as file:
        size = os.fstat(file.fileno()).st_size
        return _parse(Cursor(file, place, size, 0))


def _parse(cursor: Cursor) -> Header:
    version = _read_version(cursor)
    tensor_count, pair_count = cursor.number(_U64), cursor.number(_U64)
    if tensor_count > MAX_TENSORS or pair_count > MAX_PAIRS:
        raise cursor.broken(f"is damaged: it claims {tensor_count} tensors and {pair_count} settings")
    values, arrays, lists = _read_pairs(cursor, pair_count)
    tensors = _read_tensors(cursor, tensor_count)
    alignment = values.get("general.alignment", 32)
    if not isinstance(alignment, int) or isinstance(alignment, bool) or alignment <= 0 or alignment & (alignment - 1):
        shown = quoted(alignment) if isinstance(alignment, str) else alignment
        raise cursor.broken(f"is damaged: its alignment is {shown}")
    data_start = -(-cursor.position // alignment) * alignment
    _check_data(cursor, tensors, data_start)
    size = cursor.size
    return Header(cursor.path, size, version, values, arrays, tensors, data_start, size, lists, alignment)


def _read_version(cursor: Cursor) -> int:
    if cursor.size == 0:
        raise cursor.broken("is empty")
    start = cursor.peek(min(24, cursor.size))
    if not start.startswith(b"GGUF"):
        for magic, what, hint in _FOREIGN:
            if start.startswith(magic):
                raise cursor.broken(what, hint)
        if start[8:9] == b"{":  # the length of a JSON header, then the header
            raise cursor.broken(
                "has the safetensors format, which other programs run", "Look for a GGUF version of the model."
            )
        raise cursor.broken(
            "is not a GGUF file",
            "Models come in many formats; look for a version of this one whose name ends in .gguf.",
        )
    if len(start) < 24:
        raise cursor.cut_off()
    cursor.skip(4)
    version = cursor.number(_U32)
    if version and version & 0xFFFF == 0:
        raise cursor.broken(
            "is a big-endian GGUF, which runs on other machines only", "Look for a little-endian version."
        )
    if version not in (2, 3):
        age = "older" if version < 2 else "newer"
        raise cursor.broken(
            f"is GGUF version {version}, {age} than what can be read here (2 and 3)", "Look for another file."
        )
    return version


_Pairs = tuple[dict[str, Scalar], dict[str, ArrayRef], dict[str, tuple[int | float | bool, ...]]]


def _read_pairs(cursor: Cursor, count: int) -> _Pairs:
    values: dict[str, Scalar] = {}
    arrays: dict[str, ArrayRef] = {}
    lists: dict[str, tuple[int | float | bool, ...]] = {}
    texts, strings, kept = 0, 0, 0
    for _ in range(count):
        key = cursor.text(MAX_KEY, "the name of a setting")
        if key in values or key in arrays:
            raise cursor.broken(f"is damaged: the setting {quoted(key)} comes twice")
        kind = cursor.number(_U32)
        if kind == ARRAY:
            arrays[key] = array = _read_array(cursor, key, strings, lists if kept < MAX_ALL_KEPT else {})
            strings += array.count if array.kind == STRING else 0
            kept += len(lists.get(key, ()))
        elif kind == STRING:
            values[key] = text = cursor.text(MAX_TEXT, key)
            texts += len(text)
        elif kind in _SCALARS:
            values[key] = _SCALARS[kind].unpack(cursor.take(_SCALARS[kind].size))[0]
        else:
            raise cursor.broken(f"is damaged: the setting {quoted(key)} has the unknown type {kind}")
        texts += len(key)
        if texts > MAX_ALL_TEXT:
            raise cursor.broken("is damaged: its settings hold more text than any model needs")
    return values, arrays, lists


def _read_array(cursor: Cursor, key: str, strings: int, lists: dict[str, tuple[int | float | bool, ...]]) -> ArrayRef:
    """Step over an array; a short one of numbers goes to `lists`. `strings` were in arrays before."""
    kind, count = cursor.number(_U32), cursor.number(_U64)
    start = cursor.position
    if kind == STRING:
        if strings + count > MAX_STRINGS:
            raise cursor.broken(f"is damaged: the list {quoted(key)} claims {count} entries")
        cursor.skip_strings(count)
    elif kind in _SCALARS:
        layout = _SCALARS[kind]
        if count > MAX_KEPT:
            cursor.skip(count * layout.size)
        else:
            lists[key] = tuple(value for (value,) in layout.iter_unpack(cursor.take(count * layout.size)))
    elif kind == ARRAY:
        # Lists of lists are in the format's text, but no reader of it, llama.cpp included, accepts them.
        raise cursor.broken(f"has a list of lists, {quoted(key)}, which no program reads", _OTHER)
    else:
        raise cursor.broken(f"is damaged: the list {quoted(key)} has entries of the unknown type {kind}")
    return ArrayRef(kind, count, start, cursor.position)


def _read_tensors(cursor: Cursor, count: int) -> dict[str, TensorInfo]:
    tensors: dict[str, TensorInfo] = {}
    for _ in range(count):
        name = cursor.text(MAX_TENSOR_NAME, "the name of a tensor")
        dimensions = cursor.number(_U32)
        if name in tensors or dimensions > 4:
            raise cursor.broken(f"is damaged: the description of the tensor {quoted(name)} makes no sense")
        shape = tuple(cursor.number(_U64) for _ in range(dimensions))
        kind, offset = cursor.number(_U32), cursor.number(_U64)
        if math.prod(shape) >= 1 << 63:
            raise cursor.broken(f"is damaged: the tensor {quoted(name)} is impossibly large")
        tensors[name] = TensorInfo(name, shape, kind, offset, tensor_bytes(kind, shape))
    return tensors


def _check_data(cursor: Cursor, tensors: Mapping[str, TensorInfo], data_start: int) -> None:
    if not tensors:
        return
    end = data_start + max(tensor.offset + (tensor.size or 0) for tensor in tensors.values())
    if end > MAX_FILE:
        raise cursor.broken("is damaged: it describes tensors that lie outside any file")
    if end > cursor.size:
        raise cursor.broken(
            f"is {human_size(cursor.size)}, its header describes {human_size(end)}: the download is incomplete"
        )
