"""`mtpchat models` says what is on the machine, for people and for programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mtpchat.cli import main
from mtpchat.shelf import places
from mtpchat.shelf.last_use import LastUse
from tests.shelf.trees import write_heads, write_model


@pytest.fixture
def shelf(tmp_path: Path, isolated_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of models, named in the settings."""
    monkeypatch.setattr(places, "SYSTEM_OLLAMA", tmp_path / "no-service")
    folder = isolated_home / "models"
    write_model(folder / "Qwen3.5-9B-Q6_K.gguf", "Qwen3.5 9B", rows=400, file_type=18)
    write_heads(folder / "MTP" / "mtp-Qwen3.5-9B-Q8_0.gguf")
    write_model(folder / "Big-Q4_K_M.gguf", heads=1, rows=900, file_type=15)
    write_model(folder / "mmproj.gguf", kind="mmproj")
    (folder / "bad.gguf").write_bytes(b"nothing")
    settings = isolated_home / ".config" / "mtpchat" / "config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text('[paths]\nmodels = ["~/models", "~/more"]\n')
    return folder


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(arguments) == 0
    return capsys.readouterr().out


def objects(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(said(capsys, *arguments, "--json"))
    return found


def test_models_are_listed_with_size_quantisation_guesser_and_place(
    shelf: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    LastUse().note(str(shelf / "Qwen3.5-9B-Q6_K.gguf"))
    lines = [line.split() for line in said(capsys, "models").splitlines()]
    assert lines[0] == ["name", "size", "quant", "guesses", "where", "used"]
    assert lines[1][0] == "Qwen3.5-9B-Q6_K"
    assert lines[1][3:] == ["Q6_K", "+", "MTP", "~/models", "today"]
    assert lines[2][0] == "Big-Q4_K_M"
    assert lines[2][3:] == ["Q4_K_M", "MTP", "~/models"]
    assert " ".join(lines[3]).startswith("2 models, 1 drafter, 1 other file, 1 unreadable file")
    assert " ".join(lines[4]) == "The folder ~/more of [paths] models is not there."


def test_all_adds_drafters_and_files_of_other_kinds(shelf: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, "models", "--all")
    for words in ("mtp-Qwen3.5-9B-Q8_0", "MTP heads F32", "projector", "bad.gguf is not a GGUF file"):
        assert words in text


def test_json_has_everything_in_four_lists(shelf: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = objects(capsys, "models")
    assert {key: len(found[key]) for key in ("models", "drafters", "others", "unreadable")} == {
        "models": 2,
        "drafters": 1,
        "others": 1,
        "unreadable": 1,
    }
    one = next(model for model in found["models"] if model["name"] == "Qwen3.5-9B-Q6_K")
    assert one["path"] == str(shelf / "Qwen3.5-9B-Q6_K.gguf")
    assert one["drafter"]["kind"] == "mtp"
    assert one["last_used"] is None
    assert found["unreadable"][0]["trouble"]
    assert found["remarks"] == []


def test_pairs_rank_drafters_and_say_why(shelf: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_heads(shelf / "mtp-wrong.gguf", width=64)
    lines = said(capsys, "models", "--pairs", "qwen").splitlines()
    assert lines[0] == "MTP: the heads in mtp-Qwen3.5-9B-Q8_0.gguf, found beside the model"
    assert lines[2].startswith(" 1. mtp-Qwen3.5-9B-Q8_0.gguf (MTP)")
    assert "named for it" in lines[3]
    assert any("Its embeddings are 64 wide, the model's 32." in line for line in lines)
    found = objects(capsys, "models", "--pairs", "qwen")
    assert [one["strong"] for one in found["candidates"]] == [True, False]
    assert found["choice"]["kind"] == "mtp"


def test_a_model_that_is_not_there_ends_with_the_code_for_bad_usage(
    shelf: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["models", "--pairs", "nothing of the kind"]) == 2
    assert "There is no file" in capsys.readouterr().err


@pytest.mark.parametrize("flags", [["--all"], ["--pairs", "x"]])
def test_flags_of_models_belong_to_models(flags: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-p", "hello", *flags]) == 2
    assert "belongs to mtpchat models" in capsys.readouterr().err


def test_an_empty_machine_is_told_where_models_would_be(
    isolated_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(places, "SYSTEM_OLLAMA", tmp_path / "no-service")
    text = said(capsys, "models")
    assert text.startswith("No models were found")
    for way in ("mtpchat pull", "mtpchat -m", "config set paths.models", "mtpchat --demo"):
        assert way in text
    assert "0 models" not in text


def test_the_demo_model_is_in_the_list_where_it_is_installed(
    isolated_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(places, "SYSTEM_OLLAMA", tmp_path / "no-service")
    model = tmp_path / "package" / "Small-Q4_1.gguf"
    write_model(model)
    monkeypatch.setattr(places, "demo_model", lambda: model)
    lines = said(capsys, "models").splitlines()
    assert lines[1].startswith("Small-Q4_1")
    assert lines[1].rstrip().endswith("demo model")
    assert objects(capsys, "models")["models"][0]["place"] == "demo"


def test_names_that_would_act_on_a_terminal_are_shown_as_signs(shelf: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_model(shelf / "x\x1b[31m[red].gguf")
    text = said(capsys, "models")
    assert "\x1b" not in text
    assert "x␛[31m[red]" in text


@pytest.mark.parametrize("command", ["inspect", "doctor"])
def test_what_a_file_is_can_be_asked_by_its_name_in_the_list(
    shelf: Path, command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    main([command, "Qwen3.5-9B-Q6_K"])
    assert "MTP head included" in capsys.readouterr().out


@pytest.mark.parametrize("typed", ["acme/Tiny-GGUF", "acme/Tiny-GGUF:Q8_0", "https://huggingface.co/acme/Tiny-GGUF"])
def test_a_model_named_as_on_a_hub_is_answered_with_the_way_to_fetch_it(
    shelf: Path, typed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["-p", "hello", "-m", typed]) == 2
    assert f"mtpchat pull {typed}," in capsys.readouterr().err
