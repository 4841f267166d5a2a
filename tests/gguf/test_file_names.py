"""What a model is called: by its file's name, unless that would be the same whatever is in the file."""

from __future__ import annotations

import pytest

from mtpchat.gguf.file_names import model_name, tells_the_model

BLOB = "sha256-" + "3f" * 32


@pytest.mark.parametrize(
    "stem",
    [
        *(
            "model",
            "ggml-model-q4_0",
            "ggml-model",
            "model-00001-of-00003",
            "unsloth.Q4_K_M",
            "model-UD-Q4_K_XL",
            "Q8_0",
        ),
        *(BLOB, BLOB.replace("-", ":"), "3f" * 32, "", "..."),
    ],
)
def test_names_that_any_file_may_have_do_not_tell_the_model(stem: str) -> None:
    assert not tells_the_model(stem)
    assert model_name(f"{stem}.gguf", "Qwen3 8B", "Q4_K_M") == "Qwen3 8B Q4_K_M"
    assert model_name(f"{stem}.gguf", "Qwen3 8B Q4_K_M", "Q4_K_M") == "Qwen3 8B Q4_K_M"


@pytest.mark.parametrize(
    "stem", ["SmolLM2-135M-Instruct.Q4_1", "demo-F16", "Qwen3.5-9B-UD-Q4_K_XL", "my model", "mtp-F16", "gemma", "é"]
)
def test_any_other_name_is_what_people_know_the_model_by(stem: str) -> None:
    assert tells_the_model(stem)
    assert model_name(f"{stem}.gguf", "Smollm2 135M 8k Lc100K Mix1 Ep2", "Q4_1") == stem


def test_two_quantisations_of_one_model_are_called_differently() -> None:
    names = {model_name(f"Qwen3-8B-{quant}.gguf", "Qwen3 8B", quant) for quant in ("Q4_K_M", "Q8_0")}
    assert names == {"Qwen3-8B-Q4_K_M", "Qwen3-8B-Q8_0"}


def test_all_parts_of_a_split_model_are_called_by_what_they_share() -> None:
    assert model_name("Big-Q4_K_M-00001-of-00003.gguf", "Big", "Q4_K_M") == "Big-Q4_K_M"


def test_a_file_without_any_telling_name_keeps_the_one_it_has() -> None:
    assert model_name("model.gguf", "", "Q8_0") == "model"
    assert model_name("model.gguf", "model", "Q8_0") == "model"
    assert model_name("weights.GGUF", " ", "Q8_0") == "weights"
    assert model_name(BLOB, "", "") == BLOB
