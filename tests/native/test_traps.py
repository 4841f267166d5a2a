"""What aborts or silently corrupts llama.cpp is refused before the call, with words."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from mtpchat.backend.llama.context import context_params
from mtpchat.backend.llama.draft import LlamaDraft, refuse_unusable_heads
from mtpchat.backend.llama.symbols import Symbols, probe, symbols
from mtpchat.backend.llama.target import LlamaTarget
from mtpchat.backend.protocol import CancelFlag
from mtpchat.errors import ContextFull, Interrupted, MisuseRefused, RollbackImpossible
from tests.gguf.draft import BOOL, STRING, draft_of
from tests.models import TinyModel, dense
from tests.native.contexts import LOG, load, settings


@pytest.fixture
def hybrid_target(hybrid_random: TinyModel) -> Iterator[LlamaTarget]:
    model = load(hybrid_random.path, load_mtp=True)
    target = LlamaTarget(model, settings(snapshots=3, hidden_rows=True), LOG)
    yield target
    target.close()
    model.close()


def test_more_tokens_than_the_batch_holds_are_refused(dense_target: LlamaTarget) -> None:
    with pytest.raises(MisuseRefused, match="33"):
        dense_target.decode([1] * 33)
    assert dense_target.length == 0


def test_an_empty_decode_is_refused(dense_target: LlamaTarget) -> None:
    with pytest.raises(MisuseRefused):
        dense_target.decode([])


def test_more_rows_than_were_reserved_are_refused(dense_target: LlamaTarget) -> None:
    with pytest.raises(MisuseRefused, match="6 rows"):
        dense_target.decode([1] * 6, rows="all")


@pytest.mark.parametrize("token", [-1, 1 << 20])
def test_tokens_outside_the_vocabulary_are_refused(dense_target: LlamaTarget, token: int) -> None:
    with pytest.raises(MisuseRefused, match="vocabulary"):
        dense_target.decode([1, token])


def test_a_full_context_is_refused_and_stays_usable(dense_target: LlamaTarget) -> None:
    for _ in range(8):
        dense_target.decode([1] * 32, rows="none")
    with pytest.raises(ContextFull):
        dense_target.decode([1])
    dense_target.rollback(10)
    assert dense_target.decode([2]).start == 10


@pytest.mark.parametrize("context", [1, 3, 200, 257])
def test_a_context_smaller_than_the_batch_takes_as_many_tokens_as_it_has_room_for(
    dense_model: TinyModel, hybrid_random: TinyModel, context: int
) -> None:
    for path, snapshots in ((dense_model.path, 0), (hybrid_random.path, 4)):
        model = load(path)
        target = LlamaTarget(model, settings(context=context, batch=512, snapshots=snapshots), LOG)
        room = target.capabilities.context
        assert room >= context
        with pytest.raises((ContextFull, MisuseRefused)):
            target.decode([1] * (room + 1))
        target.decode([1] * min(room, 512), rows="none")
        target.clear()
        target.decode([1] * 5, rows="all")
        target.close()
        model.close()


def test_rows_that_were_not_asked_for_cannot_be_read(dense_target: LlamaTarget) -> None:
    rows = dense_target.decode([1, 2, 3], rows="last")
    assert rows.logits(2).shape[0] > 100
    for row in (0, 1, 3, -1):
        with pytest.raises(MisuseRefused):
            rows.logits(row)
    with pytest.raises(MisuseRefused):
        dense_target.decode([4], rows="none").logits(0)


def test_hidden_rows_of_a_context_without_them_cannot_be_read(dense_target: LlamaTarget) -> None:
    with pytest.raises(MisuseRefused, match="hidden"):
        dense_target.decode([1]).hidden()


def test_a_batch_no_wider_than_the_snapshots_is_refused() -> None:
    with pytest.raises(MisuseRefused, match="too small"):
        context_params(settings(batch=4, snapshots=3))


def test_an_mtp_context_of_a_model_without_its_heads_is_refused(hybrid_random: TinyModel) -> None:
    model = load(hybrid_random.path, load_mtp=False)
    target = LlamaTarget(model, settings(hidden_rows=True), LOG)
    with pytest.raises(MisuseRefused, match="without its MTP blocks"):
        LlamaDraft(model, settings(), LOG, target)
    target.close()
    model.close()


def test_a_build_without_the_experimental_symbols_is_explained() -> None:
    absent = probe(Symbols(None, None, None, None, None))
    assert "hidden rows" in absent.why_no_mtp
    assert absent.why_no_chained_heads
    assert absent.why_no_eagle3
    assert not probe().why_no_mtp
    assert not probe().why_no_eagle3
    without_layers = probe(dataclasses.replace(symbols(), get_embeddings_layer_inp=None))
    assert "layer inputs" in without_layers.why_no_eagle3
    assert not without_layers.why_no_mtp


def test_hidden_rows_of_another_width_are_refused(hybrid_random: TinyModel, dense_model: TinyModel) -> None:
    heads = load(hybrid_random.path, load_mtp=True)
    other = load(dense_model.path)
    target = LlamaTarget(other, settings(), LOG)
    with pytest.raises(Exception, match="hidden rows"):
        refuse_unusable_heads(heads, target)
    target.close()
    other.close()
    heads.close()


class TestHybridRollback:
    """llama.cpp accepts each of the refused ones and restores a stale state."""

    def test_within_the_last_decode_is_exact(self, hybrid_target: LlamaTarget) -> None:
        hybrid_target.decode([5, 6, 7], rows="none")
        hybrid_target.decode([8, 9, 10, 11], rows="all")
        hybrid_target.rollback(5)
        after = hybrid_target.decode([12]).logits(0).copy()
        hybrid_target.clear()
        hybrid_target.decode([5, 6, 7, 8, 9], rows="none")
        truth = hybrid_target.decode([12]).logits(0)
        assert np.abs(after - truth).max() < 1e-3

    def test_deeper_than_the_last_decode_is_refused(self, hybrid_target: LlamaTarget) -> None:
        hybrid_target.decode([8, 9, 10, 11], rows="all")
        hybrid_target.decode([12])
        with pytest.raises(RollbackImpossible):
            hybrid_target.rollback(4)
        assert hybrid_target.length == 5

    def test_of_a_whole_decode_is_refused(self, hybrid_target: LlamaTarget) -> None:
        hybrid_target.decode([1, 2, 3], rows="none")
        hybrid_target.decode([8, 9], rows="all")
        with pytest.raises(RollbackImpossible):
            hybrid_target.rollback(3)

    def test_twice_without_a_decode_is_refused(self, hybrid_target: LlamaTarget) -> None:
        hybrid_target.decode([8, 9, 10, 11], rows="all")
        hybrid_target.rollback(3)
        with pytest.raises(RollbackImpossible):
            hybrid_target.rollback(2)

    def test_deeper_than_the_snapshots_is_refused(self, hybrid_target: LlamaTarget) -> None:
        hybrid_target.decode([1, 2, 3, 4, 5, 6, 7, 8], rows="none")
        with pytest.raises(RollbackImpossible):
            hybrid_target.rollback(4)

    def test_checkpoint_brings_back_what_rollback_cannot(self, hybrid_target: LlamaTarget) -> None:
        hybrid_target.decode([5, 6, 7], rows="none")
        state = hybrid_target.checkpoint()
        assert state
        truth = hybrid_target.decode([8]).logits(0).copy()
        for token in (9, 10, 11):
            hybrid_target.decode([token])
        hybrid_target.restore(state, 3)
        assert hybrid_target.length == 3
        assert np.abs(hybrid_target.decode([8]).logits(0) - truth).max() < 1e-3

    def test_a_spoiled_checkpoint_leaves_an_empty_memory(self, hybrid_target: LlamaTarget) -> None:
        hybrid_target.decode([5, 6, 7], rows="none")
        with pytest.raises(RollbackImpossible):
            hybrid_target.restore(b"nonsense", 2)
        assert hybrid_target.length == 0
        assert hybrid_target.decode([5]).start == 0


def test_a_lost_sliding_window_is_not_rolled_back_into(sliding: TinyModel) -> None:
    model = load(sliding.path)
    target = LlamaTarget(model, settings(context=1024), LOG)
    for start in range(0, 640, 32):
        target.decode([1 + (start + i) % 50 for i in range(32)], rows="none")
    target.rollback(639)
    with pytest.raises(RollbackImpossible, match="window"):
        target.rollback(100)
    target.close()
    model.close()


def test_a_set_flag_interrupts_a_decode_and_memory_stays_in_step(dense_target: LlamaTarget) -> None:
    dense_target.decode([1, 2, 3], rows="none")
    flag = CancelFlag()
    flag.set()
    with pytest.raises(Interrupted):
        dense_target.decode([4, 5], interrupt=flag)
    assert dense_target.length == 3
    flag.clear()
    assert dense_target.decode([4, 5], interrupt=flag).start == 3


def test_native_code_sees_the_flag_while_it_computes(dense_target: LlamaTarget) -> None:
    class LateFlag(CancelFlag):
        """Not set when Python asks, set when native code does."""

        def __call__(self) -> bool:
            return False

    flag = LateFlag()
    flag.set()
    dense_target.decode([1, 2, 3], rows="none")
    with pytest.raises(Interrupted):
        dense_target.decode([4, 5], interrupt=flag)
    assert dense_target.length == 3
    assert dense_target.decode([4]).start == 3


def test_a_draft_context_refuses_gaps_overlaps_and_wrong_rows(hybrid_random: TinyModel) -> None:
    model = load(hybrid_random.path, load_mtp=True)
    target = LlamaTarget(model, settings(hidden_rows=True, snapshots=3), LOG)
    draft = LlamaDraft(model, settings(), LOG, target)
    rows = np.zeros((2, draft.hidden_width), np.float32)
    draft.feed([1, 2], 0, rows, want=True)
    for start in (1, 3):
        with pytest.raises(MisuseRefused, match="fed at"):
            draft.feed([1, 2], start, rows, want=False)
    with pytest.raises(MisuseRefused, match="shape"):
        draft.feed([1], 2, rows, want=False)
    with pytest.raises(MisuseRefused, match="shape"):
        draft.feed([1, 2], 2, None, want=False)
    with pytest.raises(MisuseRefused, match="Head 1"):
        draft.feed([1, 2], 2, rows, want=False, head=1)
    with pytest.raises(MisuseRefused):
        draft.feed([1] * 33, 2, np.zeros((33, draft.hidden_width), np.float32), want=False)
    draft.close()
    target.close()
    model.close()


def test_a_vocabulary_that_wants_a_beginning_and_has_none_is_not_asked_for_it(tmp_path: Path) -> None:
    path = dense(tmp_path / "no-beginning.gguf").path
    draft = draft_of(path)
    draft.set("tokenizer.ggml.pre", STRING, "glm4")
    draft.set("tokenizer.ggml.add_bos_token", BOOL, True)
    draft.pairs = [one for one in draft.pairs if one[0] != b"tokenizer.ggml.bos_token_id"]
    path.write_bytes(draft.write())
    model = load(path)
    assert model.vocab.adds_bos
    assert model.vocab.bos_text == ""
    assert model.vocab.encode("Hello", add_bos=True) == model.vocab.encode("Hello")
    model.close()
