"""The test of the sampler can tell a right one from a wrong one."""

from __future__ import annotations

from collections import Counter

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtpchat.backend.llama.sampler import LlamaSampler
from mtpchat.bench.distribution import chi_square, draw, exact_distribution
from mtpchat.config import SamplingConfig

LOGITS = np.random.default_rng(5).standard_normal(64).astype(np.float32) * 2
SETTINGS = {
    "all": SamplingConfig(temperature=1.0, top_k=0, top_p=1.0, min_p=0.0, seed=1),
    "usual": SamplingConfig(temperature=0.7, seed=1),
    "top-k": SamplingConfig(temperature=1.5, top_k=7, top_p=1.0, min_p=0.0, seed=2),
    "top-p": SamplingConfig(temperature=1.2, top_k=0, top_p=0.6, min_p=0.0, seed=3),
    "min-p": SamplingConfig(temperature=1.2, top_k=0, top_p=1.0, min_p=0.2, seed=4),
    "penalties": SamplingConfig(
        temperature=1.0, repeat_penalty=1.4, presence_penalty=0.5, frequency_penalty=0.3, penalty_last_n=8, seed=5
    ),
    "greedy": SamplingConfig(temperature=0.0, seed=0),
}
CONTEXT = (3, 3, 9, 12, 60, 3, 1, 2, 5, 9)


@pytest.mark.parametrize("sampling", SETTINGS.values(), ids=SETTINGS)
def test_the_sampler_fits_the_exact_distribution(sampling: SamplingConfig) -> None:
    sampler = LlamaSampler(sampling, sampling.seed, len(LOGITS))
    sampler.reset(CONTEXT)
    fit = chi_square(draw(sampler, LOGITS, 4000), exact_distribution(LOGITS, sampling, CONTEXT))
    sampler.close()
    assert fit.good, fit


def test_a_sampler_at_another_temperature_does_not_fit() -> None:
    warm = SETTINGS["all"]
    sampler = LlamaSampler(msgspec.structs.replace(warm, temperature=1.25), 1, len(LOGITS))
    fit = chi_square(draw(sampler, LOGITS, 4000), exact_distribution(LOGITS, warm))
    sampler.close()
    assert not fit.good


def test_a_draw_that_the_settings_exclude_is_never_good() -> None:
    exact = exact_distribution(LOGITS, SETTINGS["top-k"])
    excluded = int(np.argmin(exact))
    drawn = Counter({int(np.argmax(exact)): 10, excluded: 1})
    fit = chi_square(drawn, exact)
    assert fit.outside == (excluded,)
    assert not fit.good


@given(st.floats(0.1, 3), st.integers(0, 80), st.floats(0.05, 1), st.floats(0, 0.9), st.integers(0, 2**32 - 1))
def test_an_exact_distribution_sums_to_one_and_keeps_the_best(
    temperature: float, top_k: int, top_p: float, min_p: float, seed: int
) -> None:
    logits = np.random.default_rng(seed).standard_normal(50).astype(np.float32) * 3
    sampling = SamplingConfig(temperature=temperature, top_k=top_k, top_p=top_p, min_p=min_p)
    exact = exact_distribution(logits, sampling)
    assert exact.sum() == pytest.approx(1)
    assert exact.argmax() == logits.argmax()
    assert not top_k or np.count_nonzero(exact) <= top_k
