"""Places of this machine stay out of the tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from mtpchat.shelf import places

CACHES = ("HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "OLLAMA_MODELS", "LLAMA_CACHE")


@pytest.fixture(autouse=True)
def no_other_places(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Only the home folder of the test has caches."""
    for name in CACHES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(places, "SYSTEM_OLLAMA", tmp_path / "no-service")
