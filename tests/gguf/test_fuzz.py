"""Whatever is in a file: facts or a sentence of ours, soon, without much memory, and nothing that a terminal obeys."""

from __future__ import annotations

import io
import json
import os
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from mtpchat.backend.llama.build import Build
from mtpchat.cli_inspect import show
from mtpchat.config import Config
from mtpchat.doctor.model_files import Subject, look_at_files
from mtpchat.errors import MtpChatError
from mtpchat.gguf.facts import read_model, require_chat
from mtpchat.gguf.pairing import classify_drafter
from mtpchat.inspection import as_object, inspect_file
from tests.gguf.draft import sound
from tests.gguf.mutations import damaged_model, mutant
from tests.models import TinyModel

BUILD = Build(version="1", features=("AVX2",))
MUTANTS, PIECES = 800, 4
LONGEST_S = 5.0
MOST_BYTES = 64 << 20


def sentence_of(error: MtpChatError) -> str:
    """What an error says, which must be fit to be shown."""
    assert error.message
    assert error.hint
    assert len(error.message) < 400
    assert error.message.isprintable()
    return error.message


def examine(path: Path, main: Path) -> str:
    """Everything that is done to a file before it is loaded. Returns "" or the sentence that refused it."""
    try:
        one = inspect_file(path, BUILD)
        header = read_model(path)
        json.dumps(as_object(one))
        found = look_at_files(
            Subject((path, main), Config(), BUILD, True, path.parent), lambda _path, _done, _size: None
        )
        assert all(finding.text and (finding.remedy or finding.level == "fact") for finding in found)
        for act in (lambda: require_chat(one.facts), lambda: classify_drafter(read_model(main), header)):
            try:
                act()
            except MtpChatError as error:
                sentence_of(error)
    except MtpChatError as error:
        return sentence_of(error)
    painted = io.StringIO()
    show([one], painted)
    assert painted.getvalue().replace("\n", "").isprintable()
    return ""


def with_memory(root: Path) -> None:
    """Let the machine look as if it had a little memory, so that plans are held against it."""
    (root / "proc").mkdir()
    (root / "proc/meminfo").write_text("MemTotal: 2000 kB\nMemAvailable: 1000 kB\n")


@pytest.fixture(scope="module")
def main_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("main") / "main.gguf"
    path.write_bytes(sound(0).write())
    return path


@pytest.mark.parametrize("number", range(5))
def test_what_is_spoiled_was_sound_before(tmp_path: Path, main_file: Path, number: int) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(sound(number).write())
    assert examine(path, main_file) == ""


@pytest.mark.parametrize("piece", range(PIECES))
def test_damaged_files_give_facts_or_a_sentence_soon(tmp_path: Path, main_file: Path, piece: int) -> None:
    path = tmp_path / "model.gguf"
    with_memory(tmp_path)
    refused = 0
    for number in range(piece, MUTANTS, PIECES):
        path.write_bytes(mutant(number))
        begun = time.thread_time()
        try:
            refused += bool(examine(path, main_file))
        except Exception as error:
            raise AssertionError(f"mutant({number}) ends in {error!r}") from error
        assert time.thread_time() - begun < LONGEST_S, number
    whole = MUTANTS // PIECES
    assert whole * 0.3 < refused < whole * 0.95


def test_damaged_files_take_little_memory(tmp_path: Path, main_file: Path) -> None:
    path = tmp_path / "model.gguf"
    with_memory(tmp_path)
    peaks = {}
    tracemalloc.start()
    try:
        for number in range(0, MUTANTS, 7):
            path.write_bytes(mutant(number))
            tracemalloc.reset_peak()
            examine(path, main_file)
            peaks[number] = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert {number: peak for number, peak in peaks.items() if peak > MOST_BYTES} == {}


def test_a_mutant_is_the_same_each_time() -> None:
    assert [mutant(number) for number in range(50)] == [mutant(number) for number in range(50)]


def test_what_is_no_file_is_refused_as_such(tmp_path: Path, main_file: Path) -> None:
    assert "folder" in examine(tmp_path, main_file)
    assert "no file" in examine(tmp_path / "missing.gguf", main_file)
    assert "too long" in examine(tmp_path / ("x" * 300), main_file)
    (tmp_path / "loop.gguf").symlink_to(tmp_path / "loop.gguf")
    assert "loop.gguf" in examine(tmp_path / "loop.gguf", main_file)
    (tmp_path / "empty.gguf").touch()
    assert "is empty" in examine(tmp_path / "empty.gguf", main_file)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_refused_instead_of_waited_for(tmp_path: Path, main_file: Path) -> None:
    os.mkfifo(tmp_path / "pipe.gguf")
    assert "ordinary" in examine(tmp_path / "pipe.gguf", main_file)


def test_a_device_is_refused(main_file: Path) -> None:
    assert "ordinary" in examine(Path(os.devnull), main_file)


def test_models_damaged_under_the_surface_give_facts_or_a_sentence(
    tmp_path: Path, main_file: Path, hybrid: Callable[[float], TinyModel], gemma: TinyModel, eagle3_hybrid: TinyModel
) -> None:
    path = tmp_path / "model.gguf"
    with_memory(tmp_path)
    models = (hybrid(0.7), gemma, eagle3_hybrid)
    for number in range(120):
        path.write_bytes(damaged_model(models[number % 3].path, number))
        try:
            examine(path, main_file)
        except Exception as error:
            raise AssertionError(f"damaged_model({number % 3}, {number}) ends in {error!r}") from error
