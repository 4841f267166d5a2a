"""How logits become guesses: the likeliest token, or a draw with the noise of the answer."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from mtpchat.backend.noise import gumbel_noise
from mtpchat.config import SamplingConfig
from mtpchat.speculate.guessing import Guessing

ROWS = arrays(np.float32, st.integers(2, 60), elements=st.floats(-12, 12, width=32))
PLAIN = SamplingConfig(temperature=1.0, top_k=0, top_p=1.0, min_p=0.0)


def guessing(rule: str, sampling: SamplingConfig = PLAIN, seed: int = 3) -> Guessing:
    made = Guessing(rule)
    made.begin(sampling, seed)
    return made


@given(ROWS, st.floats(0, 3))
def test_argmax_takes_the_most_likely_token_at_any_temperature(row: np.ndarray, temperature: float) -> None:
    token, confidence = guessing("argmax", SamplingConfig(temperature=temperature))(row, 7)
    assert row[token] == row.max()
    shares = np.exp(row.astype(np.float64) - row.max())
    assert confidence == pytest.approx(1 / shares.sum(), rel=1e-3)


@pytest.mark.parametrize(
    ("rule", "temperature", "keyed"),
    [
        ("auto", 0.0, False),
        ("auto", 0.1, True),
        ("keyed", 0.0, False),
        ("keyed", 0.1, True),
        ("argmax", 2.0, False),
    ],
)
def test_noise_is_used_where_the_rule_and_the_temperature_ask_for_it(
    rule: str, temperature: float, keyed: bool
) -> None:
    assert guessing(rule, SamplingConfig(temperature=temperature)).keyed is keyed


def test_greedy_until_a_turn_begins() -> None:
    assert not Guessing("auto").keyed


@given(arrays(np.float32, st.integers(2, 18), elements=st.floats(-4, 4, width=32), unique=True), st.integers(0, 99))
def test_a_guess_from_the_targets_own_row_is_what_the_target_draws(row: np.ndarray, position: int) -> None:
    token, confidence = guessing("keyed")(row, position)
    ids = np.arange(len(row), dtype=np.int32)
    assert token == int(np.argmax(row.astype(np.float64) + gumbel_noise(3, position, ids)))
    assert 0 < confidence <= 1


SAMPLINGS = st.builds(
    SamplingConfig,
    temperature=st.floats(0.01, 4),
    top_k=st.integers(0, 40),
    top_p=st.floats(0, 1),
    min_p=st.floats(0, 1),
)


@given(ROWS, SAMPLINGS, st.integers(0, 2**63), st.integers(0, 2**20))
def test_every_setting_gives_a_possible_guess(
    row: np.ndarray, sampling: SamplingConfig, seed: int, position: int
) -> None:
    token, confidence = guessing("keyed", sampling, seed)(row, position)
    better = int((row > row[token]).sum())
    assert better < (min(sampling.top_k, 20) or 20)
    assert row[token] >= row.max() + np.log(max(sampling.min_p, 1e-4)) - 1e-4
    assert 0 < confidence <= 1 + 1e-9


def test_words_that_a_head_does_not_have_are_never_guessed() -> None:
    row = np.full(50, -np.inf, np.float32)
    row[[4, 9, 11]] = [1.0, 0.5, 0.0]
    for rule in ("argmax", "keyed"):
        assert {guessing(rule)(row, position)[0] for position in range(200)} <= {4, 9, 11}


def test_guesses_of_a_like_minded_drafter_meet_more_draws_with_the_same_noise() -> None:
    """What the rule is for: target and drafter differ a little, the temperature is high."""
    random = np.random.default_rng(5)
    ids = np.arange(20, dtype=np.int32)
    hits = {"argmax": 0, "keyed": 0}
    for position in range(600):
        target = random.standard_normal(20) * 1.5
        row = (target + random.standard_normal(20) * 0.4).astype(np.float32)
        drawn = int(np.argmax(target + gumbel_noise(3, position, ids)))
        for rule in hits:
            hits[rule] += guessing(rule)(row, position)[0] == drawn
    assert hits["keyed"] > 1.3 * hits["argmax"]


@given(ROWS, st.sampled_from([0.0, 0.2, 1.0, 2.0]), st.integers(1, 60))
def test_what_only_the_drafter_knows_is_no_guess(row: np.ndarray, temperature: float, known: int) -> None:
    # A draft model of the same family may have some tokens more; the target would refuse to decode them.
    made = guessing("auto", SamplingConfig(temperature=temperature))
    made.vocabulary = known
    token, confidence = made(row, 7)
    assert 0 <= token < known
    assert 0 < confidence <= 1
