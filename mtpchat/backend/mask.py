"""What an answer may be made of, as the sampler, the controller and the engine see it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


class Mask(Protocol):
    """Which tokens may come next, as far as something else than the model decides that: a grammar.

    Only `accept` changes the state, and only tokens that are kept are accepted, so nothing is ever taken back. What it
    answers is a function of the tokens accepted so far.
    """

    @property
    def complete(self) -> bool:
        """Whether the answer may end here."""
        ...

    def forced(self) -> int | None:
        """The token that comes next whatever the model says, or None where it has a choice."""
        ...

    def run(self, most: int) -> tuple[int, ...]:
        """The tokens that `forced` will give one after the other from here, at most `most` of them."""
        ...

    def likeliest(self, row: Floats, count: int) -> NDArray[np.int64]:
        """Ids, ascending, of allowed tokens: at least the `count` with the largest logits and all that equal the last.

        Fewer only where fewer are allowed. 0 gives all that are allowed. Never empty.

        Raises:
            GrammarError: nothing is allowed.
        """
        ...

    def holds(self, tokens: Sequence[int]) -> int:
        """How many of these guesses, from the first on, may come one after the other."""
        ...

    def accept(self, token: int) -> None:
        """A token was chosen for good.

        Raises:
            MisuseRefused: it is not allowed.
            GrammarError: the grammar takes too long.
        """
        ...

    def close(self) -> None: ...


class Grammar(Mask, Protocol):
    """A grammar that holds from the first token on."""

    def feed(self, text: str) -> None:
        """Go on behind a text that was said already. Raises GrammarError where the grammar does not allow it."""
        ...

    def unbound(self, row: Floats, count: int) -> NDArray[np.int64]:
        """As `likeliest`, where the grammar does not hold yet: all tokens but those that end the answer."""
        ...

    def beginning_with(self, text: bytes) -> list[tuple[int, bytes]]:
        """Tokens that begin with a text, and what they say behind it."""
        ...

    @property
    def blank(self) -> NDArray[np.int64]:
        """Tokens of nothing but white space."""
        ...
