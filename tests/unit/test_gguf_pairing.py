"""Drafters are matched with models before anything is loaded, and a refusal names the first difference."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest

from mtpchat.errors import DrafterMismatch, DrafterUnsupported
from mtpchat.gguf.facts import read_model
from mtpchat.gguf.header import ArrayRef, Header, Scalar
from mtpchat.gguf.pairing import check_draft_pair, check_head_pair, classify_drafter, same_file
from tests.models import OTHER, Chain, TinyModel, chained_heads, eagle3_head, hybrid_mtp


def changed(header: Header, **values: Scalar | None) -> Header:
    """The header with settings replaced (None: removed); double underscores stand for dots."""
    named = {key.replace("__", "."): value for key, value in values.items()}
    kept = {key: value for key, value in header.values.items() if key not in named}
    return dataclasses.replace(
        header, values={**kept, **{key: value for key, value in named.items() if value is not None}}
    )


def test_a_small_model_with_the_same_vocabulary_drafts(dense_model: TinyModel, draft_model: TinyModel) -> None:
    assert classify_drafter(read_model(dense_model.path), read_model(draft_model.path)) == "draft"


def test_any_model_may_draft_for_a_hybrid_one(hybrid: Callable[[float], TinyModel], draft_model: TinyModel) -> None:
    assert classify_drafter(read_model(hybrid(0.7).path), read_model(draft_model.path)) == "draft"


def test_another_vocabulary_is_refused_at_its_first_token(dense_model: TinyModel, foreign_draft: TinyModel) -> None:
    with pytest.raises(DrafterMismatch, match=r"Token 256 is .* in foreign\.gguf and .* in the model") as caught:
        check_draft_pair(read_model(dense_model.path), read_model(foreign_draft.path))
    assert caught.value.hint


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"tokenizer__ggml__model": "llama"}, "SPM vocabulary, the model's is BPE"),
        ({"tokenizer__ggml__add_bos_token": True}, "adds a begin-of-text token, the model does not"),
        ({"tokenizer__ggml__add_eos_token": True}, "adds a end-of-text token, the model does not"),
    ],
)
def test_tokenizer_settings_must_agree(
    dense_model: TinyModel, draft_model: TinyModel, values: dict[str, Scalar], says: str
) -> None:
    main, draft = read_model(dense_model.path), read_model(draft_model.path)
    with pytest.raises(DrafterMismatch, match=says):
        check_draft_pair(main, changed(draft, **values))


def test_end_tokens_matter_only_when_they_are_added(dense_model: TinyModel, draft_model: TinyModel) -> None:
    main, draft = read_model(dense_model.path), changed(read_model(draft_model.path), tokenizer__ggml__eos_token_id=7)
    check_draft_pair(main, draft)
    adding = {"tokenizer__ggml__add_eos_token": True}
    with pytest.raises(DrafterMismatch, match="end-of-text token"):
        check_draft_pair(changed(main, **adding), changed(draft, **adding))


def test_llama_3_adds_its_begin_token_without_saying_so(dense_model: TinyModel, draft_model: TinyModel) -> None:
    silent = {"tokenizer__ggml__pre": "llama-bpe", "tokenizer__ggml__add_bos_token": None}
    main, draft = read_model(dense_model.path), changed(read_model(draft_model.path), **silent)
    with pytest.raises(DrafterMismatch, match="begin-of-text"):
        check_draft_pair(main, draft)
    check_draft_pair(changed(main, **silent), draft)


@pytest.mark.parametrize(("missing", "fits"), [(128, True), (129, False)])
def test_vocabularies_may_differ_by_their_padding(
    dense_model: TinyModel, draft_model: TinyModel, missing: int, fits: bool
) -> None:
    main, draft = read_model(dense_model.path), read_model(draft_model.path)
    tokens = draft.arrays["tokenizer.ggml.tokens"]
    shorter = ArrayRef(tokens.kind, tokens.count - missing, tokens.start)
    draft = dataclasses.replace(draft, arrays={**draft.arrays, "tokenizer.ggml.tokens": shorter})
    if fits:
        check_draft_pair(main, draft)
        return
    with pytest.raises(DrafterMismatch, match="vocabulary of 245 tokens, the model's has 374"):
        check_draft_pair(main, draft)


def test_the_first_five_tokens_are_not_compared(dense_model: TinyModel, tmp_path: Path) -> None:
    main = read_model(dense_model.path)
    start, count = main.arrays["tokenizer.ggml.tokens"].start, 5
    content = bytearray(dense_model.path.read_bytes())
    at = start
    for _ in range(count):
        length = int.from_bytes(content[at : at + 8], "little")
        content[at + 8 : at + 8 + length] = b"!" * length
        at += 8 + length
    other = tmp_path / "other.gguf"
    other.write_bytes(content)
    check_draft_pair(main, read_model(other))
    content[at + 8] ^= 1
    other.write_bytes(content)
    with pytest.raises(DrafterMismatch, match="Token 5"):
        check_draft_pair(main, read_model(other))


def test_heads_in_a_file_of_their_own_fit_their_trunk(
    hybrid_trunk: TinyModel, hybrid_head: TinyModel, chained_trunk: TinyModel, chained_head_file: TinyModel
) -> None:
    for trunk, head in ((hybrid_trunk, hybrid_head), (chained_trunk, chained_head_file)):
        assert classify_drafter(read_model(trunk.path), read_model(head.path)) == "mtp"


def test_heads_fit_a_trunk_that_has_heads_too(hybrid: Callable[[float], TinyModel], hybrid_head: TinyModel) -> None:
    check_head_pair(read_model(hybrid(1.0).path), read_model(hybrid_head.path))


def test_the_same_model_with_heads_lends_its_heads(
    hybrid_trunk: TinyModel, hybrid: Callable[[float], TinyModel]
) -> None:
    assert classify_drafter(read_model(hybrid_trunk.path), read_model(hybrid(0.7).path)) == "mtp"


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"general__architecture": "qwen35moe"}, "architecture is qwen35moe, the model's is qwen35"),
        ({"qwen35__embedding_length": 64}, "embeddings are 64 wide, the model's 128"),
        ({"qwen35__block_count": 9}, "where llama.cpp does not look"),
    ],
)
def test_heads_of_another_model_are_refused(
    hybrid_trunk: TinyModel, hybrid_head: TinyModel, values: dict[str, Scalar], says: str
) -> None:
    head = changed(read_model(hybrid_head.path), **values)
    with pytest.raises((DrafterMismatch, DrafterUnsupported), match=says):
        check_head_pair(read_model(hybrid_trunk.path), head)


def test_heads_for_another_depth_are_refused(chained_trunk: TinyModel, chained_head_file: TinyModel) -> None:
    main = changed(read_model(chained_trunk.path), mimo2__block_count=5)
    with pytest.raises(DrafterMismatch, match="model has 2 blocks, the model's 5"):
        check_head_pair(main, read_model(chained_head_file.path))


def test_heads_that_llama_cpp_would_abort_on_are_unsupported(hybrid_trunk: TinyModel, tmp_path: Path) -> None:
    head = read_model(hybrid_mtp(tmp_path / "two.gguf", part="head", nextn=2).path)
    with pytest.raises(DrafterUnsupported, match="exactly one"):
        check_head_pair(read_model(hybrid_trunk.path), head)


def test_heads_are_no_draft_model(hybrid_trunk: TinyModel, hybrid_head: TinyModel) -> None:
    with pytest.raises(DrafterMismatch, match="prediction heads alone"):
        check_draft_pair(read_model(hybrid_trunk.path), read_model(hybrid_head.path))


@pytest.mark.parametrize("arch", ["dflash", "gemma9-assistant"])
def test_drafters_of_later_versions_are_named(dense_model: TinyModel, draft_model: TinyModel, arch: str) -> None:
    drafter = changed(read_model(draft_model.path), general__architecture=arch)
    with pytest.raises(DrafterUnsupported, match=r"draft\.gguf .* not yet supported by this version of mtpchat"):
        classify_drafter(read_model(dense_model.path), drafter)


@pytest.mark.parametrize("kind", ["adapter", "mmproj", "imatrix"])
def test_files_that_are_no_model_are_refused(dense_model: TinyModel, draft_model: TinyModel, kind: str) -> None:
    with pytest.raises(DrafterMismatch, match="is no draft model"):
        classify_drafter(read_model(dense_model.path), changed(read_model(draft_model.path), general__type=kind))


def test_naming_the_model_as_its_own_drafter_means_its_heads(
    hybrid: Callable[[float], TinyModel], dense_model: TinyModel, tmp_path: Path
) -> None:
    main = hybrid(0.7).path
    link = tmp_path / "link.gguf"
    link.symlink_to(main)
    assert classify_drafter(read_model(main), read_model(link)) == "own_heads"
    plain = read_model(dense_model.path)
    with pytest.raises(DrafterMismatch, match="no prediction heads"):
        classify_drafter(plain, plain)


def test_paths_are_one_file_when_links_lead_there(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_bytes(b"1")
    two.write_bytes(b"1")
    (tmp_path / "link").symlink_to(one)
    assert same_file(one, tmp_path / "link")
    assert same_file(one, tmp_path / "." / "one")
    assert not same_file(one, two)
    assert same_file(tmp_path / "none", tmp_path / "none")
    assert not same_file(tmp_path / "none", one)


def test_chained_heads_in_their_own_file_name_their_number(tmp_path: Path) -> None:
    head = chained_heads(tmp_path / "heads.gguf", (1.0, 0.5), part="head")
    assert read_model(head.path).integer("mimo2.nextn_predict_layers") == 2


@pytest.fixture
def eagle3_pair(eagle3_model: TinyModel, eagle3: Callable[[float], TinyModel]) -> tuple[Header, Header]:
    """Headers of a model and of an EAGLE-3 head that fits it."""
    return read_model(eagle3_model.path), read_model(eagle3(0.7).path)


def test_an_eagle3_head_is_recognised_by_its_file(eagle3_pair: tuple[Header, Header]) -> None:
    assert classify_drafter(*eagle3_pair) == "eagle3"


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"eagle3__target_hidden_size": 64}, "made for embeddings 64 wide, the model's are 128"),
        ({"eagle3__target_hidden_size": None}, "made for embeddings of unknown width wide"),
        ({"eagle3__block_count": 2}, "has 2 blocks instead of one"),
        ({"eagle3__attention__value_length": 16}, "keys and values of different sizes"),
        (
            {"eagle3__embedding_length": 64},
            r"no token_embd\.weight .* is 128 wide instead of 64",
        ),
    ],
)
def test_an_eagle3_head_that_llama_cpp_would_abort_on_is_refused(
    eagle3_pair: tuple[Header, Header], values: dict[str, Scalar], says: str
) -> None:
    main, head = eagle3_pair
    with pytest.raises((DrafterMismatch, DrafterUnsupported), match=says):
        classify_drafter(main, changed(head, **values))


def test_an_eagle3_head_must_not_read_layers_that_the_model_lacks(eagle3_pair: tuple[Header, Header]) -> None:
    main, head = eagle3_pair
    with pytest.raises(DrafterMismatch, match="it reads layer 2, and the model has 2"):
        classify_drafter(changed(main, llama__block_count=2), head)


def test_an_eagle3_head_without_its_list_of_layers_is_unsupported(eagle3_pair: tuple[Header, Header]) -> None:
    main, head = eagle3_pair
    arrays = {key: value for key, value in head.arrays.items() if key != "eagle3.target_layers"}
    with pytest.raises(DrafterUnsupported, match="reads 0 layers"):
        classify_drafter(main, dataclasses.replace(head, arrays=arrays))


def test_an_eagle3_head_is_not_used_where_llama_cpp_hides_the_layers(
    sliding: TinyModel, eagle3: Callable[[float], TinyModel]
) -> None:
    with pytest.raises(DrafterUnsupported, match="does not show it the layers of the architecture gemma3"):
        classify_drafter(read_model(sliding.path), read_model(eagle3(0.7).path))


def test_an_eagle3_head_over_other_words_is_refused(eagle3_model: TinyModel, tmp_path: Path) -> None:
    head = eagle3_head(tmp_path / "other.gguf", chain=Chain(vocabulary=OTHER))
    with pytest.raises(DrafterMismatch, match=r"vocabulary|Token 256"):
        classify_drafter(read_model(eagle3_model.path), read_model(head.path))


def test_an_eagle3_head_whose_words_do_not_fit_its_output_is_unsupported(eagle3_pair: tuple[Header, Header]) -> None:
    main, head = eagle3_pair
    words = dataclasses.replace(head.tensors["d2t"], shape=(7,))
    with pytest.raises(DrafterUnsupported, match="does not fit its output"):
        classify_drafter(main, dataclasses.replace(head, tensors={**head.tensors, "d2t": words}))


@pytest.fixture
def gemma_pair(gemma: TinyModel, assistant: Callable[[float], TinyModel]) -> tuple[Header, Header]:
    """Headers of a gemma4 model and of an assistant that fits it."""
    return read_model(gemma.path), read_model(assistant(0.7).path)


def test_an_assistant_is_a_kind_of_prediction_heads(gemma_pair: tuple[Header, Header]) -> None:
    assert classify_drafter(*gemma_pair) == "mtp"


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("embedding_length_out", 64, "made for embeddings 64 wide, the model's are 128"),
        ("attention.key_length", 64, "its key length is 64, the model's 32"),
        ("attention.key_length_swa", 64, "its key length swa is 64, the model's 32"),
        ("attention.sliding_window", 64, "its sliding window is 64, the model's 32"),
        ("attention.head_count_kv", 2, "its layer 0 reads 2 key heads where the model has 1"),
    ],
)
def test_an_assistant_that_would_misread_the_memory_is_refused(
    gemma_pair: tuple[Header, Header], key: str, value: int, says: str
) -> None:
    main, head = gemma_pair
    with pytest.raises(DrafterMismatch, match=says):
        classify_drafter(main, changed(head, **{f"gemma4-assistant.{key}": value}))


def test_an_assistant_of_another_architecture_is_refused(
    dense_model: TinyModel, assistant: Callable[[float], TinyModel]
) -> None:
    with pytest.raises(DrafterMismatch, match="is a Gemma 4 assistant, the model's architecture is llama"):
        classify_drafter(read_model(dense_model.path), read_model(assistant(0.7).path))
