"""Settings that make llama.cpp end the process are told from the header; those of sound models are not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mtpchat.errors import DrafterUnsupported, ModelUnsupported
from mtpchat.gguf.facts import facts_of, read_model
from mtpchat.gguf.pairing import examine_pair
from mtpchat.gguf.traps import require_loadable, traps_of
from tests.gguf.draft import F32, I32, STRING, U32, Draft, draft_of, sound
from tests.models import TinyModel, gemma4, gemma4_assistant


def traps(path: Path) -> list[str]:
    header = read_model(path)
    return list(traps_of(header, facts_of(header)))


def test_sound_models_have_no_traps(
    hybrid_head: TinyModel, chained: TinyModel, gemma: TinyModel, recurrent_model: TinyModel, sliding: TinyModel
) -> None:
    for model in (hybrid_head, chained, gemma, recurrent_model, sliding):
        assert traps(model.path) == []


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda draft: draft.set("llama.block_count", U32, 0), "0 blocks"),
        (lambda draft: draft.set("llama.block_count", U32, 513), "513 blocks"),
        (lambda draft: draft.set("llama.nextn_predict_layers", U32, 3), "3 prediction heads among 2 blocks"),
        (lambda draft: draft.set("llama.attention.layer_norm_rms_epsilon", F32, -1.0), "layer_norm_rms_epsilon"),
        (lambda draft: draft.set("llama.attention.layer_norm_rms_epsilon", F32, float("nan")), "nan"),
        (lambda draft: draft.list("llama.rope.dimension_sections", I32, [0, 0, 0, 0]), "no dimension"),
        (lambda draft: draft.set("llama.rope.dimension_count", U32, 0), "no dimension"),
        (lambda draft: draft.set("llama.rope.dimension_count", U32, 3), "turns 3 dimensions"),
        (lambda draft: draft.set("llama.rope.dimension_count", U32, 64), "turns 64 dimensions of heads that have 4"),
        (lambda draft: draft.list("tokenizer.ggml.tokens", STRING, ["a", "b", "a"]), "two tokens 'a'"),
        (lambda draft: draft.set("llama.expert_used_count", U32, 0), "0 of 4 experts"),
        (lambda draft: draft.set("llama.expert_used_count", U32, 5), "5 of 4 experts"),
        (lambda draft: draft.set("llama.expert_count", U32, 1025), "of 1025 experts"),
        (lambda draft: draft.set("llama.expert_group_count", U32, 3), "groups of experts"),
    ],
)
def test_each_trap_is_told(tmp_path: Path, spoil: Callable[[Draft], None], says: str) -> None:
    draft = sound(1)
    draft.set("llama.expert_used_count", U32, 2)
    draft.set("llama.attention.key_length", U32, 4)
    path = tmp_path / "model.gguf"
    path.write_bytes(draft.write())
    assert traps(path) == []
    spoil(draft)
    path.write_bytes(draft.write())
    assert says in " ".join(traps(path))
    header = read_model(path)
    with pytest.raises(ModelUnsupported, match=r"^model\.gguf .*would end the whole program") as caught:
        require_loadable(header, facts_of(header))
    assert caught.value.hint


def test_empty_tokens_may_come_more_than_once(tmp_path: Path) -> None:
    draft = sound(0)
    draft.list("tokenizer.ggml.tokens", STRING, ["", "", "a", ""])
    path = tmp_path / "model.gguf"
    path.write_bytes(draft.write())
    assert traps(path) == []


def test_a_drafter_with_a_trap_is_refused_before_it_is_tried(tmp_path: Path) -> None:
    main, path = gemma4(tmp_path / "main.gguf"), tmp_path / "assistant.gguf"
    assistant = gemma4_assistant(path)
    assert examine_pair(read_model(main.path), read_model(assistant.path)).kind == "mtp"
    draft = draft_of(path)
    draft.set("gemma4-assistant.rope.dimension_count", U32, 0)
    path.write_bytes(draft.write())
    with pytest.raises(DrafterUnsupported, match="no dimension") as caught:
        examine_pair(read_model(main.path), read_model(path))
    assert caught.value.hint
