"""What was read once is not read again unless the file has changed; nothing in the memory's own file can do harm."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtpchat.shelf.index import Index, PairVerdict
from mtpchat.shelf.last_use import LastUse
from mtpchat.shelf.record import FileRecord, read_record
from tests.shelf.trees import write_heads, write_model


class Reader:
    """Reads files and counts them."""

    def __init__(self) -> None:
        self.paths: list[Path] = []

    def __call__(self, path: Path) -> FileRecord:
        self.paths.append(path)
        return read_record(path)


def again(index: Index) -> tuple[Index, Reader]:
    """The index of the next run."""
    index.save()
    reader = Reader()
    return Index(index.path, reader), reader


@pytest.fixture
def index(tmp_path: Path) -> Index:
    return Index(tmp_path / "index.json")


def test_a_second_listing_opens_no_file(tmp_path: Path, index: Index) -> None:
    files = [write_model(tmp_path / f"{number}.gguf", f"Model {number}") for number in range(20)]
    first = [index.record(path) for path in files]
    later, reader = again(index)
    assert [later.record(path) for path in files] == first
    assert all(later.knows(path) for path in files)
    assert reader.paths == []


def test_a_file_that_has_changed_is_read_again(tmp_path: Path, index: Index) -> None:
    path = write_model(tmp_path / "a.gguf", "Before")
    assert index.record(path).title == "Before"
    later, reader = again(index)
    write_model(path, "After that")
    assert later.record(path).title == "After that"
    stamp = path.stat()
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns + 10))
    later.record(path)
    assert reader.paths == [path, path]


def test_files_that_cannot_be_read_are_remembered_with_the_reason(tmp_path: Path, index: Index) -> None:
    path = tmp_path / "bad.gguf"
    path.write_bytes(b"nothing of the kind")
    assert "is not a GGUF file" in index.record(path).trouble
    later, reader = again(index)
    assert later.record(path).kind == "broken"
    assert reader.paths == []


def test_a_missing_part_is_looked_for_again_each_time(tmp_path: Path, index: Index) -> None:
    whole = write_model(tmp_path / "whole.gguf")
    first = tmp_path / "m-00001-of-00002.gguf"
    shutil.copy(whole, first)
    record = index.record(first)
    assert record.kind == "model"
    two_parts = Index(tmp_path / "other.json", lambda _path: FileRecord(role="chat", parts=2))
    two_parts.record(first)
    calls = Reader()
    two_parts.read = calls
    two_parts.record(first)
    assert calls.paths == [first]
    shutil.copy(whole, tmp_path / "m-00002-of-00002.gguf")
    two_parts.read = lambda _path: FileRecord(role="chat", parts=2)
    two_parts.record(first)
    two_parts.read = calls
    two_parts.record(first)
    assert calls.paths == [first]


def test_verdicts_about_pairs_hold_until_one_of_the_files_changes(tmp_path: Path, index: Index) -> None:
    main, head = write_model(tmp_path / "a.gguf"), write_heads(tmp_path / "mtp-a.gguf")
    asked: list[str] = []

    def judge() -> PairVerdict:
        asked.append("once more")
        return PairVerdict("mtp", doubts=("odd",))

    assert index.verdict(main, head, judge) == index.verdict(main, head, judge)
    later, _ = again(index)
    assert later.verdict(main, head, judge).doubts == ("odd",)
    assert len(asked) == 1
    write_heads(head, rows=99)
    later.verdict(main, head, judge)
    assert len(asked) == 2


def test_two_programs_do_not_forget_what_the_other_has_found_out(tmp_path: Path, index: Index) -> None:
    one, two = write_model(tmp_path / "1.gguf"), write_model(tmp_path / "2.gguf")
    second = Index(index.path)
    index.record(one)
    second.record(two)
    index.save()
    second.save()
    later, reader = again(second)
    assert later.record(one).kind == later.record(two).kind == "model"
    assert reader.paths == []


@given(content=st.one_of(st.binary(max_size=60), st.just(b'{"version":1,"files":{"/a":[1,2,{"role":"nonsense"}]}}')))
def test_a_memory_that_is_spoilt_is_as_good_as_none(content: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("spoilt")
    path = write_model(folder / "a.gguf")
    (folder / "index.json").write_bytes(content)
    index = Index(folder / "index.json")
    assert index.record(path).kind == "model"
    assert list(index.known_files()) == [(path, index.record(path))]


def test_a_memory_that_cannot_be_written_costs_nothing_but_time(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    index = Index(tmp_path / "file" / "index.json")
    path = write_model(tmp_path / "a.gguf")
    index.record(path)
    index.save()
    assert index.record(path).kind == "model"


def test_only_files_that_are_still_there_are_known(tmp_path: Path, index: Index) -> None:
    gone, here = write_model(tmp_path / "1.gguf"), write_model(tmp_path / "2.gguf")
    index.record(gone)
    index.record(here)
    gone.unlink()
    assert [path for path, _ in index.known_files()] == [here]


@pytest.mark.skipif(os.name == "nt", reason="such names cannot be there")
def test_names_that_are_no_unicode_are_read_each_time_and_do_not_spoil_the_memory(tmp_path: Path, index: Index) -> None:
    path = write_model(tmp_path / "a.gguf").rename(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.gguf"))
    plain = write_model(tmp_path / "b.gguf")
    assert index.record(path).kind == index.record(plain).kind == "model"
    later, reader = again(index)
    later.record(path)
    later.record(plain)
    assert reader.paths == [path]


def test_the_last_use_of_a_model_is_kept(tmp_path: Path) -> None:
    uses = LastUse(tmp_path / "state" / "models.json", clock=lambda: 1000.4)
    assert uses.all() == {}
    uses.note(str(tmp_path / "a.gguf"))
    uses.clock = lambda: 2000.0
    uses.note(str(tmp_path / "b.gguf"))
    assert LastUse(uses.path).all() == {str(tmp_path / "a.gguf"): 1000.0, str(tmp_path / "b.gguf"): 2000.0}


def test_uses_are_bounded_the_latest_first(tmp_path: Path) -> None:
    uses = LastUse(tmp_path / "models.json")
    uses.path.write_text("{" + ",".join(f'"/m{number}":1.0' for number in range(600)) + "}")
    uses.note("/new")
    assert len(uses.all()) == 500
    assert list(uses.all())[-1] == "/new"


@pytest.mark.parametrize("content", [b"", b"[]", b"\xff", b'{"a": "b"}'])
def test_a_spoilt_record_of_uses_is_begun_anew(tmp_path: Path, content: bytes) -> None:
    uses = LastUse(tmp_path / "models.json")
    uses.path.write_bytes(content)
    assert uses.all() == {}
    uses.note("/a")
    assert list(uses.all()) == ["/a"]
