"""The tiny models as session fixtures, written on first use into a directory of this test session."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.models import (
    OTHER,
    Chain,
    TinyModel,
    chained_heads,
    dense,
    eagle3_head,
    gemma4,
    gemma4_assistant,
    hybrid_mtp,
    recurrent,
    sliding_window,
)


@pytest.fixture(scope="session")
def model_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where this session's models lie."""
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="session")
def drafter_dir(model_dir: Path) -> Path:
    """Where drafters lie: not beside the models, which would be given them without being asked."""
    folder = model_dir / "apart"
    folder.mkdir()
    return folder


@pytest.fixture(scope="session")
def hybrid(model_dir: Path) -> Callable[[float], TinyModel]:
    """hybrid(acceptance): a hybrid model with its head in the same file; each is written once."""
    written: dict[float, TinyModel] = {}

    def get(acceptance: float) -> TinyModel:
        if acceptance not in written:
            written[acceptance] = hybrid_mtp(model_dir / f"hybrid-{acceptance}.gguf", acceptance)
        return written[acceptance]

    return get


@pytest.fixture(scope="session")
def hybrid_random(model_dir: Path) -> TinyModel:
    """A hybrid model whose greedy text depends on its whole history: a spoiled rollback changes it."""
    return hybrid_mtp(model_dir / "hybrid-random.gguf", mode="random")


@pytest.fixture(scope="session")
def hybrid_trunk(model_dir: Path) -> TinyModel:
    """The hybrid model without its head."""
    return hybrid_mtp(model_dir / "hybrid-trunk.gguf", part="trunk")


@pytest.fixture(scope="session")
def hybrid_head(drafter_dir: Path) -> TinyModel:
    """The head (acceptance 0.7) that fits `hybrid_trunk`, as a file of its own."""
    return hybrid_mtp(drafter_dir / "hybrid-head.gguf", part="head")


@pytest.fixture(scope="session")
def chained(model_dir: Path) -> TinyModel:
    """Three chained heads in one file with their trunk."""
    return chained_heads(model_dir / "chained.gguf")


@pytest.fixture(scope="session")
def chained_trunk(model_dir: Path) -> TinyModel:
    """The trunk of `chained`."""
    return chained_heads(model_dir / "chained-trunk.gguf", part="trunk")


@pytest.fixture(scope="session")
def chained_head_file(drafter_dir: Path) -> TinyModel:
    """The three heads of `chained` in a file of their own."""
    return chained_heads(drafter_dir / "chained-heads.gguf", part="head")


@pytest.fixture(scope="session")
def dense_model(model_dir: Path) -> TinyModel:
    """A dense model."""
    return dense(model_dir / "dense.gguf")


@pytest.fixture(scope="session")
def dense_random(model_dir: Path) -> TinyModel:
    """A dense model whose greedy text depends on its whole history."""
    return dense(model_dir / "dense-random.gguf", mode="random")


@pytest.fixture(scope="session")
def draft_model(drafter_dir: Path) -> TinyModel:
    """A cheap dense model that agrees with all the others 70 % of the time."""
    return dense(drafter_dir / "draft.gguf", 0.7, width=96, blocks=1, seed=6)


@pytest.fixture(scope="session")
def eagle3_model(model_dir: Path) -> TinyModel:
    """A dense model of three layers, which `eagle3` reads."""
    return dense(model_dir / "eagle3-main.gguf", blocks=3)


@pytest.fixture(scope="session")
def eagle3(drafter_dir: Path) -> Callable[[float], TinyModel]:
    """eagle3(acceptance): an EAGLE-3 head for `eagle3_model`; each is written once."""
    written: dict[float, TinyModel] = {}

    def get(acceptance: float) -> TinyModel:
        if acceptance not in written:
            written[acceptance] = eagle3_head(drafter_dir / f"eagle3-{acceptance}.gguf", acceptance)
        return written[acceptance]

    return get


@pytest.fixture(scope="session")
def eagle3_hybrid(drafter_dir: Path) -> TinyModel:
    """An EAGLE-3 head for `hybrid_trunk` that reads the output of the last layer, too."""
    return eagle3_head(drafter_dir / "eagle3-hybrid.gguf", 0.7, layers=(0, 1, 4))


@pytest.fixture(scope="session")
def gemma(model_dir: Path) -> TinyModel:
    """A gemma4 model with a window of 32 tokens in its last layer but one."""
    return gemma4(model_dir / "gemma4.gguf")


@pytest.fixture(scope="session")
def assistant(drafter_dir: Path) -> Callable[[float], TinyModel]:
    """assistant(acceptance): an assistant for `gemma`; each is written once."""
    written: dict[float, TinyModel] = {}

    def get(acceptance: float) -> TinyModel:
        if acceptance not in written:
            written[acceptance] = gemma4_assistant(drafter_dir / f"assistant-{acceptance}.gguf", acceptance)
        return written[acceptance]

    return get


@pytest.fixture(scope="session")
def foreign_draft(drafter_dir: Path) -> TinyModel:
    """A dense model over another vocabulary."""
    return dense(drafter_dir / "foreign.gguf", chain=Chain(vocabulary=OTHER), width=96, blocks=1)


@pytest.fixture(scope="session")
def sliding(model_dir: Path) -> TinyModel:
    """A model with a sliding window of 32 tokens."""
    return sliding_window(model_dir / "sliding.gguf")


@pytest.fixture(scope="session")
def recurrent_model(model_dir: Path) -> TinyModel:
    """A recurrent model without snapshots: nothing can be rolled back."""
    return recurrent(model_dir / "recurrent.gguf")


@pytest.fixture(scope="session")
def short_answer(model_dir: Path) -> TinyModel:
    """A dense model whose answer ends itself after twelve tokens, the first four of them thought."""
    return dense(model_dir / "short-answer.gguf", chain=Chain(eog_after=12, think=4))


@pytest.fixture(scope="session")
def repeating(model_dir: Path) -> TinyModel:
    """A dense model that repeats itself every ten tokens: prompt lookup is always right."""
    return dense(model_dir / "repeating.gguf", chain=Chain(period=10))
