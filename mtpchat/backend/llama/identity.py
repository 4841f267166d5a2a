"""What tells a model file from every other one, without reading all of it.

Size and time of change, and a hash of the beginning (where the metadata are) and of pieces spread over the tensors. A
file that was replaced, converted again or cut short is another one; the same file in another folder is the same.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

_HEAD_BYTES = 256 * 1024
_PIECES, _PIECE_BYTES = 64, 4096
_PART = re.compile(r"-(\d{5})-of-(\d{5})\.gguf$")


def identity(path: Path) -> str:
    """Names the content of a model file, of all its parts if it is split; "" where it cannot be read."""
    digest = hashlib.blake2b(digest_size=16)
    try:
        for part in _parts(path):
            _add(digest, part)
    except OSError:
        return ""
    return digest.hexdigest()


def _parts(path: Path) -> Sequence[Path]:
    found = _PART.search(path.name)
    if found is None:
        return (path,)
    stem, count = path.name[: found.start()], int(found[2])
    return [path.with_name(f"{stem}-{number:05}-of-{found[2]}.gguf") for number in range(1, count + 1)]


def _add(digest: Any, path: Path) -> None:
    with open(path, "rb", buffering=0) as file:
        facts = os.fstat(file.fileno())
        digest.update(f"{facts.st_size}|{facts.st_mtime_ns}|".encode())
        digest.update(file.read(_HEAD_BYTES))
        last = max(0, facts.st_size - _PIECE_BYTES)
        for piece in range(_PIECES):
            file.seek(last * piece // (_PIECES - 1))
            digest.update(file.read(_PIECE_BYTES))


@cache
def library_identity() -> str:
    """Names the build of llama.cpp: its version, size and what it was compiled for."""
    from importlib.metadata import version

    import llama_cpp.llama_cpp as lib

    file = getattr(lib._lib, "_name", "")
    size = os.path.getsize(file) if file and os.path.exists(file) else 0
    return f"{version('llama-cpp-python')}|{size}|{lib.llama_print_system_info().decode('utf-8', 'replace')}"
