"""Is a file whole and in order? What llama.cpp would refuse about its tensors, found without loading them.

`read_header` has already refused what cannot be read at all; here are the things that a reader can live with and a
loader cannot (ggml/src/gguf.cpp), and checksums of the whole file.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from mtpchat.errors import ModelUnreadable
from mtpchat.gguf.cursor import human_size, open_model, quoted
from mtpchat.gguf.facts import FileFacts
from mtpchat.gguf.header import Header
from mtpchat.gguf.quantization import BLOCKS

_PIECE = 4 << 20
_SLACK = 1 << 20
"""Bytes behind the last tensor that a tool may have left there."""
_SHA256 = re.compile(r"\b[0-9a-fA-F]{64}\b")


@dataclass(frozen=True, slots=True)
class Checksum:
    """A known SHA-256 of a file, and who says so."""

    digest: str
    source: str


def faults_of(header: Header) -> Iterator[str]:
    """What is wrong with the tensors of one file, as clauses that follow its name, the first of each kind only."""
    expected, found = 0, set[str]()
    for tensor in header.tensors.values():
        name = quoted(tensor.name)
        if tensor.size is None:
            fault = f"{name} is of the type {tensor.kind}, which this version of llama.cpp does not have"
        elif tensor.shape and tensor.shape[0] % BLOCKS[tensor.kind][1]:
            fault = f"rows of {name} are {tensor.shape[0]} long, which does not divide into blocks of its type"
        elif tensor.offset % header.alignment:
            fault = f"{name} does not begin at a multiple of {header.alignment} bytes"
        elif tensor.offset < expected:
            fault = f"{name} overlaps the tensor before it"
        elif tensor.offset > expected:
            fault = f"there is a gap of {human_size(tensor.offset - expected)} before {name}"
        else:
            fault = ""
        kind = re.sub(r"'.*?'|\d+", "", fault)
        if fault and kind not in found:
            found.add(kind)
            yield fault
        end = tensor.offset + (tensor.size or 0)
        expected = -(-end // header.alignment) * header.alignment
    behind = header.file_size - header.data_start - expected
    if header.tensors and behind > _SLACK:
        yield f"{human_size(behind)} lie behind its last tensor"


def missing_blocks(header: Header, facts: FileFacts) -> list[int]:
    """Blocks of the model itself that have no tensor at all; [] for files that are no whole model."""
    if facts.role != "chat":
        return []
    there = {int(match[1]) for name in header.tensors if (match := re.match(r"blk\.(\d{1,6})\.", name))}
    return [block for block in range(min(facts.trunk, 1 << 16)) if block not in there]


def known_checksum(path: Path) -> Checksum | None:
    """The SHA-256 that belongs to this file: from FILE.sha256 beside it, or from the record of the Hugging Face hub.

    In the hub's cache a file is a link to a blob that is named by its SHA-256; in a folder that was downloaded to,
    .cache/huggingface/download keeps it.
    """
    for beside in (path.with_name(path.name + ".sha256"), path.with_suffix(".sha256")):
        digest = _digest_for(path.name, _text(beside))
        if digest:
            return Checksum(digest, beside.name)
    target = path.resolve()
    if target.parent.name == "blobs" and re.fullmatch(_SHA256, target.name):
        return Checksum(target.name.lower(), "the Hugging Face cache")
    lines = _text(path.parent / ".cache" / "huggingface" / "download" / f"{path.name}.metadata").splitlines()
    if len(lines) >= 2 and re.fullmatch(_SHA256, lines[1].strip()):
        return Checksum(lines[1].strip().lower(), "the Hugging Face record")
    return None


def sha256_of(path: Path, progress: Callable[[int], None]) -> str:
    """Digest of a whole file. `progress` is told how many bytes are done. Raises ModelNotFound or ModelUnreadable."""
    digest, done = hashlib.sha256(), 0
    with open_model(path) as file:
        try:
            while piece := file.read(_PIECE):
                digest.update(piece)
                done += len(piece)
                progress(done)
        except OSError as error:
            raise ModelUnreadable(
                f"{path.name} cannot be read after {human_size(done)}: {error.strerror}.", hint="Check the disk."
            ) from error
    return digest.hexdigest()


def _digest_for(name: str, text: str) -> str:
    """The digest in a checksum file: on the line that names the file, else the only one there is."""
    lines = [line for line in text.splitlines() if _SHA256.search(line)]
    named = [line for line in lines if line.split()[-1].lstrip("*").rpartition("/")[2] == name]
    line = named[0] if named else lines[0] if len(lines) == 1 and len(lines[0].split()) == 1 else ""
    match = _SHA256.search(line)
    return match[0].lower() if match else ""


def _text(path: Path) -> str:
    """A small text file; "" when there is none that could be read."""
    try:
        if not path.is_file() or path.stat().st_size > _SLACK:
            return ""
        return path.read_text("utf-8", errors="replace")
    except OSError:
        return ""
