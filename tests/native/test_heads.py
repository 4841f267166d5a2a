"""Contexts of EAGLE-3 heads and of assistants: what they read, what they say, what they refuse."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from mtpchat.backend.llama.draft import LlamaDraft
from mtpchat.backend.llama.eagle3 import LlamaEagle3
from mtpchat.backend.llama.target import LlamaTarget
from mtpchat.errors import DrafterUnsupported, MisuseRefused
from tests.models import TinyModel
from tests.native.contexts import LOG, load, settings


class TestEagle3:
    """The head's context, and the target that shows it its layers."""

    @pytest.fixture
    def pair(
        self, eagle3_model: TinyModel, eagle3: Callable[[float], TinyModel]
    ) -> Iterator[tuple[LlamaTarget, LlamaEagle3]]:
        model, head = load(eagle3_model.path), load(eagle3(1.0).path)
        target = LlamaTarget(model, settings(batch=128), LOG)
        draft = LlamaEagle3(head, settings(batch=128), LOG, target)
        yield target, draft
        draft.close()
        target.close()
        head.close()
        model.close()

    def test_rows_of_the_target_are_the_layers_side_by_side(self, pair: tuple[LlamaTarget, LlamaEagle3]) -> None:
        target, draft = pair
        rows = target.decode([5, 6, 7], rows="none").hidden()
        assert rows.shape == (3, target.capabilities.hidden_width) == (3, 3 * 128)
        assert draft.hidden_width == 3 * 128
        again = target.decode([8], rows="last")
        assert again.hidden().shape == (1, 3 * 128)
        # The input of the first layer is the embedding: the same for the same token wherever it stands.
        assert np.array_equal(target.decode([8]).hidden()[0, :128], again.hidden()[0, :128])

    @pytest.mark.parametrize("count", [1, 2, 31, 32, 33, 64, 96, 97, 120])
    def test_one_feed_says_what_many_say(self, pair: tuple[LlamaTarget, LlamaEagle3], count: int) -> None:
        """More rows than one encode takes, or than one decode may read, make no difference."""
        target, draft = pair
        tokens = [1 + i * 7 % 200 for i in range(count + 1)]
        rows = target.decode(tokens, rows="none").hidden()[:-1]
        whole = draft.feed(tokens[1:], 1, rows, want=True)
        assert whole is not None
        assert whole.hidden is not None
        logits, state = whole.logits.copy(), whole.hidden.copy()
        draft.rollback(0)
        for index, token in enumerate(tokens[1:]):
            single = draft.feed([token], 1 + index, rows[index : index + 1], want=index == count - 1)
        assert single is not None
        assert single.hidden is not None
        assert np.abs(state - single.hidden).max() < 1e-3
        finite = np.isfinite(logits)
        assert np.array_equal(finite, np.isfinite(single.logits))
        assert np.abs(logits[finite] - single.logits[finite]).max() < 1e-3

    def test_logits_are_over_the_models_words_and_only_the_heads_own_are_possible(
        self, pair: tuple[LlamaTarget, LlamaEagle3], eagle3_model: TinyModel
    ) -> None:
        target, draft = pair
        answer = eagle3_model.chain.answer
        rows = target.decode(answer[:2], rows="none").hidden()
        output = draft.feed([answer[1]], 1, rows[:1], want=True)
        assert output is not None
        assert set(np.flatnonzero(np.isfinite(output.logits))) == set(answer)
        assert int(np.argmax(output.logits)) == answer[2]

    def test_the_heads_own_state_stands_in_for_the_targets(
        self, pair: tuple[LlamaTarget, LlamaEagle3], eagle3_model: TinyModel
    ) -> None:
        target, draft = pair
        answer = eagle3_model.chain.answer
        rows = target.decode(answer[:2], rows="none").hidden()
        output = draft.feed([answer[1]], 1, rows[:1], want=True)
        for place in range(2, 6):
            assert output is not None
            assert output.hidden is not None
            assert int(np.argmax(output.logits)) == answer[place]
            output = draft.feed([answer[place]], place, output.hidden[np.newaxis, :], want=True)

    def test_rows_of_another_width_are_refused(self, pair: tuple[LlamaTarget, LlamaEagle3]) -> None:
        _, draft = pair
        for shape in ((1, 100), (2, 384)):
            with pytest.raises(MisuseRefused, match="shape"):
                draft.feed([1], 1, np.zeros(shape, np.float32), want=False)
        with pytest.raises(MisuseRefused, match="shape"):
            draft.feed([1], 1, None, want=True)

    def test_layers_that_are_not_there_are_refused(self, dense_target: LlamaTarget) -> None:
        for layers in ((0, 1, 3), (-1, 0, 1), ()):
            with pytest.raises(MisuseRefused):
                dense_target.expose_layers(layers)
        with pytest.raises(MisuseRefused, match="hidden"):
            dense_target.decode([1]).hidden()

    def test_a_model_that_is_no_eagle3_head_is_refused_and_the_target_stays_as_it_was(
        self, dense_target: LlamaTarget, draft_model: TinyModel
    ) -> None:
        model = load(draft_model.path)
        with pytest.raises(DrafterUnsupported, match="reads 0 layers"):
            LlamaEagle3(model, settings(), LOG, dense_target)
        assert dense_target.capabilities.hidden_width == 0
        model.close()


class TestAssistant:
    """A head that reads the target's memory."""

    def test_takes_one_row_at_the_end_of_the_targets_memory(
        self, gemma: TinyModel, assistant: Callable[[float], TinyModel]
    ) -> None:
        model, head = load(gemma.path), load(assistant(1.0).path, load_mtp=True)
        target = LlamaTarget(model, settings(hidden_rows=True), LOG)
        draft = LlamaDraft(head, settings(), LOG, target)
        assert draft.shared
        assert draft.heads == 1
        answer = gemma.chain.answer
        rows = target.decode(answer[:5], rows="none").hidden()
        for start in (0, 4, 6):
            with pytest.raises(MisuseRefused, match="fed at"):
                draft.feed([answer[5]], start, rows[4:], want=True)
        with pytest.raises(MisuseRefused):
            draft.feed(answer[5:7], 5, rows[3:], want=True)
        hidden = rows[4:]
        for place in range(5, 9):
            output = draft.feed([answer[place]], 5, hidden, want=True)
            assert output is not None
            assert output.hidden is not None
            assert int(np.argmax(output.logits)) == answer[place + 1]
            hidden = output.hidden[np.newaxis, :].copy()
        assert target.length == draft.length == 5
        draft.rollback(0)
        assert draft.length == 5
        draft.close()
        target.close()
        head.close()
        model.close()


class TestHeadsOfTheModel:
    """Heads inside the model's own layout."""

    @pytest.mark.parametrize("fixture", ["hybrid", "chained"])
    @pytest.mark.parametrize("count", [2, 3, 9])
    def test_one_feed_says_what_many_say(self, request: pytest.FixtureRequest, fixture: str, count: int) -> None:
        """The second guess goes on from the hidden row of the last token that was fed, however many came with it."""
        built = request.getfixturevalue(fixture)
        path = (built if isinstance(built, TinyModel) else built(1.0)).path
        model = load(path, load_mtp=True)
        target = LlamaTarget(model, settings(hidden_rows=True), LOG)
        draft = LlamaDraft(model, settings(), LOG, target)
        tokens = [1 + i * 7 % 200 for i in range(count)]
        hidden = target.decode(tokens, rows="none").hidden()
        states, logits = [], []
        for cuts in ([count], [1] * count):
            draft.rollback(0)
            at = 0
            for size in cuts:
                output = draft.feed(tokens[at : at + size], at, hidden[at : at + size], want=True)
                at += size
            assert output is not None
            assert output.hidden is not None
            states.append(output.hidden.copy())
            logits.append(output.logits.copy())
        assert np.abs(states[0] - states[1]).max() < 1e-3
        assert np.abs(logits[0] - logits[1]).max() < 1e-3
        for thing in (draft, target, model):
            thing.close()
