"""Models in several files: all of them, in order, of one download."""

from __future__ import annotations

from pathlib import Path

import pytest

from mtpchat.backend.llama.build import Build
from mtpchat.errors import ModelNotFound, ModelUnreadable
from mtpchat.gguf.facts import facts_of, read_model
from mtpchat.gguf.shards import first_shard
from mtpchat.inspection import inspect_file
from tests.gguf.draft import I32, STRING, U16, Draft


def write(folder: Path, number: int, of: int = 3, *, says: tuple[int, int] | None = None, tensors: int = 3) -> Path:
    """Part `number` (from 1); `says` is what it tells of itself."""
    no, count = says or (number - 1, of)
    draft = Draft("llama")
    draft.set("general.architecture", STRING, "llama")
    draft.set("llama.block_count", U16, 3)
    draft.set("split.no", U16, no)
    draft.set("split.count", U16, count)
    draft.set("split.tensors.count", I32, tensors)
    draft.tensor(f"blk.{number - 1}.attn_norm.weight", 8)
    path = folder / f"big-{number:05d}-of-{of:05d}.gguf"
    path.write_bytes(draft.write())
    return path


@pytest.fixture
def parts(tmp_path: Path) -> list[Path]:
    return [write(tmp_path, number) for number in (1, 2, 3)]


def test_all_parts_are_one_model(parts: list[Path]) -> None:
    header = read_model(parts[0])
    assert [(one.path, one.size, one.tensors) for one in header.shards] == [
        (part, part.stat().st_size, 1) for part in parts
    ]
    assert header.size == sum(part.stat().st_size for part in parts)
    assert (facts_of(header).parts, len(header.tensors)) == (3, 3)


def test_any_part_leads_to_the_first(parts: list[Path], tmp_path: Path) -> None:
    assert [first_shard(part) for part in parts] == [parts[0]] * 3
    assert first_shard(tmp_path / "whole.gguf") == tmp_path / "whole.gguf"


def test_any_part_is_inspected_as_the_whole(parts: list[Path]) -> None:
    for part in parts:
        assert "3 shards" in inspect_file(part, Build(version="1")).title
    parts[0].unlink()
    with pytest.raises(ModelNotFound, match=r"00001-of-00003\.gguf is missing: it is part 1 of 3"):
        inspect_file(parts[1], Build(version="1"))


def test_missing_parts_are_named_and_counted(parts: list[Path]) -> None:
    parts[2].unlink()
    with pytest.raises(ModelNotFound, match=r"big-00003-of-00003\.gguf is missing: it is part 3 of 3 of the model\."):
        read_model(parts[0])
    parts[1].unlink()
    with pytest.raises(ModelNotFound, match=r"big-00002-of-00003\.gguf is missing.*, and so is part 3\."):
        read_model(parts[0])


def test_a_part_cut_short_is_named(parts: list[Path]) -> None:
    parts[1].write_bytes(parts[1].read_bytes()[:-8])
    with pytest.raises(ModelUnreadable, match=r"big-00002-of-00003\.gguf .*incomplete"):
        read_model(parts[0])


@pytest.mark.parametrize("says", [(2, 3), (1, 4), (0, 1)])
def test_a_part_of_something_else_is_refused(parts: list[Path], says: tuple[int, int]) -> None:
    write(parts[0].parent, 2, says=says)
    with pytest.raises(ModelUnreadable, match="says of itself"):
        read_model(parts[0])


def test_a_tensor_in_two_parts_is_refused(parts: list[Path]) -> None:
    parts[1].write_bytes(
        parts[2].read_bytes().replace(b"split.no" + b"\x02\x00\x00\x00\x02", b"split.no" + b"\x02\x00\x00\x00\x01")
    )
    with pytest.raises(ModelUnreadable, match="which an earlier part has"):
        read_model(parts[0])


def test_too_few_tensors_in_all_are_refused(tmp_path: Path) -> None:
    parts = [write(tmp_path, number, tensors=4) for number in (1, 2, 3)]
    with pytest.raises(ModelUnreadable, match="3 tensors instead of 4"):
        read_model(parts[0])
