"""Files of any kind, damaged in any way: what is in them, or a sentence. Never anything else, and soon."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mtpchat.attachments.walk import walk
from mtpchat.errors import MtpChatError
from tests.hostile.readers import READERS, Reader
from tests.hostile.spoiling import spoiled

LONGEST_S = 5.0
every_reader = pytest.mark.parametrize("reader", READERS, ids=[one.name for one in READERS])


def refusal(reader: Reader, folder: Path, data: bytes) -> str:
    """What is said against a file, "" if it is read."""
    path = folder / reader.place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    try:
        reader.read(folder)
    except MtpChatError as error:
        return error.message or "no words"
    return ""


@every_reader
def test_sound_files_are_read(reader: Reader, tmp_path: Path) -> None:
    for good in reader.good:
        assert refusal(reader, tmp_path, good) == ""


@every_reader
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(number=st.integers(0, 1 << 32))
def test_damaged_files_are_read_or_refused_in_words_and_soon(reader: Reader, tmp_path: Path, number: int) -> None:
    began = time.thread_time()
    words = refusal(reader, tmp_path, spoiled(reader.good[number % len(reader.good)], number))
    assert time.thread_time() - began < LONGEST_S
    assert words != "no words"
    assert len(words) < 2000
    assert "\x1b" not in words


DEEP = b'{"other": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"


@pytest.mark.parametrize("name", ["history", "lessons", "use", "draft", "unsaved", "schema", "export"])
def test_a_value_nested_without_end_is_a_damaged_file(name: str, tmp_path: Path) -> None:
    refusal(next(one for one in READERS if one.name == name), tmp_path, DEEP)


def test_patterns_that_are_none_do_not_cost_the_others(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("*.pyc\n[z-a]\n[a--b]\n[[a]\n/built\n")
    for name in ("one.py", "one.pyc", "built"):
        (tmp_path / name).touch()
    assert {one.path for one in walk(tmp_path).entries} & {"one.py", "one.pyc", "built"} == {"one.py"}


@pytest.mark.parametrize(
    "busy", ["*" * 80 + "/x", "**" * 40, "a" + "*a" * 20 + "b", "**/" * 60 + "x", "!**/**/**/**/**/**/x", "*?" * 30]
)
def test_patterns_that_would_keep_an_expression_busy_are_passed_over(busy: str, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text(f"*.pyc\n{busy}\n/built\n**/gone/**\n")
    long = tmp_path.joinpath(*["a" * 40] * 12)
    long.mkdir(parents=True)
    (tmp_path / "gone").mkdir()
    for name in ("one.py", "one.pyc", "built", "gone/x.py"):
        (tmp_path / name).touch()
    (long / ("a" * 60 + "c")).touch()
    began = time.thread_time()
    found = {one.path for one in walk(tmp_path).entries}
    assert time.thread_time() - began < LONGEST_S
    assert found & {"one.py", "one.pyc", "built", "gone/x.py"} == {"one.py"}


def test_a_history_of_millions_of_empty_lines_keeps_nobody_waiting(tmp_path: Path) -> None:
    reader = next(one for one in READERS if one.name == "history")
    began = time.thread_time()
    refusal(reader, tmp_path, b'"one"\n' + b"\n" * 4_000_000 + b"{\n" * 500_000 + b'"two"\n')
    assert time.thread_time() - began < LONGEST_S
