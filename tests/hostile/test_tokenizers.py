"""A vocabulary that llama.cpp dies of at the first two spaces ends a trial, not the chat."""

from __future__ import annotations

from pathlib import Path

import gguf
import pytest

from mtpchat.backend.llama.loader import LlamaBackend
from mtpchat.backend.protocol import LoadPlan
from mtpchat.config import Config, ModelConfig
from mtpchat.errors import ModelUnsupported
from tests.models import dense


def test_a_vocabulary_that_does_not_fit_its_way_of_splitting_is_refused_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add = gguf.GGUFWriter.add_tokenizer_pre
    monkeypatch.setattr(gguf.GGUFWriter, "add_tokenizer_pre", lambda self, _name: add(self, "whitespace"))
    model = dense(tmp_path / "model.gguf", blocks=1)
    config = Config(model=ModelConfig(context=256, threads=1))
    with pytest.raises(ModelUnsupported) as refused:
        LlamaBackend().load(LoadPlan(str(model.path), "", "none", config), lambda *_: None, lambda: False)
    assert refused.value.hint
