"""The tiny models keep their promises that can be seen without loading them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.models import OTHER, STANDARD, Chain, TinyModel, Vocabulary, hybrid_mtp


def test_the_same_arguments_write_the_same_bytes(tmp_path: Path) -> None:
    first, second = (hybrid_mtp(tmp_path / name, 0.7).path for name in ("a.gguf", "b.gguf"))
    assert first.read_bytes() == second.read_bytes()


def test_every_model_is_small(
    hybrid_random: TinyModel, chained: TinyModel, sliding: TinyModel, recurrent_model: TinyModel
) -> None:
    assert all(model.path.stat().st_size < 4 << 20 for model in (hybrid_random, chained, sliding, recurrent_model))


@pytest.mark.parametrize("acceptance", [0.0, 0.5, 0.7, 1.0])
def test_a_drafter_is_right_for_its_share_of_the_answer(acceptance: float) -> None:
    chain = Chain()
    guesses = chain.guesses(acceptance)
    right = sum(guesses[token] == chain.successor[token] for token in chain.answer)
    assert right == pytest.approx(acceptance * len(chain.answer), abs=0.5)


@given(length=st.integers(1, 40))
def test_an_answer_that_ends_has_the_length_that_was_asked_for(length: int) -> None:
    chain = Chain(eog_after=length)
    said = chain.follow(chain.answer[-1], 200)
    assert said[-1] == STANDARD.eos
    assert len(said) == length + 1


def test_an_endless_answer_never_meets_a_control_token() -> None:
    chain = Chain()
    assert not set(chain.follow(chain.answer[-1], 500)) & set(STANDARD.control)


@pytest.mark.parametrize("vocabulary", [STANDARD, OTHER])
def test_every_byte_and_every_word_has_its_token(vocabulary: Vocabulary) -> None:
    assert b"".join(vocabulary.piece(byte) for byte in range(256)) == bytes(range(256))
    assert all(vocabulary.piece(vocabulary.word(word)) == b" " + word.encode() for word in vocabulary.words)
    assert len(set(vocabulary.tokens)) == vocabulary.size
