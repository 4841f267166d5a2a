"""A vocabulary that llama.cpp dies of at the first two spaces, or at a byte, ends a trial, not the chat."""

from __future__ import annotations

from pathlib import Path

import gguf
import pytest

from mtpchat.backend.llama.loader import LlamaBackend
from mtpchat.backend.protocol import LoadPlan
from mtpchat.config import Config, ModelConfig
from mtpchat.errors import ModelUnsupported
from tests.models import dense

MISSING = 0xE9
"""The first byte of many a Chinese character, of which the texts of a trial have only rare ones."""


def test_a_vocabulary_that_does_not_fit_its_way_of_splitting_is_refused_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add = gguf.GGUFWriter.add_tokenizer_pre
    monkeypatch.setattr(gguf.GGUFWriter, "add_tokenizer_pre", lambda self, _name: add(self, "whitespace"))
    model = dense(tmp_path / "model.gguf", blocks=1)
    require_refused(model.path)


def require_refused(path: Path) -> None:
    """A file is refused with a way out."""
    config = Config(model=ModelConfig(context=256, threads=1))
    with pytest.raises(ModelUnsupported) as refused:
        LlamaBackend().load(LoadPlan(str(path), "", "none", config), lambda *_: None, lambda: False)
    assert refused.value.hint


def test_a_vocabulary_that_lacks_one_byte_is_refused_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = gguf.GGUFWriter
    add_model, add_list, add_types = writer.add_tokenizer_model, writer.add_token_list, writer.add_token_types
    names = [f"<0x{byte:02X}>" if byte != MISSING else "none" for byte in range(256)]
    kinds = [gguf.TokenType.BYTE if byte != MISSING else gguf.TokenType.NORMAL for byte in range(256)]
    monkeypatch.setattr(writer, "add_tokenizer_model", lambda self, _name: add_model(self, "llama"))
    monkeypatch.setattr(writer, "add_token_list", lambda self, tokens: add_list(self, [*names, *tokens[256:]]))
    monkeypatch.setattr(writer, "add_token_types", lambda self, types: add_types(self, [*kinds, *types[256:]]))
    require_refused(dense(tmp_path / "model.gguf", blocks=1).path)
