"""Walks through a grammar that end, with llama.cpp's own machine and the vocabulary of a tiny model."""

from __future__ import annotations

import random

import numpy as np

from mtpchat.backend.mask import Grammar
from mtpchat.backend.protocol import Tokenizer

_MOST = 1500


def walk(grammar: Grammar, tokenizer: Tokenizer, seed: int, liked: bytes = b"") -> str | None:
    """A text that the grammar allows from beginning to end, or None when it became too long.

    Args:
        liked: bytes that are taken every other time where they are allowed.
    """
    dice = random.Random(seed)
    row = np.zeros(tokenizer.n_vocab, np.float32)
    said, wishes = bytearray(), {bytes([byte]) for byte in liked}
    for _ in range(_MOST):
        forced = grammar.forced()
        allowed = [int(token) for token in grammar.likeliest(row, 0)]
        assert forced is None or forced in allowed
        ends = [token for token in allowed if token in tokenizer.eog]
        fond = [token for token in allowed if tokenizer.piece(token) in wishes] if dice.random() < 0.5 else []
        token = forced if forced is not None else dice.choice(ends or fond or allowed)
        if token in tokenizer.eog:
            assert grammar.complete
            return said.decode()
        grammar.accept(token)
        said += tokenizer.piece(token)
    return None
