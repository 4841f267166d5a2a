"""What is told of a run that ended without a goodbye, and nothing of those that ended in order."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtpchat.cli_last_run import begin_run
from mtpchat.config import Config, ModelConfig, SpeculativeConfig
from mtpchat.last_run import Death, RunRecord, take_deaths

ROOT = Path(__file__).resolve().parents[2]
DIES = """
import os, sys
from pathlib import Path
from mtpchat.last_run import RunRecord
record = RunRecord(Path(sys.argv[1]) if sys.argv[1] else None)
record.catch_signals()
if sys.argv[2]:
    record.uses(*sys.argv[2:5])
{end}
os.kill(os.getpid(), {signal})
"""


def die(folder: Path | str, *used: str, end: str = "", by: int = signal.SIGKILL) -> None:
    code = DIES.format(end=end, signal=int(by))
    arguments = [str(folder), *(used or ("", "", ""))]
    subprocess.run([sys.executable, "-c", code, *arguments], cwd=ROOT, check=False, timeout=30)


pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals are told apart on POSIX systems")


def test_a_killed_run_is_told_once_with_what_it_had_in_use(tmp_path: Path) -> None:
    die(tmp_path, "/m/model.gguf", "/m/head.gguf", "mtp")
    (death,) = take_deaths(tmp_path)
    assert death == Death(
        "/m/model.gguf", "/m/head.gguf", "mtp", "it was killed, perhaps because memory ran out", "", False
    )
    assert take_deaths(tmp_path) == []


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("SIGABRT", "Aborted"),
        ("SIGSEGV", "Segmentation fault"),
        ("SIGFPE", "Floating point exception"),
        ("SIGBUS", "Bus error; perhaps a file in use"),
        ("SIGILL", "Illegal instruction; perhaps llama.cpp was built for"),
    ],
)
def test_a_fatal_signal_is_named_and_where_it_struck_is_kept(tmp_path: Path, name: str, words: str) -> None:
    die(tmp_path, by=getattr(signal, name))
    (death,) = take_deaths(tmp_path)
    assert death.reason.startswith(f"native code failed ({words}")
    assert 'File "<string>"' in death.words


def test_what_the_library_said_last_is_the_reason(tmp_path: Path) -> None:
    die(tmp_path, end="record.say('ggml.c:1: \\x1b[2J\\n ASSERT(é) failed')", by=signal.SIGABRT)
    (death,) = take_deaths(tmp_path)
    assert death.reason == "llama.cpp gave up (ggml.c:1: \\u001b[2J ASSERT(\\\\xe9) failed)"


@pytest.mark.parametrize("end", ["record.close()", "record.close(); record.close()"])
def test_an_orderly_end_leaves_no_file(tmp_path: Path, end: str) -> None:
    die(tmp_path, end=end)
    assert list(tmp_path.iterdir()) == []
    assert take_deaths(tmp_path) == []


def test_a_run_that_lives_is_left_alone(tmp_path: Path) -> None:
    record = RunRecord(tmp_path)
    record.uses("/m/model.gguf", "", "ngram")
    assert take_deaths(tmp_path) == []
    assert record.path is not None
    assert record.path.exists()
    record.close()
    assert list(tmp_path.iterdir()) == []


def test_a_model_that_was_closed_is_not_blamed(tmp_path: Path) -> None:
    die(tmp_path, end="record.uses('/m/model.gguf', '', 'ngram').close()")
    (death,) = take_deaths(tmp_path)
    assert (death.model, death.kind) == ("", "")


def test_a_place_that_cannot_be_written_costs_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    record = RunRecord(tmp_path / "file" / "running")
    assert record.path is None
    record.catch_signals()
    record.uses("a", "b", "mtp").close()
    record.say("never")
    record.close()
    assert not take_deaths(tmp_path / "file" / "running")


@given(st.binary(max_size=200))
def test_a_damaged_record_is_tidied_up(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    folder = tmp_path_factory.mktemp("running")
    (folder / "1.run").write_bytes(data)
    assert all(death.reason.isprintable() for death in take_deaths(folder))
    assert not data or not list(folder.iterdir())


def beginning(config: Config, *, resumes: bool = False) -> tuple[str, str]:
    begun = begin_run(config, resumes=resumes)
    begun.record.close()
    return begun.config.speculative.mode, begun.sentence


def config(model: str, **speculative: str) -> Config:
    return Config(model=ModelConfig(path=model), speculative=SpeculativeConfig(**speculative))  # type: ignore[arg-type]


def test_the_next_start_with_the_same_files_begins_with_speculation_off() -> None:
    die("", "/m/a.gguf", "/m/h.gguf", "mtp")
    mode, sentence = beginning(config("/m/a.gguf"))
    assert mode == "off"
    assert sentence == (
        "The last run ended abruptly with a.gguf and h.gguf in use: it was killed, perhaps because memory ran out."
        " Speculation is off to begin with; /mtp auto switches it on. /chats 1 goes on with the chat."
    )
    assert beginning(config("/m/a.gguf")) == ("auto", "")


@pytest.mark.parametrize(
    "other",
    [
        config("/m/b.gguf"),
        config("/m/a.gguf", drafter="/m/other.gguf"),
        config("/m/a.gguf", kind="ngram"),
        config("/m/a.gguf", after_crash="keep"),
    ],
)
def test_other_files_and_those_who_wish_it_keep_speculation(other: Config) -> None:
    die("", "/m/a.gguf", "/m/h.gguf", "mtp")
    mode, sentence = beginning(other, resumes=True)
    assert mode == "auto"
    assert sentence.startswith("The last run ended abruptly with a.gguf and h.gguf in use")
    assert "/mtp" not in sentence
    assert "/chats" not in sentence
