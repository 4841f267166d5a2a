"""What tests of the binding share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mtpchat.backend.llama.target import LlamaTarget
from tests.models import TinyModel
from tests.native.contexts import LOG, load, settings


@pytest.fixture
def dense_target(dense_model: TinyModel) -> Iterator[LlamaTarget]:
    model = load(dense_model.path)
    target = LlamaTarget(model, settings(), LOG)
    yield target
    target.close()
    model.close()
