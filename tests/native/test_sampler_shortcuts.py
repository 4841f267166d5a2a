"""What is computed in a shorter way than llama.cpp's chain computes it is the same, also where logits are equal."""

from __future__ import annotations

from collections.abc import Sequence

import llama_cpp.llama_cpp as lib
import msgspec
import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from mtpchat.backend.llama.candidates import Candidates
from mtpchat.backend.llama.sampler import LlamaSampler
from mtpchat.backend.llama.truncate import above, most_likely, nucleus
from mtpchat.backend.noise import gumbel_noise
from mtpchat.backend.protocol import Floats
from mtpchat.config import SamplingConfig

SIZES = (1, 2, 7, 600, 2048, 2999, 5000)


class WholeChain:
    """llama.cpp's chain over the whole row, then the draw."""

    def __init__(self, sampling: SamplingConfig, seed: int, n_vocab: int) -> None:
        self.sampling, self.seed, self.n_vocab = sampling, seed, n_vocab
        self.chain = lib.llama_sampler_chain_init(lib.llama_sampler_chain_default_params())
        last_n = sampling.penalty_last_n if sampling.penalty_last_n >= 0 else 1 << 20
        penalties = (sampling.repeat_penalty, sampling.frequency_penalty, sampling.presence_penalty)
        links = [lib.llama_sampler_init_penalties(n_vocab, last_n, *penalties)]
        if sampling.temperature > 0:
            links += [lib.llama_sampler_init_top_k(sampling.top_k)] if sampling.top_k else []
            links += [lib.llama_sampler_init_top_p(sampling.top_p, 1)] if sampling.top_p < 1 else []
            links += [lib.llama_sampler_init_min_p(sampling.min_p, 1)] if sampling.min_p else []
        for link in links:
            lib.llama_sampler_chain_add(self.chain, link)

    def survivors(self, row: Floats) -> tuple[np.ndarray, Floats]:
        ids, kept = Candidates(self.n_vocab).apply(self.chain, np.arange(self.n_vocab), row)
        return ids.copy(), kept.copy()

    def sample(self, row: Floats, position: int) -> int:
        ids, kept = self.survivors(row)
        if self.sampling.temperature <= 0:
            return int(ids[kept.argmax()])
        scores = kept.astype(np.float64) / self.sampling.temperature + gumbel_noise(self.seed, position, ids)
        return int(ids[scores.argmax()])

    def accept(self, token: int) -> None:
        lib.llama_sampler_accept(self.chain, token)

    def close(self) -> None:
        lib.llama_sampler_free(self.chain)


def row_of(seed: int, size: int, grain: float, spread: float) -> Floats:
    """Logits; with a coarse grain many are equal."""
    row = np.random.default_rng(seed).standard_normal(size) * spread
    return (np.round(row / grain) * grain if grain else row).astype(np.float32)


rows = st.builds(
    row_of,
    st.integers(0, 2**31),
    st.sampled_from(SIZES),
    st.sampled_from([0.0, 0.0, 0.25, 1.0, 100.0]),
    st.sampled_from([0.5, 2.0, 6.0]),
)


def drawn(made: LlamaSampler | WholeChain, row: Floats, said: Sequence[int]) -> list[int]:
    found = []
    for token in said:
        found.append(made.sample(row, 5))
        made.accept(token % len(row))
    found += [made.sample(row, position) for position in range(12)]
    made.close()
    return found


@given(
    rows,
    st.sampled_from([1, 2, 20, 40, 128, 129, 511, 513, 2500]),
    st.sampled_from([0.1, 0.8, 0.95, 1.0]),
    st.sampled_from([0.0, 0.05, 0.5]),
)
@settings(max_examples=250, deadline=None)
def test_top_k_of_few_candidates_is_top_k_of_the_row(row: Floats, top_k: int, top_p: float, min_p: float) -> None:
    assume(top_k < len(row))  # otherwise there is nothing to cut, and sums differ in their last digits
    sampling = SamplingConfig(temperature=0.9, top_k=top_k, top_p=top_p, min_p=min_p)
    plain, short = WholeChain(sampling, 3, len(row)), LlamaSampler(sampling, 3, len(row))
    assert drawn(short, row, ()) == drawn(plain, row, ())


@given(
    rows,
    st.lists(st.integers(0, 5000), max_size=30),
    st.sampled_from([-1, 1, 4, 64]),
    st.sampled_from([0.0, 0.8]),
    st.sampled_from([{"repeat_penalty": 1.3}, {"presence_penalty": 0.5, "frequency_penalty": -0.25}]),
)
@settings(max_examples=150, deadline=None)
def test_penalties_on_what_was_said_are_penalties_on_the_row(
    row: Floats, said: list[int], last_n: int, temperature: float, penalties: dict[str, float]
) -> None:
    assume(len(row) > 20)
    sampling = SamplingConfig(
        temperature=temperature, top_k=20, top_p=1.0, min_p=0.0, penalty_last_n=last_n, **penalties
    )
    plain, short = WholeChain(sampling, 3, len(row)), LlamaSampler(sampling, 3, len(row))
    short.reset(())
    # Equal logits, too: both take the first of them.
    assert drawn(short, row, said) == drawn(plain, row, said)


@given(rows, st.sampled_from([0.02, 0.5, 0.9, 0.999]))
@settings(max_examples=200, deadline=None)
def test_top_p_without_top_k_keeps_what_the_chain_keeps(row: Floats, top_p: float) -> None:
    ids = nucleus(row, top_p)
    assert len(set(ids.tolist())) == len(ids)
    kept = np.sort(row[ids])
    shares = np.exp(np.sort(row)[::-1].astype(np.float64) - row.max())
    reached = np.cumsum(shares / shares.sum())
    assume(np.abs(reached - top_p).min() > 1e-4)  # the chain sums in single precision
    sampling = SamplingConfig(temperature=1.0, top_k=0, top_p=top_p, min_p=0.0)
    plain = WholeChain(sampling, 3, len(row))
    assert np.array_equal(np.sort(plain.survivors(row)[1]), kept)
    plain.close()
    # Of equals at the edge the first ids.
    edge = kept[0]
    equals = np.flatnonzero(row == edge)
    assert set(ids[row[ids] == edge]) == set(equals[: np.count_nonzero(kept == edge)])


@given(rows, st.sampled_from([0.01, 0.05, 0.3, 1.0]))
@settings(max_examples=100, deadline=None)
def test_min_p_alone_keeps_what_the_chain_keeps(row: Floats, min_p: float) -> None:
    sampling = SamplingConfig(temperature=1.0, top_k=0, top_p=1.0, min_p=min_p)
    plain = WholeChain(sampling, 3, len(row))
    assert np.array_equal(np.sort(plain.survivors(row)[0]), above(row, min_p))
    plain.close()


@given(rows, st.integers(1, 5000))
@settings(max_examples=100, deadline=None)
def test_candidates_for_top_k_hold_everything_from_the_kth_on(row: Floats, count: int) -> None:
    count = min(count, len(row))
    level = np.sort(row)[-count]
    assert set(np.flatnonzero(row >= level)) <= set(most_likely(row, count))


def test_candidates_of_an_ordinary_row_are_few() -> None:
    assert len(most_likely(row_of(1, 152_000, 0.0, 2.0), 40)) < 100


BOUNDS = st.fixed_dictionaries(
    {
        "temperature": st.sampled_from([0.0, 0.3, 1.0]),
        "top_k": st.sampled_from([0, 3, 40]),
        "top_p": st.sampled_from([0.5, 0.95, 1.0]),
        "min_p": st.sampled_from([0.0, 0.1]),
    }
)


@given(rows, BOUNDS, st.sampled_from([0.001, 0.05, 0.5]), st.integers(0, 2**31), st.booleans())
@example(
    row_of(2**31 - 1, 2048, 0.0, 0.5), {"temperature": 1.0, "top_k": 40, "top_p": 0.95, "min_p": 0.0}, 0.5, 0, False
)
@settings(max_examples=300, deadline=None)
def test_a_sure_token_is_the_same_for_all_logits_nearby(
    row: Floats, bounds: dict[str, float], epsilon: float, noise: int, penalised: bool
) -> None:
    sampling = msgspec.convert({**bounds, "presence_penalty": 0.5 if penalised else 0.0}, SamplingConfig)
    sampler = LlamaSampler(sampling, 9, len(row))
    sampler.reset([0, 0, len(row) - 1])
    random = np.random.default_rng(noise)
    for position in range(6):
        token = sampler.sample_surely(row, position, epsilon)
        if token is None:
            continue
        assert token == sampler.sample(row, position)
        for _ in range(4):
            error = random.choice([-0.24, 0.24], size=len(row)) * epsilon
            assert sampler.sample((row + error).astype(np.float32), position) == token
    sampler.close()


@pytest.mark.parametrize("temperature", [0.0, 0.7])
def test_most_tokens_are_sure_and_near_ties_are_not(temperature: float) -> None:
    sampler = LlamaSampler(SamplingConfig(temperature=temperature), 9, 5000)
    row = row_of(4, 5000, 0.0, 4.0)
    assert sum(sampler.sample_surely(row, at, 1e-4) is not None for at in range(200)) > 190
    sampler.close()
    greedy = LlamaSampler(SamplingConfig(temperature=0.0), 9, 5000)
    best = int(row.argmax())
    row[(best + 1) % 5000] = row[best] - 0.001
    assert greedy.sample_surely(row, 0, 0.002) is None
    assert greedy.sample_surely(row, 0, 0.0005) == best
    greedy.close()
