"""Calls with what was closed, or could not be made again, are refused: each of them would end the process."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

from mtpchat.backend.llama.draft import LlamaDraft
from mtpchat.backend.llama.kept import key_of
from mtpchat.backend.llama.loader import _Loading, _Owned
from mtpchat.backend.llama.target import LlamaTarget
from mtpchat.errors import (
    DrafterError,
    LoadCancelled,
    MisuseRefused,
    ModelError,
    ModelUnreadable,
    RollbackImpossible,
)
from tests.models import TinyModel
from tests.native.contexts import LOG, load, settings

CALLS: dict[str, Callable[[LlamaTarget], object]] = {
    "decode": lambda target: target.decode([1]),
    "decode several": lambda target: target.decode([1, 2], rows="all"),
    "logits": lambda target: target.read_logits(0),
    "hidden rows": lambda target: target.read_hidden(1),
    "restore": lambda target: target.restore(b"state", 1),
    "layers": lambda target: target.expose_layers([0]),
}
HARMLESS: dict[str, Callable[[LlamaTarget], object]] = {
    "clear": lambda target: target.clear(),
    "checkpoint": lambda target: target.checkpoint(),
    "size": lambda target: target.size_held(),
    "copy": lambda target: target.copy_all(),
    "fill": lambda target: target.fill(np.zeros(9, np.uint8), 3),
    "hide": lambda target: target.hide_layers(),
    "close": lambda target: target.close(),
}


def test_a_context_that_could_not_be_made_anew_is_not_called(
    dense_random: TinyModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = load(dense_random.path)
    target = LlamaTarget(model, settings(), LOG)
    target.decode([1, 2, 3])
    with monkeypatch.context() as patch:
        patch.setattr(f"{LlamaTarget.__module__}.create_context", Mock(side_effect=ModelError("no memory")))
        with pytest.raises(ModelError):
            target.reopen(settings())
    assert target.length == 0
    for call in CALLS.values():
        with pytest.raises(MisuseRefused):
            call(target)
    with pytest.raises(RollbackImpossible):
        target.rollback(1)
    for call in HARMLESS.values():
        assert not call(target)
    target.reopen(settings())
    assert target.decode([1]).logits(0).shape == (model.vocab.n_vocab,)
    target.close()
    model.close()


def test_a_drafter_that_was_closed_is_not_called(dense_random: TinyModel) -> None:
    model = load(dense_random.path)
    draft = LlamaDraft(model, settings(), LOG, None)
    draft.feed([1, 2, 3], 0, None, want=True)
    draft.close()
    assert draft.length == 0
    draft.rollback(1)
    assert draft.copy_all() is None
    assert not draft.fill(np.zeros(9, np.uint8), 3)
    with pytest.raises(MisuseRefused):
        draft.feed([1], 0, None, want=True)
    draft.close()
    model.close()


def test_what_was_loaded_for_a_drafter_that_fails_is_given_back() -> None:
    closed: list[str] = []

    def thing(name: str) -> Any:
        return SimpleNamespace(close=lambda: closed.append(name))

    owned = _Owned()
    owned.add(thing("the model"))
    nothing: Any = None
    loading = _Loading(nothing, nothing, nothing, nothing, owned, nothing, nothing, 0)

    def fail(error: Exception) -> None:
        owned.add(thing("its weights"))
        raise error

    assert loading.attempt(lambda: fail(DrafterError("too wide"))) is None
    assert closed == ["its weights"]
    assert loading.choice.kind == "ngram"
    with pytest.raises(LoadCancelled):
        loading.attempt(lambda: fail(LoadCancelled("enough")))
    owned.close()
    assert closed[-1] == "the model"


@pytest.mark.skipif(sys.platform in {"darwin", "win32"}, reason="names of files are texts there")
def test_a_model_with_a_name_that_is_no_text_is_loaded(dense_random: TinyModel, tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"m\xff.gguf")
    path.symlink_to(dense_random.path)
    load(path).close()


def test_a_file_that_goes_away_while_it_is_looked_at_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelUnreadable, match=r"gone\.gguf"):
        key_of([tmp_path / "gone.gguf"], "model")
