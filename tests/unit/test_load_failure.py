"""What is said of a model that llama.cpp did not load."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mtpchat.backend.llama.model import load_failure
from mtpchat.errors import ModelUnsupported


def test_an_architecture_that_llama_cpp_does_not_know_is_no_want_of_memory() -> None:
    told = load_failure("new.gguf", "llama_model_load: error loading model: unknown model architecture: 'qwen99'")
    assert isinstance(told, ModelUnsupported)
    assert "'qwen99'" in told.message
    assert "memory" not in told.hint


@given(st.text())
def test_whatever_llama_cpp_says_there_is_a_name_and_something_to_do(reason: str) -> None:
    told = load_failure("new.gguf", reason)
    assert told.message.startswith("new.gguf ")
    assert told.hint
