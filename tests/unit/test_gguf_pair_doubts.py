"""Pairs that can be loaded and look odd are told so, with the fact; what is usual within a family is not."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from mtpchat.errors import DrafterUnsupported
from mtpchat.gguf.facts import read_model
from mtpchat.gguf.header import Header
from mtpchat.gguf.pairing import PairReport, examine_pair
from tests.models import TinyModel
from tests.shelf.trees import write_heads, write_model
from tests.unit.test_gguf_pairing import changed


def report(main: Path, drafter: Path) -> PairReport:
    return examine_pair(read_model(main), read_model(drafter))


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Header, Header]:
    """A model and a small one of its family."""
    main = write_model(tmp_path / "main.gguf", "Big", arch="llama", rows=4000)
    return read_model(main), read_model(write_model(tmp_path / "small.gguf", "Small", arch="llama", rows=40))


def test_models_of_one_family_are_beyond_doubt(pair: tuple[Header, Header]) -> None:
    assert examine_pair(*pair) == PairReport("draft")


@pytest.mark.parametrize(
    ("model", "drafter"), [("hybrid_trunk", "hybrid_head"), ("eagle3_model", "eagle3"), ("gemma", "assistant")]
)
def test_real_pairs_are_beyond_doubt(request: pytest.FixtureRequest, model: str, drafter: str) -> None:
    main, head = request.getfixturevalue(model), request.getfixturevalue(drafter)
    assert report(main.path, (head(0.7) if callable(head) else head).path).doubts == ()


def test_the_model_itself_is_not_examined_further(hybrid: Callable[[float], TinyModel]) -> None:
    assert report(hybrid(0.7).path, hybrid(0.7).path) == PairReport("own_heads")


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"tokenizer__ggml__eos_token_id": 3}, r"The end-of-text token of small\.gguf is 3, the model's is 373\."),
        ({"tokenizer__ggml__pre": "llama-bpe"}, r"small\.gguf cuts text as 'llama-bpe', the model as 'gpt-2'\."),
    ],
)
def test_settings_of_the_vocabulary_that_differ_are_named(
    pair: tuple[Header, Header], values: dict[str, int | str], says: str
) -> None:
    main, draft = pair
    draft = changed(draft, tokenizer__ggml__add_bos_token=False, **values)
    (doubt,) = examine_pair(main, draft).doubts
    assert re.fullmatch(says, doubt), doubt


def spoiled(path: Path, key: str, at: int, bits: int) -> Path:
    """The file with the first byte of one text of a list changed by the bits of `bits`."""
    array = read_model(path).arrays[key]
    content, place = bytearray(path.read_bytes()), array.start
    for _ in range(at):
        place += 8 + int.from_bytes(content[place : place + 8], "little")
    content[place + 8] ^= bits
    path.write_bytes(content)
    return path


def test_the_first_merge_that_differs_is_named(pair: tuple[Header, Header]) -> None:
    main, draft = pair
    other = spoiled(draft.path, "tokenizer.ggml.merges", 7, 1)
    (doubt,) = report(main.path, other).doubts
    assert doubt.startswith("Merge 7 is ")
    assert "in small.gguf and" in doubt


def test_first_tokens_that_differ_are_doubted_and_not_refused(pair: tuple[Header, Header]) -> None:
    main, draft = pair
    other = spoiled(draft.path, "tokenizer.ggml.tokens", 2, 16)
    (doubt,) = report(main.path, other).doubts
    assert doubt.startswith("Token 2 is ")


def test_a_draft_as_large_as_its_model_is_doubted(pair: tuple[Header, Header], tmp_path: Path) -> None:
    large = write_model(tmp_path / "large.gguf", arch="llama", rows=5000)
    (doubt,) = report(pair[0].path, large).doubts
    assert doubt == "large.gguf is no smaller than the model: a guess costs nearly as much as the answer."


@pytest.mark.parametrize(
    ("model", "head", "doubted"),
    [
        (["Qwen3.5 9B"], ["Qwen3.5 9B"], False),
        (["Qwen3.5 9B"], ["Qwen Qwen3.5-9B"], False),
        ([], ["Tiny 1B"], False),
        (["Qwen3.5 9B"], [], False),
        (["Qwen3.5 9B"], ["Qwen3.5 27B"], True),
        ([], ["Qwen3.5 27B"], True),
    ],
)
def test_heads_made_for_a_model_of_another_name_are_doubted(
    tmp_path: Path, model: list[str], head: list[str], doubted: bool
) -> None:
    main, heads = write_model(tmp_path / "m.gguf", bases=model), write_heads(tmp_path / "h.gguf", bases=head)
    assert bool(report(main, heads).doubts) is doubted


def test_a_drafter_quantised_harder_than_its_model_comes_with_the_remedy(tmp_path: Path) -> None:
    main = write_model(tmp_path / "m.gguf", "Tiny 1B")
    coarse = read_model(write_heads(tmp_path / "h.gguf"))
    tensors = {name: replace(one, size=(one.size or 0) // 8) for name, one in coarse.tensors.items()}
    coarse = replace(coarse, tensors=tensors)
    (advice,) = examine_pair(read_model(main), coarse).advice
    assert "h.gguf is quantised harder than its model (F32, 4.0 bits against F32, 32.0 bits)" in advice
    assert advice.endswith("a Q8_0 of it is small and guesses better.")
    fine = read_model(write_heads(tmp_path / "f.gguf", half=True))
    assert examine_pair(read_model(main), fine).advice == ()


def test_a_recurrent_draft_is_refused(dense_model: TinyModel, recurrent_model: TinyModel) -> None:
    with pytest.raises(DrafterUnsupported, match="recurrent model, whose guesses cannot be taken back"):
        report(dense_model.path, recurrent_model.path)
