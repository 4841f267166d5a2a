"""`mtpchat doctor`: one verdict, what to mend, and files that are whole or are not."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from mtpchat import paths
from mtpchat.backend.llama.build import Build
from mtpchat.cli import main
from mtpchat.config import Config, ModelConfig
from mtpchat.doctor.finding import Finding
from mtpchat.doctor.model_files import Subject, look_at_files
from tests.gguf.draft import STRING, U32, sound
from tests.gguf.test_shards import write as write_part
from tests.models import TinyModel

MEMORY = "MemTotal: 16000000 kB\nMemAvailable: {} kB\n"


def look(
    *files: Path, root: Path, checksums: bool = False, free_kb: int = 8_000_000, mounts: str = "", **model: object
) -> list[Finding]:
    (root / "proc").mkdir(exist_ok=True)
    (root / "proc/meminfo").write_text(MEMORY.format(free_kb))
    (root / "proc/mounts").write_text(mounts)
    config = Config(model=msgspec.convert(model, ModelConfig))
    return look_at_files(Subject(files, config, Build(version="1"), checksums, root), lambda _path, _done, _size: None)


def said(findings: list[Finding], level: str) -> str:
    return "\n".join(f"{one.about}: {one.text} {one.remedy}" for one in findings if one.level == level)


def test_a_sound_model_and_its_draft_model_are_facts(
    dense_model: TinyModel, draft_model: TinyModel, tmp_path: Path
) -> None:
    found = look(dense_model.path, draft_model.path, root=tmp_path)
    assert said(found, "fault") == said(found, "advice") == ""
    assert "tensors in order" in said(found, "fact")
    assert "belongs to dense.gguf, as a draft model" in said(found, "fact")


def test_a_wrong_pair_is_a_fault(dense_model: TinyModel, foreign_draft: TinyModel, tmp_path: Path) -> None:
    found = look(dense_model.path, foreign_draft.path, root=tmp_path)
    assert "foreign.gguf" in said(found, "fault")


def test_a_file_that_cannot_be_read_is_a_fault_and_the_others_are_looked_at(
    dense_model: TinyModel, tmp_path: Path
) -> None:
    cut = tmp_path / "cut.gguf"
    cut.write_bytes(dense_model.path.read_bytes()[:-100])
    found = look(cut, tmp_path / "none.gguf", dense_model.path, root=tmp_path)
    assert "download is incomplete" in said(found, "fault")
    assert "no file" in said(found, "fault")
    assert "tensors in order" in said(found, "fact")


def test_what_llama_cpp_would_refuse_or_die_of_is_a_fault(tmp_path: Path) -> None:
    draft = sound(0)
    draft.list("tokenizer.ggml.tokens", STRING, ["a", "a"])
    draft.set("qwen35.block_count", U32, 7)
    name, shape, kind, _ = draft.tensors[2]
    draft.tensors[2] = (name, shape, kind, 0)
    path = tmp_path / "model.gguf"
    path.write_bytes(draft.write())
    faults = said(look(path, root=tmp_path), "fault")
    assert "two tokens 'a'" in faults
    assert "overlaps" in faults
    assert "Blocks without any tensor: 5 of 6" in faults


def test_checksums_are_compared_only_when_asked_for(dense_model: TinyModel, tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    shutil.copy(dense_model.path, path)
    beside = tmp_path / "model.gguf.sha256"
    beside.write_text("0" * 64)
    assert said(look(path, root=tmp_path), "fault") == ""
    assert "is not the file that was published" in said(look(path, root=tmp_path, checksums=True), "fault").replace(
        "\n", " "
    )
    beside.write_text(hashlib.sha256(path.read_bytes()).hexdigest())
    assert "SHA-256 as in model.gguf.sha256" in said(look(path, root=tmp_path, checksums=True), "fact")
    beside.unlink()
    assert "no checksum is known" in said(look(path, root=tmp_path, checksums=True), "fact")


def test_a_mapped_file_on_a_network_drive_is_advice(dense_model: TinyModel, tmp_path: Path) -> None:
    mounts = f"server:/ {dense_model.path.parent} nfs rw 0 0\n"
    assert "network drive (nfs)" in said(look(dense_model.path, root=tmp_path, mounts=mounts), "advice")
    assert said(look(dense_model.path, root=tmp_path, mounts=mounts, mmap=False), "advice") == ""


def test_a_context_far_beyond_the_model_or_the_memory_is_advice(dense_model: TinyModel, tmp_path: Path) -> None:
    assert "was trained for 4,096" in said(look(dense_model.path, root=tmp_path, context=100_000), "advice")
    assert "does not fit" in said(look(dense_model.path, root=tmp_path, free_kb=1000), "advice")
    assert "MB of 8.2 GB free main memory" in said(look(dense_model.path, root=tmp_path), "fact")


def test_a_drafter_that_is_much_coarser_than_its_model_is_advice(tmp_path: Path) -> None:
    main_file, drafter = tmp_path / "main.gguf", tmp_path / "drafter.gguf"
    draft = sound(1)
    draft.data += bytes(4096)
    main_file.write_bytes(draft.write())
    draft.tensors = [
        (name, [256, 8] if not number else [256], 12, 1152 * min(number, 1) + 160 * max(0, number - 1))
        for number, (name, *_) in enumerate(draft.tensors)
    ]
    drafter.write_bytes(draft.write())
    advice = said(look(main_file, drafter, root=tmp_path), "advice")
    assert "quantised harder than its model (4.5 against 32.0 bits" in advice


def test_the_command_is_ready_on_an_empty_home_and_says_so_first(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["schema"], told["ready"]) == (1, True)
    assert main(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Ready."
    assert all(len(line) <= 80 for line in lines)
    assert not paths.config_dir().exists()


def test_files_may_stand_before_and_behind_flags(
    dense_model: TinyModel, hybrid: Callable[[float], TinyModel], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["doctor", str(dense_model.path), "--sha256", str(hybrid(0.7).path), "--json"]) in (0, 1)
    about = {one["about"] for one in json.loads(capsys.readouterr().out)["findings"]}
    assert {"dense.gguf", "hybrid-0.7.gguf"} <= about


def test_broken_settings_and_models_that_are_gone_are_things_to_mend(capsys: pytest.CaptureFixture[str]) -> None:
    paths.config_dir().mkdir(parents=True)
    paths.config_file().write_text('[model]\npath = "/nowhere/model.gguf"\n')
    assert main(["doctor"]) == 1
    out = capsys.readouterr().out
    assert out.startswith("1 thing to mend:\n")
    assert "The model /nowhere/model.gguf is not there." in " ".join(out.split())
    paths.config_file().write_text("[model]\npth = 1\n")
    assert main(["doctor"]) == 1
    assert "Did you mean model.path?" in capsys.readouterr().out


def test_a_folder_that_cannot_be_written_is_a_thing_to_mend(capsys: pytest.CaptureFixture[str]) -> None:
    paths.cache_dir().parent.mkdir(parents=True)
    paths.cache_dir().write_text("a file where a folder should be")
    assert main(["doctor"]) == 1
    assert "cache folder" in capsys.readouterr().out


def test_the_models_of_the_settings_are_looked_at(dense_model: TinyModel, capsys: pytest.CaptureFixture[str]) -> None:
    paths.config_dir().mkdir(parents=True)
    paths.config_file().write_text(f'[model]\npath = "{dense_model.path}"\n')
    assert main(["doctor"]) == 0
    assert "tensors in order" in capsys.readouterr().out


def test_themes_that_are_broken_or_missing_are_things_to_mend(capsys: pytest.CaptureFixture[str]) -> None:
    paths.themes_dir().mkdir(parents=True)
    (paths.themes_dir() / "mine.toml").write_text("accent = 3")
    paths.config_file().write_text('[ui]\ntheme = "mine"\n')
    assert main(["doctor"]) == 1
    out = " ".join(capsys.readouterr().out.split())
    assert out.startswith("2 things to mend:")
    assert "mine.toml" in out
    assert 'There is no theme "mine".' in out


def test_every_part_of_a_split_model_is_summed_up(tmp_path: Path) -> None:
    for number in (1, 2):
        part = write_part(tmp_path, number, of=2, tensors=2)
        part.with_name(part.name + ".sha256").write_text(hashlib.sha256(part.read_bytes()).hexdigest())
    assert "SHA-256 as in" in said(look(part, root=tmp_path, checksums=True), "fact")
    part.write_bytes(part.read_bytes()[:-1] + b"x")
    assert "00002-of-00002.gguf: Its SHA-256 is" in said(look(part, root=tmp_path, checksums=True), "fault")


def test_without_any_model_it_is_said_how_to_come_by_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "mtpchat models" in out
    assert "mtpchat pull" in out
