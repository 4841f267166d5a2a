"""The first bytes of a file tell whether it has heads."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtpchat.gguf.header import read_header
from mtpchat.hub.peek import PREFIX, FileStart, read_start


def start_of(path: Path, size: int = PREFIX) -> FileStart:
    with path.open("rb") as file:
        found = read_start(file.read(size), path.name)
    assert found is not None
    return found


def test_start_agrees_with_the_whole_header(every_model: list[Path]) -> None:
    told = {True: 0, False: 0}
    for path in every_model:
        header, start = read_header(path), start_of(path)
        assert start.architecture == header.text("general.architecture")
        assert start.heads == (header.integer(f"{start.architecture}.nextn_predict_layers") or 0)
        assert start.tensors == len(header.tensors)
        told[bool(start.heads)] += 1
    assert all(told.values())


def test_a_start_that_ends_too_early_leaves_open_whether_there_are_heads(every_model: list[Path]) -> None:
    for path in every_model:
        whole, short = start_of(path), start_of(path, 80)
        assert short.heads is None
        assert short.tensors == whole.tensors


@given(st.binary(max_size=400))
def test_no_bytes_make_it_raise(data: bytes) -> None:
    for start in (data, b"GGUF\x03\0\0\0" + data, b"GGUF\x03\0\0\0" + (1).to_bytes(8, "little") * 2 + data):
        found = read_start(start, "x.gguf")
        assert found is None or found.heads is None or found.heads >= 0


@pytest.mark.parametrize("data", [b"", b"GGUF", b"<html>", b"GGUF\x09\0\0\0" + b"\0" * 16])
def test_what_is_no_gguf_is_nothing(data: bytes) -> None:
    assert read_start(data, "x.gguf") is None
