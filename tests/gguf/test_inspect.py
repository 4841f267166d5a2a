"""`mtpchat inspect`: the first lines say what a file is, whether its heads will work, and what to get instead."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from mtpchat.backend.llama.build import Build, ask_build, features_of
from mtpchat.cli import main
from mtpchat.cli_inspect import show
from mtpchat.gguf.facts import FileFacts, facts_of, read_model
from mtpchat.inspection import inspect_file, mtp_verdict, title_of
from tests.gguf.draft import STRING, U32, Draft, sound
from tests.models import TinyModel, hybrid_mtp

BUILD = Build(version="1")
BROKEN = Build(trouble="llama.cpp cannot be loaded", hint="Install it again.")
OLD = Build(why_no_mtp="this build lacks it", why_no_chained_heads="this build lacks it", why_no_eagle3="no layers")


def facts(model: TinyModel) -> FileFacts:
    return facts_of(read_model(model.path))


def painted(path: Path, build: Build = BUILD) -> list[str]:
    out = io.StringIO()
    show([inspect_file(path, build)], out)
    return out.getvalue().splitlines()


def test_the_first_line_says_what_it_is(hybrid: Callable[[float], TinyModel], chained: TinyModel) -> None:
    told = replace(facts(hybrid(0.7)), name="Qwen3.5", size_label="27B", quantization="Q4_K_M", parts=3)
    assert title_of(told) == "Qwen3.5 27B, Q4_K_M, 3 shards, MTP head included: yes"
    assert title_of(replace(told, name="Qwen3.5 27B", parts=1)) == "Qwen3.5 27B, Q4_K_M, MTP head included: yes"
    assert title_of(replace(told, heads_there=0)).endswith("MTP head included: no")
    assert title_of(facts(chained)).endswith("3 MTP heads included: yes")


def test_every_role_has_a_title_and_a_verdict(dense_model: TinyModel) -> None:
    roles = (
        "chat", "mtp_only", "eagle3", "dflash", "dspark", "gemma4_assistant", "draft_head", "adapter", "projector",
        "embedding", "diffusion", "vocab_only", "other",
    )  # fmt: skip
    for role in roles:
        told = replace(facts(dense_model), role=role)
        assert len(title_of(told)) > 10
        for build in (BUILD, BROKEN, OLD):
            verdict = mtp_verdict(told, build)
            assert verdict.sentence.endswith(".")
            assert verdict.advice


def test_heads_work_where_the_build_can_run_them(hybrid: Callable[[float], TinyModel], chained: TinyModel) -> None:
    for model in (hybrid(0.7), chained):
        assert mtp_verdict(facts(model), BUILD).works is True
        assert mtp_verdict(facts(model), BROKEN).works is None
        lacking = mtp_verdict(facts(model), OLD)
        assert (lacking.works, "this build lacks it" in lacking.sentence) == (False, True)


def test_what_to_get_instead_depends_on_what_is_missing(dense_model: TinyModel, tmp_path: Path) -> None:
    advice = mtp_verdict(facts(dense_model), BUILD).advice
    assert "EAGLE-3" in advice
    assert f"mtpchat models --pairs {dense_model.path.name}" in advice
    stripped = mtp_verdict(facts(hybrid_mtp(tmp_path / "stripped.gguf", part="stripped")), BUILD)
    assert "left out" in stripped.sentence
    assert "a conversion of this model that keeps its heads" in stripped.advice


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda draft: None, "1 announced, 1 with tensors"),
        (lambda draft: draft.tensors.pop(), "left out when the file was made"),
        (lambda draft: draft.set("qwen35.nextn_predict_layers", U32, 0), "ignores what is not announced"),
        (lambda draft: draft.set("qwen35.nextn_predict_layers", U32, 2), "the file is not complete"),
    ],
)
def test_settings_and_tensors_that_disagree_about_heads_are_explained(
    tmp_path: Path, spoil: Callable[[Draft], object], says: str
) -> None:
    draft = sound(0)
    spoil(draft)
    path = tmp_path / "model.gguf"
    path.write_bytes(draft.write())
    rows = dict(inspect_file(path, BUILD).rows)
    assert says in rows["MTP heads"]


def test_a_file_that_ends_the_process_is_not_said_to_work(tmp_path: Path) -> None:
    draft = sound(0)
    draft.list("tokenizer.ggml.tokens", STRING, ["a", "a"])
    path = tmp_path / "model.gguf"
    path.write_bytes(draft.write())
    assert painted(path)[1].startswith("It cannot be loaded: it has two tokens 'a'")


def test_texts_of_strangers_are_short_and_harmless_on_the_screen(tmp_path: Path) -> None:
    draft = sound(0)
    draft.set("general.name", STRING, "\x1b[2J[bold]Evil[/bold]\n\u202e" + "x" * 1_000_000)
    draft.set("general.license", STRING, "\x07" * 5000)
    path = tmp_path / "model.gguf"
    path.write_bytes(draft.write())
    lines = painted(path)
    assert lines[0].startswith("␛[2J[bold]Evil[/bold]")
    assert all(len(line) <= 80 and line.isprintable() for line in lines)
    assert len(lines) < 40


def test_thousands_of_tensors_are_no_trouble(tmp_path: Path) -> None:
    draft = sound(1)
    for number in range(5000):
        draft.tensors.append((f"blk.{number % 2}.expert.{number}.weight".encode(), [0], 0, len(draft.data)))
    path = tmp_path / "model.gguf"
    path.write_bytes(draft.write())
    assert any("5,003: F32" in line for line in painted(path))


def test_the_command_paints_every_file_and_fails_when_one_cannot_be_read(
    dense_model: TinyModel, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["inspect", str(dense_model.path)]) == 0
    assert main(["inspect", str(dense_model.path), str(tmp_path / "none.gguf")]) == 2
    out, err = capsys.readouterr()
    assert out.count("MTP head included: no") == 2
    assert err.startswith("mtpchat: There is no file")


def test_json_is_one_object_with_an_entry_for_each_file(
    hybrid: Callable[[float], TinyModel], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["inspect", "--json", str(hybrid(0.7).path), str(tmp_path)]) == 2
    told = json.loads(capsys.readouterr().out)
    assert told["schema"] == 1
    good, bad = told["files"]
    assert (good["mtp"]["works"], good["role"], good["layers"]) == (True, "chat", 4)
    assert "folder" in bad["error"]["message"]


def test_inspecting_nothing_is_bad_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect"]) == 2
    assert main(["inspect", "x.gguf", "--sha256"]) == 2
    assert "inspect needs a file" in capsys.readouterr().err


def test_a_library_that_dies_hangs_or_talks_nonsense_is_a_sentence() -> None:
    python = ask_build().version
    assert python
    shell = ("sh", "-c")
    assert "another processor" in ask_build((*shell, "kill -ILL $$")).trouble
    assert "signal 11" in ask_build((*shell, "kill -SEGV $$")).trouble
    assert ask_build((*shell, "echo no such library >&2; exit 3")).trouble.endswith("(code 3): no such library")
    assert "no answer" in ask_build((*shell, "echo hello")).trouble
    assert "within 0 s" in ask_build((*shell, "sleep 30"), longest_s=0.05).trouble
    assert "cannot be started" in ask_build(("/nonexistent",)).trouble


def test_features_are_read_off_the_text_of_llama_cpp() -> None:
    text = "CUDA : ARCHS = 890 | USE_GRAPHS = 1 | CPU : SSE3 = 1 | AVX2 = 1 | AVX512 = 0 | "
    assert features_of(text) == ("CUDA", "USE_GRAPHS", "SSE3", "AVX2")
    assert features_of("") == ()
