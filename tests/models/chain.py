"""What the tiny models say: a chain in which every token has one most likely successor.

The token embedding carries the token, the output row of y matches the embeddings of y's predecessors, so a model whose
blocks add little follows the chain whatever its architecture. Heads get the same, with a share of wrong guesses.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tests.models.vocabulary import STANDARD, Vocabulary

Floats = NDArray[np.float32]
Ids = NDArray[np.int64]

BIAS = 2.0
"""Value of dimension 0 of every embedding: the same for all tokens, so output rows can use it as a bias."""


@dataclass(frozen=True)
class Chain:
    """The successor function and the weights that express it.

    Attributes:
        seed: of the order of words.
        period: tokens after which the chain repeats itself; None: every word once.
        eog_after: length of the answer that starts after a line break, then the end-of-turn token; None: never ends.
        think: how many tokens of the answer stand between thinking marks.
        sharpness: the most likely token's logit; about 8 gives it a probability of 0.8, 16 more than 0.999.
        vocabulary: whose tokens are chained.
    """

    seed: int = 7
    period: int | None = None
    eog_after: int | None = None
    think: int = 0
    sharpness: float = 8.0
    vocabulary: Vocabulary = STANDARD

    @cached_property
    def answer(self) -> tuple[int, ...]:
        """Tokens in the order in which they come after a line break; "\\n" closes the circle."""
        words = [self.vocabulary.word(word) for word in self.vocabulary.words]
        np.random.default_rng(self.seed).shuffle(words)
        # Characters of two and four bytes: no token border may break them.
        words[5:5] = self.vocabulary.byte_ids("é,")
        words[20:20] = self.vocabulary.byte_ids("😀.")
        words = words[: (self.period or len(words) + 1) - 1]
        if self.think:
            marks = [self.vocabulary.ids[mark] for mark in ("<think>", "</think>")]
            words = [marks[0], *words[: self.think], marks[1], *words[self.think :]]
        return (*words, self.vocabulary.byte_ids("\n")[0])

    @cached_property
    def successor(self) -> Ids:
        """Most likely next token of every token, shape (n_vocab,)."""
        order = self.answer
        rest = np.random.default_rng(self.seed + 1)
        following = np.array(
            [order[rest.integers(len(order) - 1)] for _ in range(self.vocabulary.size)], dtype=np.int64
        )
        for here, there in zip(order, (*order[1:], order[0]), strict=True):
            following[here] = there
        following[self.vocabulary.eos] = order[-1]
        if self.eog_after is not None:
            last = order[self.eog_after - 1] if self.eog_after else order[-1]
            following[last] = self.vocabulary.eos
        return following

    def follow(self, token: int, count: int) -> list[int]:
        """The `count` tokens that greedy decoding says after `token`; stops behind the end-of-turn token."""
        said: list[int] = []
        while len(said) < count and token != self.vocabulary.eos:
            token = int(self.successor[token])
            said.append(token)
        return said

    def text(self, count: int) -> str:
        """The answer's first `count` tokens as text."""
        said = self.follow(self.answer[-1], count)
        return b"".join(self.vocabulary.piece(token) for token in said).decode(errors="replace")

    def guesses(self, acceptance: float, seed: int = 0) -> Ids:
        """Successors as a drafter sees them: right for that share of the answer; shape (n_vocab,)."""
        circle = np.array(self.answer)
        count = round((1 - acceptance) * len(circle))
        choices = [
            np.random.default_rng([self.seed, seed, attempt]).permutation(circle)[:count] for attempt in range(32)
        ]
        return self._misled(min(choices, key=lambda wrong: abs(self._accepted(self._misled(wrong)) - acceptance)))

    def _misled(self, wrong: Ids) -> Ids:
        guess = self.successor.copy()
        guess[wrong] = self.successor[self.successor[wrong]]
        return guess

    def _accepted(self, guess: Ids) -> float:
        """Share of one-token drafts that are right over two rounds: an accepted draft skips the token it guessed."""
        steps, right, place = 0, 0, 0
        order = self.answer
        while place < 2 * len(order):
            here = order[place % len(order)]
            hit = guess[here] == self.successor[here]
            steps, right, place = steps + 1, right + int(hit), place + 1 + int(hit)
        return right / steps

    def embeddings(self, width: int) -> Floats:
        """One row of norm sqrt(width) per token, shape (n_vocab, width).

        If the width allows it the answer's tokens stand at right angles, to one another and to all others: nothing but
        history blurs the chain.
        """
        rows = np.random.default_rng([self.seed, width]).standard_normal((self.vocabulary.size, width))
        rows[:, 0] = 0.0
        circle = list(self.answer)
        if len(circle) < width:
            axes = np.linalg.qr(rows[circle].T).Q
            rows -= (rows @ axes) @ axes.T
            rows[circle] = axes.T
        rows *= np.sqrt((width - BIAS**2) / np.sum(rows**2, axis=1, keepdims=True))
        rows[:, 0] = BIAS
        return rows.astype(np.float32)

    def output(self, following: Ids, width: int) -> Floats:
        """Output rows that make `following[x]` the most likely token after x, shape (n_vocab, width)."""
        sources = self.embeddings(width)
        sources[:, 0] = 0.0
        rows = np.zeros_like(sources)
        np.add.at(rows, following, sources * (self.sharpness / (width - BIAS**2)))
        return self._hush(rows, following)

    def random_output(self, width: int, seed: int) -> Floats:
        """Output rows without sense, shape (n_vocab, width), that never end the turn."""
        rows = np.random.default_rng(seed).standard_normal((self.vocabulary.size, width)) * (2.0 / np.sqrt(width))
        return self._hush(rows.astype(np.float32), np.array([], dtype=np.int64))

    def _hush(self, rows: Floats, following: Ids) -> Floats:
        """Bias down the control tokens that are nobody's successor, so that sampling does not end a turn by chance."""
        for token in self.vocabulary.control:
            if token not in following:
                rows[token, 0] = -20.0 / BIAS
        return rows

    def advance(self, width: int) -> Floats:
        """The matrix that turns the hidden state of one of the answer's tokens into its successor's; (width, width)."""
        table = self.embeddings(width).astype(np.float64)
        circle = np.array(self.answer)
        here, there = table[circle], table[self.successor[circle]]
        gram = here @ here.T + 0.01 * width * np.eye(len(circle))
        return (there.T @ np.linalg.solve(gram, here)).astype(np.float32)
