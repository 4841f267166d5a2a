"""Files that can be read and not be loaded; checksums of others."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

from mtpchat.gguf.facts import facts_of, read_model
from mtpchat.gguf.integrity import faults_of, known_checksum, missing_blocks, sha256_of
from tests.gguf.draft import Draft, sound
from tests.models import TinyModel


def moved(draft: Draft, by: int) -> None:
    name, shape, kind, offset = draft.tensors[1]
    draft.tensors[1] = (name, shape, kind, offset + by)


def retyped(draft: Draft, kind: int) -> None:
    name, shape, _, offset = draft.tensors[1]
    draft.tensors[1] = (name, shape, kind, offset)


def padded(draft: Draft) -> None:
    draft.data += bytes(2 << 20)


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda draft: moved(draft, -32), "overlaps"),
        (lambda draft: moved(draft, 32), "a gap of 32 bytes"),
        (lambda draft: moved(draft, 4), "multiple of 32"),
        (lambda draft: retyped(draft, 2), "does not divide into blocks"),
        (lambda draft: retyped(draft, 4096), "type 4096"),
        (padded, "2.1 MB lie behind"),
    ],
)
def test_tensors_out_of_order_are_told_with_the_first_of_each_kind(
    tmp_path: Path, spoil: Callable[[Draft], None], says: str
) -> None:
    draft = sound(1)
    path = tmp_path / "model.gguf"
    path.write_bytes(draft.write())
    assert list(faults_of(read_model(path))) == []
    spoil(draft)
    path.write_bytes(draft.write())
    assert says in " ".join(faults_of(read_model(path)))


def test_the_models_of_the_tests_are_in_order(hybrid_head: TinyModel, gemma: TinyModel, chained: TinyModel) -> None:
    for model in (hybrid_head, gemma, chained):
        header = read_model(model.path)
        assert list(faults_of(header)) == []
        assert missing_blocks(header, facts_of(header)) == []


def test_blocks_without_tensors_are_counted(tmp_path: Path) -> None:
    draft = sound(0)
    draft.tensors = [one for one in draft.tensors if not one[0].startswith(b"blk.2.")]
    path = tmp_path / "model.gguf"
    path.write_bytes(draft.write())
    header = read_model(path)
    assert missing_blocks(header, facts_of(header)) == [2]


DIGEST = hashlib.sha256(b"content").hexdigest()


@pytest.mark.parametrize(
    "line",
    [DIGEST, DIGEST.upper() + "\n", f"{DIGEST}  model.gguf\n", f"{'0' * 64} *other.gguf\n{DIGEST} *model.gguf\n"],
)
def test_a_checksum_beside_the_file_is_found(tmp_path: Path, line: str) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(b"content")
    (tmp_path / "model.gguf.sha256").write_text(line)
    known = known_checksum(path)
    assert known is not None
    assert (known.digest, known.source) == (DIGEST, "model.gguf.sha256")
    done: list[int] = []
    assert sha256_of(path, done.append) == DIGEST
    assert done == [7]


def test_a_checksum_of_another_file_is_not_taken_for_this_one(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(b"content")
    for text in (f"{DIGEST}  other.gguf\n", "", "no digest here", "é\x00"):
        (tmp_path / "model.gguf.sha256").write_text(text)
        assert known_checksum(path) is None


def test_the_records_of_the_hub_are_known(tmp_path: Path) -> None:
    blob = tmp_path / "blobs" / DIGEST
    blob.parent.mkdir()
    blob.write_bytes(b"content")
    linked = tmp_path / "model.gguf"
    linked.symlink_to(blob)
    known = known_checksum(linked)
    assert known is not None
    assert (known.digest, known.source) == (DIGEST, "the Hugging Face cache")

    folder = tmp_path / "downloads"
    record = folder / ".cache" / "huggingface" / "download" / "model.gguf.metadata"
    record.parent.mkdir(parents=True)
    record.write_text(f"{'a' * 40}\n{DIGEST}\n1700000000.0\n")
    (folder / "model.gguf").write_bytes(b"content")
    known = known_checksum(folder / "model.gguf")
    assert known is not None
    assert (known.digest, known.source) == (DIGEST, "the Hugging Face record")
    record.write_text(f"{'a' * 40}\n{'b' * 40}\n1700000000.0\n")
    assert known_checksum(folder / "model.gguf") is None
