"""A folder, a name from the list or its beginning stands for a model; what is not unique names what it could be."""

from __future__ import annotations

from pathlib import Path

import pytest

from mtpchat.cli import _with_models_found as with_models_found
from mtpchat.cli_flags import parse_arguments
from mtpchat.commands.files import find_model
from mtpchat.config_file import LoadedConfig
from mtpchat.config_schema import replace_value
from mtpchat.errors import ModelNotFound
from mtpchat.shelf.index import Index
from mtpchat.shelf.naming import name_for
from tests.shelf.trees import in_hub, in_ollama, settings, write_heads, write_model


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Relative names start where nothing is."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")


@pytest.fixture
def shelf(tmp_path: Path, isolated_home: Path) -> Path:
    """A folder of two models and their drafters, beside two caches."""
    folder = tmp_path / "models"
    write_model(folder / "Qwen3.5-9B-Q4_K_M.gguf", rows=11)
    write_heads(folder / "MTP" / "mtp-Qwen3.5-9B-Q8_0.gguf")
    write_model(folder / "Llama-3-8B-Q8_0.gguf", rows=12)
    hub = isolated_home / ".cache" / "huggingface" / "hub"
    in_hub(hub, "org/Mistral-GGUF", write_model(tmp_path / "m.gguf", rows=13), "Mistral-Q4_0.gguf")
    in_hub(hub, "org/Mistral-GGUF", write_model(tmp_path / "n.gguf", rows=14), "Mistral-Q8_0.gguf")
    in_ollama(isolated_home / ".ollama" / "models", "qwen3:8b", write_model(tmp_path / "o.gguf", rows=15))
    return folder


@pytest.mark.parametrize(
    ("typed", "file"),
    [
        ("qwen3.5-9b-q4_k_m", "Qwen3.5-9B-Q4_K_M.gguf"),
        ("Qwen3.5-9B-Q4_K_M.gguf", "Qwen3.5-9B-Q4_K_M.gguf"),
        ("llama", "Llama-3-8B-Q8_0.gguf"),
        ("org/Mistral-GGUF:Q8_0", "Mistral-Q8_0.gguf"),
        ("mistral-gguf:q4", "Mistral-Q4_0.gguf"),
        ("mistral q8", "Mistral-Q8_0.gguf"),
        ('"qwen3.5"', "Qwen3.5-9B-Q4_K_M.gguf"),
    ],
)
def test_a_name_or_its_beginning_is_enough(shelf: Path, typed: str, file: str) -> None:
    assert find_model(typed, settings(shelf)).name == file


def test_an_exact_name_wins_over_longer_ones(shelf: Path) -> None:
    assert find_model("qwen3:8b", settings(shelf)).name.startswith("sha256-")
    write_model(shelf / "Llama.gguf", rows=20)
    assert find_model("llama", settings(shelf)).name == "Llama.gguf"


def test_a_beginning_that_fits_several_models_names_them(shelf: Path) -> None:
    with pytest.raises(ModelNotFound, match="'org/mis' could be 2 models") as caught:
        find_model("org/mis", settings(shelf))
    assert caught.value.hint == "Name one: org/Mistral-GGUF:Q4_0, org/Mistral-GGUF:Q8_0"


def test_one_name_in_two_places_is_told_apart_by_paths(shelf: Path, tmp_path: Path) -> None:
    write_model(tmp_path / "more" / "Llama-3-8B-Q8_0.gguf", rows=30)
    with pytest.raises(ModelNotFound) as caught:
        find_model("llama-3-8b-q8_0", settings(shelf, tmp_path / "more"))
    assert f"{shelf}/Llama-3-8B-Q8_0.gguf" in caught.value.hint
    assert f"{tmp_path}/more/Llama-3-8B-Q8_0.gguf" in caught.value.hint


def test_drafters_have_names_only_where_a_drafter_is_wanted(shelf: Path) -> None:
    with pytest.raises(ModelNotFound):
        find_model("mtp-qwen", settings(shelf))
    assert find_model("mtp-qwen", settings(shelf), drafters=True).name == "mtp-Qwen3.5-9B-Q8_0.gguf"


def test_a_folder_stands_for_the_one_model_in_it(tmp_path: Path) -> None:
    folder = tmp_path / "one"
    model = write_model(folder / "in" / "a.gguf")
    write_heads(folder / "mtp-a.gguf")
    assert find_model(str(folder), settings()) == model
    write_model(folder / "b.gguf", rows=9)
    with pytest.raises(ModelNotFound, match="is a folder with 2 chat models") as caught:
        find_model(str(folder), settings())
    assert caught.value.hint == "Name one: b.gguf, in/a.gguf"


def test_a_folder_without_a_model_says_so(tmp_path: Path) -> None:
    write_heads(tmp_path / "heads" / "mtp-a.gguf")
    with pytest.raises(ModelNotFound, match="is a folder without a chat model"):
        find_model(str(tmp_path / "heads"), settings())
    assert find_model(str(tmp_path / "heads"), settings(), drafters=True).name == "mtp-a.gguf"


def test_a_path_goes_before_a_name(shelf: Path) -> None:
    here = write_model(Path("qwen3:8b"), rows=40)
    assert find_model("qwen3:8b", settings(shelf)) == here.absolute()


def test_relative_paths_start_in_each_of_the_configured_folders(shelf: Path, tmp_path: Path) -> None:
    model = write_model(tmp_path / "second" / "deep" / "x.gguf", rows=50)
    assert find_model("deep/x.gguf", settings(shelf, tmp_path / "second")) == model


def test_a_name_that_is_mistyped_names_the_nearest(shelf: Path) -> None:
    with pytest.raises(ModelNotFound) as caught:
        find_model("qwen3:9b", settings(shelf))
    assert caught.value.hint == "Did you mean qwen3:8b?"
    with pytest.raises(ModelNotFound) as caught:
        find_model("nothing like that at all", settings(shelf))
    assert "mtpchat models" in caught.value.hint


def test_a_name_in_the_settings_is_found_and_a_wrong_one_is_left_for_the_load_to_tell(shelf: Path) -> None:
    arguments = parse_arguments(["--profile", "x"])
    for text, found in (("llama", shelf / "Llama-3-8B-Q8_0.gguf"), ("nothing of it", Path.cwd() / "nothing of it")):
        config = replace_value(settings(shelf), "model.path", text)
        loaded = LoadedConfig(config, None, Path("config.toml"))
        assert with_models_found(loaded, arguments, may_be_missing=False).model.path == str(found)


def test_the_short_name_of_a_file_means_that_file_or_there_is_none(shelf: Path, tmp_path: Path) -> None:
    config, index = settings(shelf), Index()
    for file in shelf.glob("*.gguf"):
        assert find_model(name_for(file, config, index), config) == file
    assert name_for(write_model(tmp_path / "elsewhere" / "x.gguf", rows=21), config, index) == ""
    twin = write_model(shelf / "v2" / "Llama-3-8B-Q8_0.gguf", rows=22)
    assert name_for(twin, config, index) == ""
    heads = shelf / "MTP" / "mtp-Qwen3.5-9B-Q8_0.gguf"
    assert name_for(heads, config, index) == ""
    assert name_for(heads, config, index, drafters=True) == "mtp-Qwen3.5-9B-Q8_0"
