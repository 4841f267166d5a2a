"""What a header tells beyond the kind of file: quantisation, licence, experts, vocabulary."""

from __future__ import annotations

from pathlib import Path

import pytest

from mtpchat.gguf.facts import facts_of, read_model
from mtpchat.gguf.quantization import file_type_name, mix_of
from mtpchat.gguf.vocabulary import vocabulary_of
from tests.gguf.draft import STRING, U32, Draft, sound
from tests.models import TinyModel


def written(draft: Draft, folder: Path) -> Path:
    path = folder / "model.gguf"
    path.write_bytes(draft.write())
    return path


def test_everything_that_a_file_says_is_among_its_facts(tmp_path: Path) -> None:
    draft = sound(0)
    draft.set("general.base_model.0.organization", STRING, "Somebody")
    draft.set("qwen35.expert_count", U32, 128)
    draft.set("qwen35.expert_used_count", U32, 8)
    told = facts_of(read_model(written(draft, tmp_path)))
    assert (told.quantization, told.licence, told.base_models) == ("Q4_K_M", "mit", ("Somebody Base",))
    assert (told.experts, told.experts_used, told.vocabulary_kind) == (128, 8, "BPE")
    assert (told.bos, told.eos, told.head_blocks) == (None, 2, 1)
    assert told.mix.parameters == 4 * 8 + 5 * 8 + 16 * 8
    assert told.mix.types == (("F32", 4 * told.mix.parameters),)
    assert told.mix.bits == 32
    assert told.size_label == ""


def test_the_size_is_counted_where_the_file_does_not_say_it(dense_model: TinyModel) -> None:
    told = facts_of(read_model(dense_model.path))
    assert told.size_label.endswith("K")
    draft = sound(0)
    draft.set("general.size_label", STRING, "27B")
    assert facts_of(read_model(written(draft, dense_model.path.parent))).size_label == "27B"


def test_quantisation_is_named_as_people_name_it(tmp_path: Path) -> None:
    mix = mix_of(read_model(written(sound(1), tmp_path)).tensors.values())
    assert [file_type_name(kind, mix) for kind in (0, 7, 15, 18, 30, 38)] == [
        "F32", "Q8_0", "Q4_K_M", "Q6_K", "IQ4_XS", "MXFP4_MOE",
    ]  # fmt: skip
    assert file_type_name(1024 + 17, mix) == "Q5_K_M"
    assert file_type_name(None, mix) == file_type_name(-1, mix) == file_type_name(999, mix) == "F32"
    assert file_type_name(None, mix_of([])) == ""


def test_an_endless_list_of_base_models_is_not_believed(tmp_path: Path) -> None:
    draft = sound(0)
    draft.set("general.base_model.count", U32, 2**32 - 1)
    assert facts_of(read_model(written(draft, tmp_path))).base_models == ("Base",)


def test_a_vocabulary_is_told_apart_by_texts_and_merges_and_by_nothing_else(tmp_path: Path) -> None:
    def digest(draft: Draft) -> str:
        return vocabulary_of(read_model(written(draft, tmp_path))).digest

    first = digest(sound(0))
    assert len(first) == 64
    assert digest(sound(1)) == first
    other_name = sound(0)
    other_name.set("general.name", STRING, "another")
    assert digest(other_name) == first
    for key, words in (("tokens", ["a", "b", "<|im_end|>", "e"]), ("tokens", ["a", "b"]), ("merges", ["b a"])):
        changed = sound(0)
        changed.list(f"tokenizer.ggml.{key}", STRING, words)
        assert digest(changed) != first


def test_ends_of_an_answer_are_those_of_llama_cpp(tmp_path: Path) -> None:
    draft = sound(0)
    draft.list("tokenizer.ggml.tokens", STRING, ["<|im_end|>", "x", "<end_of_turn>", "y", "z"])
    draft.set("tokenizer.ggml.eot_token_id", U32, 4)
    draft.set("tokenizer.ggml.eos_token_id", U32, 77)
    found = vocabulary_of(read_model(written(draft, tmp_path)))
    assert found.ends == (0, 2, 4)
    assert (found.size, found.merges, found.eos, found.kind) == (5, 1, None, "BPE")


def test_a_file_without_tokens_has_an_empty_vocabulary(tmp_path: Path) -> None:
    draft = sound(0)
    draft.pairs = [one for one in draft.pairs if not one[0].startswith(b"tokenizer.")]
    found = vocabulary_of(read_model(written(draft, tmp_path)))
    assert (found.size, found.digest, found.ends, found.kind) == (0, "", (), "")


def test_lists_of_numbers_are_read_from_the_header_and_long_ones_from_the_file(tmp_path: Path) -> None:
    draft = sound(0)
    draft.list("short", U32, list(range(1000)))
    draft.list("long", U32, list(range(2000)))
    path = written(draft, tmp_path)
    header = read_model(path)
    assert header.numbers("long") == list(range(2000))
    path.unlink()
    assert header.numbers("short") == list(range(1000))
    with pytest.raises(Exception, match="no file"):
        header.numbers("long")
