"""A drafter that lies beside its model is loaded with it by real llama.cpp, and text stays the same."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from mtpchat.backend.protocol import LoadPlan
from mtpchat.composition import open_engine
from mtpchat.config import Config, ModelConfig
from mtpchat.shelf.last_use import LastUse
from tests.models import TinyModel
from tests.native.talk import OFF, pinned, talk


@pytest.fixture
def trunk(tmp_path: Path, hybrid_trunk: TinyModel, hybrid_head: TinyModel) -> Path:
    """A model, with its heads in a folder beside it."""
    (tmp_path / "MTP").mkdir()
    shutil.copy(hybrid_head.path, tmp_path / "MTP" / "mtp-model-F32.gguf")
    return Path(shutil.copy(hybrid_trunk.path, tmp_path / "model-F32.gguf"))


def test_heads_beside_a_model_guess_for_it_without_being_named(trunk: Path) -> None:
    with talk(trunk) as chat:
        assert chat.facts.kind == "mtp"
        assert chat.facts.choice == "MTP: the heads in mtp-model-F32.gguf, found beside the model"
        assert (chat.facts.suggestion, chat.facts.warnings) == ("", ())
        plain, _ = chat.say("go on", OFF)
        drafted, stats = chat.say("go on", pinned(1))
    assert plain == drafted
    assert stats.accepted > 0


def test_what_was_found_is_tried_in_a_process_of_its_own_first(trunk: Path) -> None:
    with talk(trunk, trial="auto") as chat:
        assert chat.facts.kind == "mtp"


def test_a_doubtful_pair_that_was_named_is_used_with_a_warning(tmp_path: Path, dense_model: TinyModel) -> None:
    twin = shutil.copy(dense_model.path, tmp_path / "twin.gguf")
    with talk(dense_model.path, twin) as chat:
        assert chat.facts.kind == "draft"
        assert any("no smaller than the model" in warning for warning in chat.facts.warnings)


def test_a_model_that_may_draft_is_offered_in_a_line(tmp_path: Path, dense_model: TinyModel) -> None:
    content = dense_model.path.read_bytes()
    model = tmp_path / "big.gguf"
    model.write_bytes(content + bytes(8 * len(content)))
    small = tmp_path / "small.gguf"
    small.write_bytes(content)
    with talk(model) as chat:
        assert chat.facts.kind == "ngram"
        assert chat.facts.suggestion.startswith("There is also small.gguf (")
        assert chat.facts.suggestion.endswith(f"/drafter {small} tries it")


def test_loading_a_model_is_noted_as_its_last_use(dense_model: TinyModel) -> None:
    engine = open_engine()
    config = Config(model=ModelConfig(context=256, threads=1, trial="off"))
    try:
        engine.load(LoadPlan(str(dense_model.path), "", "none", config), lambda *_report: None, lambda: False)
    finally:
        engine.close()
    assert list(LastUse().all()) == [str(dense_model.path)]
