"""Choosing a token: llama.cpp's sampler chain truncates, keyed Gumbel noise draws.

The chain is llama.cpp's in its order: penalties, top-k, top-p, min-p, temperature. What survives is a set of candidates
with logits, from which the noise of mtpchat.backend.noise draws exactly. The text is the same with speculation on, off,
and at any depth.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mtpchat.backend.noise import gumbel_noise
from mtpchat.backend.protocol import Floats
from mtpchat.config import SamplingConfig

_CANDIDATE = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])


class LlamaSampler:
    """The Sampler of the backend protocol.

    Args:
        sampling: the settings.
        seed: >= 0.
        n_vocab: length of a row of logits.
    """

    def __init__(self, sampling: SamplingConfig, seed: int, n_vocab: int) -> None:
        import llama_cpp.llama_cpp as lib

        self._lib = lib
        self._seed = seed
        self._temperature = sampling.temperature
        self._greedy = sampling.temperature <= 0
        self._last_n = sampling.penalty_last_n
        self._penalised = _penalises(sampling)
        self._plain_argmax = self._greedy and not self._penalised
        self._ids = np.arange(n_vocab, dtype=np.int32)
        self._data = np.zeros(0 if self._plain_argmax else n_vocab, _CANDIDATE)
        self._chain: Any = lib.llama_sampler_chain_init(lib.llama_sampler_chain_default_params())
        self._penalties: Any = None
        self._build(sampling)

    def _build(self, sampling: SamplingConfig) -> None:
        def add(link: Any) -> None:
            self._lib.llama_sampler_chain_add(self._chain, link)

        if self._penalised:
            add(
                self._lib.llama_sampler_init_penalties(
                    len(self._ids),
                    self._last_n if self._last_n >= 0 else 1 << 20,
                    sampling.repeat_penalty,
                    sampling.frequency_penalty,
                    sampling.presence_penalty,
                )
            )
        if self._greedy:
            return
        if sampling.top_k > 0:
            add(self._lib.llama_sampler_init_top_k(sampling.top_k))
        if sampling.top_p < 1:
            add(self._lib.llama_sampler_init_top_p(sampling.top_p, 1))
        if sampling.min_p > 0:
            add(self._lib.llama_sampler_init_min_p(sampling.min_p, 1))

    def sample(self, logits: Floats, position: int) -> int:
        """See Sampler.sample."""
        if self._plain_argmax:
            return int(np.argmax(logits))
        ids, kept = self._survivors(logits)
        if self._greedy:
            return int(ids[np.argmax(kept)])
        scores = kept.astype(np.float64) / self._temperature + gumbel_noise(self._seed, position, ids)
        return int(ids[np.argmax(scores)])

    def _survivors(self, logits: Floats) -> tuple[NDArray[np.int32], Floats]:
        """Ids and (penalised) logits of the candidates that the chain leaves."""
        data = self._data
        data["id"] = self._ids
        data["logit"] = logits
        array = self._lib.llama_token_data_array(
            ctypes.cast(data.ctypes.data, self._lib.llama_token_data_p), len(data), -1, False
        )
        self._lib.llama_sampler_apply(self._chain, ctypes.byref(array))
        # The chain may have moved the candidates to memory of its own.
        address = ctypes.addressof(array.data.contents)
        left = np.frombuffer((ctypes.c_char * (array.size * _CANDIDATE.itemsize)).from_address(address), _CANDIDATE)
        return left["id"].copy(), left["logit"].copy()

    def accept(self, token: int) -> None:
        """See Sampler.accept."""
        if self._penalised:
            self._lib.llama_sampler_accept(self._chain, token)

    def reset(self, context: Sequence[int]) -> None:
        """See Sampler.reset."""
        self._lib.llama_sampler_reset(self._chain)
        if not self._penalised:
            return
        for token in context[-self._last_n :] if self._last_n > 0 else context if self._last_n < 0 else ():
            self._lib.llama_sampler_accept(self._chain, token)

    def close(self) -> None:
        """Free the chain."""
        if self._chain:
            self._lib.llama_sampler_free(self._chain)
            self._chain = None


def _penalises(sampling: SamplingConfig) -> bool:
    on = sampling.repeat_penalty != 1 or sampling.frequency_penalty != 0 or sampling.presence_penalty != 0
    return on and sampling.penalty_last_n != 0
