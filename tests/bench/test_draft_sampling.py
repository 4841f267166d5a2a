"""The comparison of guesses: its chances are those of real draws, and lie between the proven bounds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from benchmarks.draft_sampling import SHARES, Place, by_confidence, ceiling, judge, keyed, rules, softened
from mtpchat.backend.noise import gumbel_noise
from mtpchat.config import SamplingConfig
from mtpchat.speculate.guessing import Guessing

WEIGHTS = arrays(np.float64, 12, elements=st.one_of(st.just(0.0), st.floats(1e-3, 1))).filter(np.any)
ALL = SamplingConfig(temperature=0.8, top_k=0, top_p=1.0, min_p=0.0)


def normal(weights: np.ndarray) -> np.ndarray:
    made: np.ndarray = weights / weights.sum()
    return made


@given(WEIGHTS, WEIGHTS)
def test_shared_noise_meets_between_the_proven_floor_and_the_ceiling(p: np.ndarray, q: np.ndarray) -> None:
    p, q = normal(p), normal(q)
    most, chance = ceiling(p, q), keyed(p, q)
    assert chance <= most + 1e-9
    assert chance >= most / (2 - most) - 1e-9  # (1 - TV) / (1 + TV) with TV = 1 - most
    assert chance == pytest.approx(keyed(q, p))


@given(WEIGHTS)
def test_equal_distributions_always_meet(p: np.ndarray) -> None:
    assert keyed(normal(p), normal(p)) == pytest.approx(1)
    assert ceiling(normal(p), normal(p)) == pytest.approx(1)


def test_the_chance_is_that_of_draws_with_the_programs_own_noise() -> None:
    random = np.random.default_rng(3)
    p, q = normal(random.random(12) ** 3), normal(random.random(12) ** 3)
    ids, draws = np.arange(12), 4000
    noise = np.stack([gumbel_noise(7, position, ids) for position in range(draws)])
    met = np.mean((np.log(p) + noise).argmax(axis=1) == (np.log(q) + noise).argmax(axis=1))
    chance = keyed(p, q)
    assert abs(met - chance) < 5 * np.sqrt(chance * (1 - chance) / draws)
    assert abs(chance - ceiling(p, q)) > 0.01  # the two could be told apart


def test_each_rule_is_judged_by_the_targets_distribution() -> None:
    target = np.log(np.array([0.6, 0.3, 0.1], np.float32))
    guessing = Guessing()
    guessing.begin(ALL, 0)
    place = judge(target, target, ALL, guessing)
    p = softened(target, np.arange(3), 0.8)
    assert place.argmax == pytest.approx(p[0])
    assert place.keyed[SHARES.index(1.0)] == place.ceilings[SHARES.index(1.0)] == pytest.approx(1)
    assert place.confidence == pytest.approx(0.6)
    other = judge(target, np.array([0.0, 9.0, 0.0], np.float32), ALL, guessing)
    assert other.argmax == pytest.approx(p[1])


def test_prompts_weigh_the_same_and_the_gain_is_taken_prompt_by_prompt() -> None:
    def place(argmax: float, drawn: float, confidence: float = 0.2) -> Place:
        return Place(confidence, argmax, (drawn,) * len(SHARES), (drawn,) * len(SHARES))

    answers = [[place(0.2, 0.4)] * 9, [place(0.6, 0.7, 0.95)], []]
    found = {rule.name: rule for rule in rules(answers)}
    assert found["argmax"].kept == pytest.approx(0.4)
    assert found["keyed, q at 1 T"].kept == pytest.approx(0.55)
    assert found["keyed, q at 1 T"].gain == pytest.approx(0.15)
    assert found["argmax"].gain == 0
    assert found["best"].kept == found["ceiling"].kept
    assert [row["tokens"] for row in by_confidence(answers)] == [9, 1]
