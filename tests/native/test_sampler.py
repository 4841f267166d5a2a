"""Choosing a token: exact draws from what truncation leaves, noise that is a pure function, penalties as defined."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtpchat.backend.llama.sampler import LlamaSampler
from mtpchat.backend.noise import gumbel_noise
from mtpchat.backend.protocol import Floats
from mtpchat.config import SamplingConfig

VOCABULARY = 12
LOGITS = np.array([2.0, 1.6, 1.1, 0.9, 0.4, 0.0, -0.3, -0.8, -1.2, -2.0, -3.0, -6.0], np.float32)
OPEN = {"top_k": 0, "top_p": 1.0, "min_p": 0.0}
DRAWS = 6000
CONTEXT = (1, 0, 0, 3, 5, 1)


def truncated(logits: Floats, sampling: SamplingConfig) -> np.ndarray:
    """The exact distribution: top-k, then top-p and min-p on plain probabilities, then the temperature."""
    kept = np.ones(len(logits), bool)
    if sampling.top_k > 0:
        kept &= np.argsort(np.argsort(-logits, kind="stable")) < sampling.top_k
    if sampling.top_p < 1:
        order = np.argsort(-logits, kind="stable")
        order = order[kept[order]]
        shares = np.exp(logits[order] - logits[order[0]])
        behind = (np.cumsum(shares) - shares) / shares.sum()
        kept[order[behind >= sampling.top_p]] = False
    if sampling.min_p > 0:
        kept &= logits >= logits.max() + np.log(sampling.min_p)
    weights = np.where(kept, np.exp((logits - logits.max()).astype(np.float64) / sampling.temperature), 0.0)
    return weights / weights.sum()


def penalised(logits: Floats, tokens: Sequence[int], sampling: SamplingConfig) -> Floats:
    """Penalties by definition: what was said counts against itself."""
    window = list(tokens)[-sampling.penalty_last_n :] if sampling.penalty_last_n > 0 else list(tokens)
    if sampling.penalty_last_n == 0:
        return logits
    changed = logits.astype(np.float64)
    for token in set(window):
        count = window.count(token)
        changed[token] *= sampling.repeat_penalty if changed[token] <= 0 else 1 / sampling.repeat_penalty
        changed[token] -= count * sampling.frequency_penalty + sampling.presence_penalty
    return changed.astype(np.float32)


def draws(sampling: SamplingConfig, seed: int = 17, count: int = DRAWS, context: Sequence[int] = ()) -> np.ndarray:
    """How often each token is drawn at positions 0 .. count - 1 of one turn."""
    sampler = LlamaSampler(sampling, seed, VOCABULARY)
    sampler.reset(context)
    counts = np.bincount([sampler.sample(LOGITS, at) for at in range(count)], minlength=VOCABULARY)
    sampler.close()
    return counts


def chi_square(counts: np.ndarray, chances: np.ndarray) -> tuple[float, int]:
    """Statistic and degrees of freedom; tokens expected fewer than five times are counted as one."""
    expected = chances * counts.sum()
    common = expected >= 5
    seen = np.append(counts[common], counts[~common].sum())
    wanted = np.append(expected[common], expected[~common].sum())
    some = wanted > 0
    return float((((seen - wanted) ** 2)[some] / wanted[some]).sum()), int(some.sum()) - 1


def bound(freedom: int) -> float:
    """Chi-square value exceeded by chance once in about 10,000 (Wilson and Hilferty, 1931)."""
    share = 2 / (9 * freedom)
    return float(freedom * (1 - share + 3.719 * np.sqrt(share)) ** 3)


SETTINGS = {
    "all": SamplingConfig(temperature=1.0, **OPEN),
    "hot": SamplingConfig(temperature=1.8, **OPEN),
    "cool": SamplingConfig(temperature=0.5, **OPEN),
    "top-k": SamplingConfig(temperature=1.0, **{**OPEN, "top_k": 4}),
    "top-p": SamplingConfig(temperature=0.9, **{**OPEN, "top_p": 0.7}),
    "min-p": SamplingConfig(temperature=1.2, **{**OPEN, "min_p": 0.2}),
    "everything": SamplingConfig(temperature=0.8, top_k=7, top_p=0.9, min_p=0.05),
}


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("seed", [17, 2**63 - 1])
def test_draws_follow_the_exact_distribution(name: str, seed: int) -> None:
    sampling = SETTINGS[name]
    chances = truncated(LOGITS, sampling)
    counts = draws(sampling, seed)
    assert set(np.flatnonzero(counts)) <= set(np.flatnonzero(chances)), "a token was drawn that truncation removes"
    statistic, freedom = chi_square(counts, chances)
    assert freedom >= 1
    assert statistic < bound(freedom)


def test_the_statistic_notices_a_wrong_distribution() -> None:
    counts = draws(SETTINGS["all"])
    statistic, freedom = chi_square(counts, truncated(LOGITS, SamplingConfig(temperature=1.1, **OPEN)))
    assert statistic > bound(freedom)


def test_draws_across_seeds_at_one_position_follow_the_distribution_too() -> None:
    sampling = SETTINGS["everything"]
    counts = np.zeros(VOCABULARY, np.int64)
    for seed in range(3000):
        sampler = LlamaSampler(sampling, seed, VOCABULARY)
        counts[sampler.sample(LOGITS, 41)] += 1
        sampler.close()
    statistic, freedom = chi_square(counts, truncated(LOGITS, sampling))
    assert statistic < bound(freedom)


def test_neighbouring_draws_are_independent() -> None:
    sampler = LlamaSampler(SETTINGS["all"], 5, VOCABULARY)
    drawn = [min(sampler.sample(LOGITS, at), 3) for at in range(DRAWS)]
    sampler.close()
    pairs = np.zeros((4, 4))
    for first, second in itertools.pairwise(drawn):
        pairs[first, second] += 1
    expected = np.outer(pairs.sum(1), pairs.sum(0)) / pairs.sum()
    assert float(((pairs - expected) ** 2 / expected).sum()) < bound(9)


@pytest.mark.parametrize("last_n", [-1, 0, 2, 4, 64])
@pytest.mark.parametrize(
    "penalties",
    [
        {"repeat_penalty": 1.4},
        {"presence_penalty": 0.7},
        {"frequency_penalty": 0.5},
        {"repeat_penalty": 1.2, "presence_penalty": 0.3, "frequency_penalty": 0.4},
        {"repeat_penalty": 0.8, "presence_penalty": -0.5},
    ],
    ids=lambda p: "+".join(key.removesuffix("_penalty") for key in p),
)
def test_penalties_are_those_of_the_definition(penalties: dict[str, float], last_n: int) -> None:
    sampling = SamplingConfig(temperature=1.0, penalty_last_n=last_n, **OPEN, **penalties)
    statistic, freedom = chi_square(
        draws(sampling, context=CONTEXT), truncated(penalised(LOGITS, CONTEXT, sampling), sampling)
    )
    assert statistic < bound(freedom)
    greedy = SamplingConfig(temperature=0.0, penalty_last_n=last_n, **OPEN, **penalties)
    assert set(np.flatnonzero(draws(greedy, count=3, context=CONTEXT))) == {
        int(np.argmax(penalised(LOGITS, CONTEXT, greedy)))
    }


@given(
    logits=st.lists(st.floats(-8, 8, width=32), min_size=VOCABULARY, max_size=VOCABULARY, unique=True),
    context=st.lists(st.integers(0, VOCABULARY - 1), max_size=20),
    accepted=st.lists(st.integers(0, VOCABULARY - 1), max_size=8),
    last_n=st.sampled_from([-1, 3, 8, 64]),
)
@settings(max_examples=150, deadline=None)
def test_penalised_greedy_choice_follows_what_was_accepted(
    logits: list[float], context: list[int], accepted: list[int], last_n: int
) -> None:
    sampling = SamplingConfig(
        temperature=0.0, repeat_penalty=1.3, presence_penalty=0.4, frequency_penalty=0.2, penalty_last_n=last_n
    )
    row = np.array(logits, np.float32)
    sampler = LlamaSampler(sampling, 0, VOCABULARY)
    sampler.reset(context)
    for token in accepted:
        sampler.sample(row, 0)
        sampler.accept(token)
    chosen = sampler.sample(row, 0)
    sampler.close()
    truth = penalised(row, [*context, *accepted], sampling)
    assert truth[chosen] >= truth.max() - 1e-4


@pytest.mark.parametrize("sampling", SETTINGS.values(), ids=SETTINGS)
def test_a_draw_hangs_on_seed_and_position_alone(sampling: SamplingConfig) -> None:
    def drawn(seed: int, order: Sequence[int]) -> list[int]:
        sampler = LlamaSampler(sampling, seed, VOCABULARY)
        found = {at: sampler.sample(LOGITS, at) for at in order}
        sampler.close()
        return [found[at] for at in range(200)]

    forward = drawn(3, range(200))
    assert drawn(3, range(199, -1, -1)) == forward
    assert drawn(3, [*range(0, 200, 2), *range(1, 200, 2)]) == forward
    assert drawn(4, range(200)) != forward


def test_a_greedy_choice_is_the_most_likely_token_whatever_the_seed() -> None:
    for seed in (0, 1, 99):
        assert draws(SamplingConfig(temperature=0.0), seed, 20)[0] == 20


def test_without_truncation_every_token_is_possible() -> None:
    flat = np.zeros(VOCABULARY, np.float32)
    sampler = LlamaSampler(SamplingConfig(temperature=1.0, **OPEN), 1, VOCABULARY)
    assert {sampler.sample(flat, at) for at in range(400)} == set(range(VOCABULARY))
    sampler.close()


@given(
    seed=st.integers(-(2**70), 2**70),
    position=st.integers(0, 2**31 - 1),
    tokens=st.lists(st.integers(0, 2**31 - 1), min_size=1, max_size=30),
)
def test_noise_is_a_pure_function_that_keeps_no_order(seed: int, position: int, tokens: list[int]) -> None:
    ids = np.array(tokens, np.int32)
    noise = gumbel_noise(seed, position, ids)
    assert np.isfinite(noise).all()
    assert np.array_equal(noise, gumbel_noise(seed, position, ids))
    assert np.array_equal(noise[::-1], gumbel_noise(seed, position, ids[::-1]))


def test_noise_differs_by_seed_position_and_token() -> None:
    ids = np.arange(64, dtype=np.int32)
    table = np.stack([gumbel_noise(seed, position, ids) for seed in range(8) for position in range(8)])
    assert len(np.unique(table)) == table.size


def test_noise_has_the_moments_of_the_gumbel_distribution() -> None:
    noise = np.concatenate([gumbel_noise(1, position, np.arange(500, dtype=np.int32)) for position in range(200)])
    assert noise.mean() == pytest.approx(0.5772, abs=0.02)
    assert noise.std() == pytest.approx(np.pi / np.sqrt(6), abs=0.02)
    below = np.exp(-np.exp(-np.sort(noise)))
    ranks = (np.arange(len(noise)) + 0.5) / len(noise)
    assert np.abs(below - ranks).max() < 1.95 / np.sqrt(len(noise))  # Kolmogorov-Smirnov, one in a thousand
