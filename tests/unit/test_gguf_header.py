"""Headers: whatever bytes lie on the disk, reading them ends in a header or in an error that a person can use."""

from __future__ import annotations

import os
import struct
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from gguf import GGUFWriter
from gguf.constants import GGML_QUANT_SIZES
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mtpchat.errors import ModelNotFound, ModelUnreadable
from mtpchat.gguf.cursor import CHUNK, human_size
from mtpchat.gguf.header import MAX_STRINGS, read_header
from mtpchat.gguf.quantization import BLOCKS, tensor_bytes
from tests.models import STANDARD, TinyModel

reuses_tmp_path = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


def packed(text: str) -> bytes:
    raw = text.encode()
    return struct.pack("<Q", len(raw)) + raw


def opening(version: int = 3, tensors: int = 0, pairs: int = 0) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", version, tensors, pairs)


def pair(key: str, kind: int, value: bytes) -> bytes:
    return packed(key) + struct.pack("<I", kind) + value


def why_unreadable(path: Path) -> ModelUnreadable | None:
    """Read everything that can be read."""
    try:
        header = read_header(path)
        for key in header.arrays:
            header.strings(key)
            header.numbers(key)
    except ModelUnreadable as error:
        return error
    return None


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A small complete file with every kind of content."""
    path = tmp_path_factory.mktemp("small") / "small.gguf"
    writer = GGUFWriter(path, "llama")
    writer.add_name("small")
    writer.add_block_count(2)
    writer.add_float32("llama.rope.freq_base", 1e4)
    writer.add_add_bos_token(True)
    writer.add_token_list(["a", "bb", "ccc"])
    writer.add_token_types([1, 1, 3])
    writer.add_tensor("token_embd.weight", np.ones((3, 8), np.float32))
    writer.add_tensor("output_norm.weight", np.ones(8, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path.read_bytes()


@pytest.fixture
def file(tmp_path: Path) -> Callable[[bytes], Path]:
    def write(content: bytes) -> Path:
        path = tmp_path / "model.gguf"
        path.write_bytes(content)
        return path

    return write


def test_a_real_file_is_read_as_it_was_written(hybrid_head: TinyModel) -> None:
    header = read_header(hybrid_head.path)
    assert header.text("general.architecture") == "qwen35"
    assert header.integer("qwen35.nextn_predict_layers") == 1
    assert header.flag("tokenizer.ggml.add_bos_token", True) is False
    assert [text.decode() for text in header.strings("tokenizer.ggml.tokens")] == list(STANDARD.tokens)
    assert header.numbers("qwen35.rope.dimension_sections") == [6, 5, 5, 0]
    assert header.tensors["token_embd.weight"].shape == (128, STANDARD.size)
    assert header.size == hybrid_head.path.stat().st_size


def test_values_of_another_type_count_as_missing(small: bytes, file: Callable[[bytes], Path]) -> None:
    header = read_header(file(small))
    assert header.text("llama.block_count") == ""
    assert header.integer("general.name") is None
    assert header.integer("tokenizer.ggml.add_bos_token") is None
    assert header.flag("llama.block_count", True) is True
    assert header.strings("tokenizer.ggml.token_type") == []
    assert header.numbers("tokenizer.ggml.tokens") == []


@reuses_tmp_path
@given(data=st.data())
def test_every_truncation_is_called_an_incomplete_download(
    small: bytes, file: Callable[[bytes], Path], data: st.DataObject
) -> None:
    length = data.draw(st.integers(4, len(small) - 1))
    path = file(small[:length])
    with pytest.raises(ModelUnreadable, match=r"^model\.gguf .*download is incomplete") as caught:
        read_header(path)
    assert caught.value.hint


@reuses_tmp_path
@given(place=st.integers(0, 2**32), value=st.binary(min_size=1, max_size=8))
def test_changed_bytes_give_a_header_or_a_readable_error_and_cost_no_memory(
    small: bytes, file: Callable[[bytes], Path], place: int, value: bytes
) -> None:
    at = place % len(small)
    path = file(small[:at] + value + small[at + len(value) :])
    tracemalloc.start()
    refusal = why_unreadable(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 * CHUNK
    assert refusal is None or (refusal.message.startswith("model.gguf ") and refusal.hint)


@reuses_tmp_path
@given(garbage=st.binary(max_size=200))
def test_garbage_is_refused_with_the_name_of_the_file(file: Callable[[bytes], Path], garbage: bytes) -> None:
    for content in (garbage, b"GGUF" + garbage, opening(pairs=3) + garbage):
        path = file(content)
        with pytest.raises(ModelUnreadable, match=r"^model\.gguf "):
            read_header(path)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "is empty"),
        (b"version https://git-lfs.github.com/spec/v1\n", "Git LFS pointer"),
        (b"<!DOCTYPE html><html>", "web page"),
        (b"PK\x03\x04 and so on", "PyTorch"),
        (b"\x40\0\0\0\0\0\0\0" + b'{"w": {"dtype": "F16"}}', "safetensors"),
        (b"lmgg" + bytes(40), "before GGUF"),
        (b"GGUF" + struct.pack(">IQQ", 3, 0, 0), "big-endian"),
        (opening(version=1), "version 1, older"),
        (opening(version=4), "version 4, newer"),
        (opening(tensors=2**63), "is damaged"),
        (opening(pairs=2**40), "is damaged"),
        (opening(pairs=1) + struct.pack("<Q", 2**62), "incomplete"),
        (opening(pairs=1) + pair("x", 9, struct.pack("<IQ", 9, 1)), "list of lists"),
        (opening(pairs=1) + pair("x", 99, b"1234"), "unknown type 99"),
        (opening(pairs=1) + pair("x", 9, struct.pack("<IQ", 4, 2**61)), "incomplete"),
        (opening(pairs=1) + pair("x", 9, struct.pack("<IQ", 8, 2**61)), "claims"),
        (opening(pairs=2) + 2 * pair("x", 4, b"1234"), "comes twice"),
        (opening(pairs=1) + pair("general.alignment", 4, struct.pack("<I", 3)), "alignment"),
        (opening(pairs=1) + pair("general.alignment", 4, bytes(4)), "alignment"),
        (opening(tensors=1) + packed("t") + struct.pack("<I", 2**31), "makes no sense"),
        (opening(tensors=1) + packed("t") + struct.pack("<IQQIQ", 2, 2**40, 2**40, 0, 0), "impossibly large"),
        (opening(tensors=1) + packed("t") + struct.pack("<IQIQ", 1, 1, 0, 2**62), "outside any file"),
        (opening(tensors=1) + packed("t" * 64) + bytes(24), "claims a text"),
    ],
)
def test_each_kind_of_damage_has_its_sentence(file: Callable[[bytes], Path], content: bytes, says: str) -> None:
    path = file(content)
    with pytest.raises(ModelUnreadable, match=says):
        read_header(path)


def test_a_partial_download_says_how_much_is_there(file: Callable[[bytes], Path]) -> None:
    rows = 4_600_000_000 // 34 // 1000
    body = opening(tensors=1) + packed("t") + struct.pack("<IQQIQ", 2, 32_000, rows, 8, 0)
    with file(body).open("r+b") as sparse:
        sparse.truncate(1_200_000_000)
    with pytest.raises(ModelUnreadable, match=r"is 1\.2 GB, its header describes 4\.6 GB: the download is incomplete"):
        read_header(sparse.name)


def test_a_list_that_is_too_long_is_refused_without_walking_it(file: Callable[[bytes], Path]) -> None:
    body = opening(pairs=1) + pair("x", 9, struct.pack("<IQ", 8, MAX_STRINGS + 1))
    with file(body).open("r+b") as sparse:
        sparse.truncate(1 << 30)
    with pytest.raises(ModelUnreadable, match="claims"):
        read_header(sparse.name)


def test_lists_longer_than_the_window_are_stepped_over(file: Callable[[bytes], Path]) -> None:
    words = [f"word {index} " * (index % 7) for index in range(60_000)]
    listed = struct.pack("<IQ", 8, len(words)) + b"".join(map(packed, words))
    path = file(opening(pairs=2) + pair("x", 9, listed) + pair("after", 4, struct.pack("<I", 77)))
    assert path.stat().st_size > 2 * CHUNK
    header = read_header(path)
    assert header.integer("after") == 77
    assert header.strings("x") == [word.encode() for word in words]


def test_what_is_no_file_is_said_to_be_so(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFound, match=r"missing\.gguf"):
        read_header(tmp_path / "missing.gguf")
    with pytest.raises(ModelNotFound):
        read_header("nul\0byte")
    with pytest.raises(ModelUnreadable, match="folder"):
        read_header(tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_refused_instead_of_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.gguf")
    with pytest.raises(ModelUnreadable, match="ordinary"):
        read_header(tmp_path / "pipe.gguf")


@pytest.mark.usefixtures("permissions_hold")
def test_a_forbidden_file_says_so(file: Callable[[bytes], Path], small: bytes) -> None:
    path = file(small)
    path.chmod(0)
    with pytest.raises(ModelUnreadable, match="may not be read"):
        read_header(path)


def test_block_sizes_agree_with_the_reference() -> None:
    reference = {int(kind): sizes for kind, sizes in GGML_QUANT_SIZES.items()}
    ours = {kind: (elements, size) for kind, (_, elements, size) in BLOCKS.items()}
    assert ours.items() >= reference.items()


def test_tensors_of_unknown_types_have_no_size() -> None:
    assert tensor_bytes(4096, (32, 2)) is None
    assert tensor_bytes(8, (64, 3)) == 2 * 34 * 3


@given(st.integers(0, 10**18))
def test_sizes_are_short(size: int) -> None:
    assert len(human_size(size)) <= 9
