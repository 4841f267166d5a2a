"""Choosing a token: truncation as llama.cpp does it, then a draw with keyed Gumbel noise.

The chain is llama.cpp's in its order: penalties, top-k, top-p, min-p, temperature. What survives is a set of candidates
with logits, from which the noise of mtpchat.backend.noise draws exactly. The text is the same with speculation on, off,
and at any depth.

llama.cpp's chain is not shown the whole row where that is not needed: penalties concern the few tokens that were said,
and top-k the few that can be among the k. Where a tie at the edge would leave the choice to the order of sorting, the
whole row decides. Without top-k, top-p and min-p are computed here: llama.cpp sorts the vocabulary for it.

With a mask (a grammar) the tokens that it forbids never were candidates: it comes right behind the penalties, and
truncation works on what it leaves. Where it leaves no choice the model is not asked.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mtpchat.backend.llama.candidates import Candidates
from mtpchat.backend.llama.truncate import above, most_likely, nucleus, truncated
from mtpchat.backend.mask import Mask
from mtpchat.backend.noise import gumbel_noise
from mtpchat.backend.protocol import Floats
from mtpchat.config import SamplingConfig

_FEW = 2048
_ENDLESS = 1 << 20
"""Tokens that penalties look back on where they look at all."""


class LlamaSampler:
    """The Sampler of the backend protocol.

    Args:
        sampling: the settings.
        seed: >= 0.
        n_vocab: length of a row of logits.
        mask: what may be said; kept up to date by `accept`, closed by its owner.
    """

    def __init__(self, sampling: SamplingConfig, seed: int, n_vocab: int, mask: Mask | None = None) -> None:
        self._seed = seed
        self._mask = mask
        self._sampling = sampling
        self._greedy = sampling.temperature <= 0
        self._top_k = sampling.top_k if sampling.top_k < n_vocab else 0
        self._ids: NDArray[np.int64] = np.arange(n_vocab)
        self._few: Candidates | None = None
        self._all: Candidates | None = None
        self._penalties = _Penalties(sampling, n_vocab) if _penalises(sampling) else None
        self._chain: Any = None if self._greedy or not self._top_k else _truncation(sampling)

    def sample(self, logits: Floats, position: int) -> int:
        """See Sampler.sample."""
        row = self._penalised(logits)
        if self._mask is not None:
            return self._sample_masked(self._mask, row, position)
        if self._greedy:
            return int(row.argmax())
        ids, kept = self._survivors(row)
        return int(ids[self._scores(ids, kept, position).argmax()])

    def _sample_masked(self, mask: Mask, row: Floats, position: int) -> int:
        forced = mask.forced()
        if forced is not None:
            return forced
        allowed = mask.likeliest(row, 1 if self._greedy else self._top_k)
        left = row[allowed]
        if self._greedy:
            return int(allowed[left.argmax()])
        local, kept = self._survivors(left)
        ids = allowed[local]
        return int(ids[self._scores(ids, kept, position).argmax()])

    def sample_surely(self, logits: Floats, position: int, epsilon: float) -> int | None:
        """See Sampler.sample_surely."""
        row = self._penalised(logits)
        if self._mask is None:
            return self._surely(row, self._ids, position, epsilon)
        forced = self._mask.forced()
        if forced is not None:
            return forced
        allowed = self._mask.likeliest(row, 0)
        return self._surely(row[allowed], allowed, position, epsilon)

    def _surely(self, row: Floats, names: NDArray[np.int64], position: int, epsilon: float) -> int | None:
        """See sample_surely; row[i] is the logit of token names[i]."""
        if self._greedy:
            best = int(row.argmax())
            return int(names[best]) if np.count_nonzero(row > row[best] - epsilon) <= 1 else None
        ids, kept = self._survivors(row)
        at = int(ids[self._scores(names[ids], kept, position).argmax()])
        wanted = self._sampling
        bounds = (self._top_k, wanted.top_p, wanted.min_p)
        possible = truncated(row, *bounds, slack=epsilon)
        scores = self._scores(names[possible], row[possible], position)
        best = int(scores.argmax())
        ahead = np.count_nonzero(scores > scores[best] - epsilon / wanted.temperature) <= 1
        certain = ahead and possible[best] == at and at in truncated(row, *bounds, slack=-epsilon)
        return int(names[at]) if certain else None

    def _scores(self, ids: NDArray[np.integer[Any]], kept: Floats, position: int) -> NDArray[np.float64]:
        return kept.astype(np.float64) / self._sampling.temperature + gumbel_noise(self._seed, position, ids)

    def _penalised(self, logits: Floats) -> Floats:
        return logits if self._penalties is None else self._penalties.apply(logits)

    def _survivors(self, row: Floats) -> tuple[NDArray[np.integer[Any]], Floats]:
        """Places in the row, and logits, of the candidates that truncation leaves."""
        wanted = self._sampling
        if self._top_k:
            return self._most_likely(row)
        if wanted.top_p < 1:
            ids = nucleus(row, wanted.top_p)
            kept = row[ids]
            return (ids, kept) if wanted.min_p <= 0 else (ids[(near := above(kept, wanted.min_p))], kept[near])
        ids = above(row, wanted.min_p) if wanted.min_p > 0 else self._ids[: len(row)]
        return ids, row[ids]

    def _most_likely(self, row: Floats) -> tuple[NDArray[np.integer[Any]], Floats]:
        """What the chain leaves, which begins with top-k."""
        few = most_likely(row, self._top_k)
        if len(few) <= _FEW:
            self._few = self._few or Candidates(min(_FEW, len(self._ids)))
            logits = row[few]
            ids, kept = self._few.apply(self._chain, few, logits)
            if np.count_nonzero(logits >= kept.min()) == len(kept):
                return ids, kept
        self._all = self._all or Candidates(len(self._ids))
        return self._all.apply(self._chain, self._ids[: len(row)], row)

    def accept(self, token: int) -> None:
        """See Sampler.accept."""
        if self._penalties is not None:
            self._penalties.accept(token)
        if self._mask is not None:
            self._mask.accept(token)

    def reset(self, context: Sequence[int]) -> None:
        """See Sampler.reset."""
        if self._penalties is not None:
            self._penalties.reset(context)

    def close(self) -> None:
        """Free what is native."""
        chain, self._chain = self._chain, None
        if chain:
            import llama_cpp.llama_cpp as lib

            lib.llama_sampler_free(chain)
        if self._penalties is not None:
            self._penalties.close()


class _Penalties:
    """llama.cpp's penalties, shown only the tokens that they can concern."""

    def __init__(self, sampling: SamplingConfig, n_vocab: int) -> None:
        import llama_cpp.llama_cpp as lib

        self._lib = lib
        self._last_n = sampling.penalty_last_n if sampling.penalty_last_n >= 0 else _ENDLESS
        self._link: Any = lib.llama_sampler_init_penalties(
            n_vocab, self._last_n, sampling.repeat_penalty, sampling.frequency_penalty, sampling.presence_penalty
        )
        self._row = np.empty(n_vocab, np.float32)
        self._said: deque[int] = deque()
        self._counts: Counter[int] = Counter()
        self._candidates = Candidates(n_vocab)

    def apply(self, logits: Floats) -> Floats:
        """The row with penalties; valid until the next call."""
        row = self._row
        np.copyto(row, logits)
        ids = np.fromiter(self._counts, np.int64, len(self._counts))
        if len(ids):
            said, changed = self._candidates.apply(self._link, ids, row[ids])
            row[said] = changed
        return row

    def accept(self, token: int) -> None:
        self._lib.llama_sampler_accept(self._link, token)
        self._said.append(token)
        self._counts[token] += 1
        if len(self._said) > self._last_n:
            oldest = self._said.popleft()
            self._counts[oldest] -= 1
            if not self._counts[oldest]:
                del self._counts[oldest]

    def reset(self, context: Sequence[int]) -> None:
        self._lib.llama_sampler_reset(self._link)
        self._said.clear()
        self._counts.clear()
        for token in context[-self._last_n :]:
            self.accept(token)

    def close(self) -> None:
        link, self._link = self._link, None
        if link:
            self._lib.llama_sampler_free(link)


def _truncation(sampling: SamplingConfig) -> Any:
    """A chain of top-k, top-p and min-p."""
    import llama_cpp.llama_cpp as lib

    chain = lib.llama_sampler_chain_init(lib.llama_sampler_chain_default_params())
    lib.llama_sampler_chain_add(chain, lib.llama_sampler_init_top_k(sampling.top_k))
    if sampling.top_p < 1:
        lib.llama_sampler_chain_add(chain, lib.llama_sampler_init_top_p(sampling.top_p, 1))
    if sampling.min_p > 0:
        lib.llama_sampler_chain_add(chain, lib.llama_sampler_init_min_p(sampling.min_p, 1))
    return chain


def _penalises(sampling: SamplingConfig) -> bool:
    on = sampling.repeat_penalty != 1 or sampling.frequency_penalty != 0 or sampling.presence_penalty != 0
    return on and sampling.penalty_last_n != 0
