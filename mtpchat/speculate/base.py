"""What a drafter is, and how the kinds of drafter are found.

A kind of guess is one file in this package with a `STRATEGY` record. The controller, `/spec`, `mtpchat bench` and the
law tests all work from the records; nothing else needs to know that a kind exists. How to add one:
docs/speculation.md, "A new kind of guess".
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Protocol

from mtpchat.backend.protocol import DecodedRows, DraftContext
from mtpchat.config import SpeculativeConfig
from mtpchat.speculate.guessing import Guessing
from mtpchat.speculate.memo import Memo

Wants = Callable[[Sequence[float]], bool]
"""Asked with the confidences of the guesses so far: is one more guess worth its cost?"""


@dataclass(frozen=True, slots=True)
class Draft:
    """Guesses for the tokens that follow, and how sure the drafter was of each (0..1)."""

    tokens: tuple[int, ...] = ()
    confidences: tuple[float, ...] = ()


NO_DRAFT = Draft()


class Drafter(Protocol):
    """Proposes tokens and is told what was kept.

    The drafter sees the same context as the controller: a list of tokens of which all but the last are in the target's
    memory.
    """

    @property
    def depth_limit(self) -> int | None:
        """Most guesses per step that this drafter can make; None without a limit."""
        ...

    @property
    def least_rows(self) -> int | None:
        """Fewest rows that it can begin anew from, at some loss of acceptance; None if it needs the whole context."""
        ...

    def propose(self, context: Sequence[int], wants: Wants) -> Draft:
        """Guess what follows `context`, which is never empty.

        `wants` is asked before each guess, once, with the confidences of those before it: the time between two of its
        calls is taken for what a guess costs. A drafter that has no guess need not ask, and one that has may stop.
        """
        ...

    def observe(self, start: int, tokens: Sequence[int], rows: DecodedRows) -> None:
        """Tokens at positions start .. are now in the target's memory for good.

        Must be cheap: it is called with speculation switched off, too. `rows` may hold more tokens than were kept.
        """
        ...

    def warm(self, context: Sequence[int], length: int, rows: int) -> int:
        """Feed up to `rows` rows of what was only noted by `observe` into the drafter's own memory.

        Args:
            context: tokens, of which the first `length` are in the target's memory.

        Returns:
            How many rows are still waiting.
        """
        ...

    def skip(self) -> None:
        """Give up what waits to be fed except for the newest `least_rows`; with None there, nothing."""
        ...

    def rollback(self, length: int) -> int:
        """The context was cut to `length` tokens.

        Returns:
            From which position on the drafter wants to observe again; at most `length`.
        """
        ...

    def memo(self) -> Memo | None:
        """What another run needs beside the draft context's memory to go on from here; None where that is nothing."""
        ...

    def recall(self, memo: Memo) -> bool:
        """Go on from a memo, with the draft context's memory as it was then. False, and no change, if it is unfit."""
        ...

    def close(self) -> None:
        """Forget everything. Native memory belongs to the LoadedModel, not to the drafter."""
        ...


class FromContext:
    """What a drafter need not care about that guesses from the text alone: it notes nothing, and nothing waits.

    Such a kind inherits this and writes `propose`.
    """

    depth_limit: int | None = None
    least_rows: int | None = 0

    def observe(self, start: int, tokens: Sequence[int], rows: DecodedRows) -> None:
        """See Drafter.observe: the context itself is the memory."""

    def warm(self, context: Sequence[int], length: int, rows: int) -> int:
        """See Drafter.warm: there is nothing to read."""
        return 0

    def skip(self) -> None:
        """See Drafter.skip."""

    def rollback(self, length: int) -> int:
        """See Drafter.rollback."""
        return length

    def memo(self) -> Memo | None:
        """See Drafter.memo: the context is all there is."""
        return None

    def recall(self, memo: Memo) -> bool:
        """See Drafter.recall."""
        return False

    def close(self) -> None:
        """See Drafter.close."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What a strategy may build its drafter from.

    Attributes:
        guessing: how logits become guesses; whoever runs the turns tells it when one begins.
        earlier: tokens of texts from other chats that may be continued, the newest last.
    """

    draft: DraftContext | None
    draft_kind: str
    settings: SpeculativeConfig
    guessing: Guessing = field(default_factory=Guessing)
    earlier: Sequence[Sequence[int]] = ()


@dataclass(frozen=True, slots=True)
class Strategy:
    """One kind of guess.

    Attributes:
        kind: its name in settings, flags and `/spec`.
        summary: one line for people.
        build: makes the drafter, or None where these parts do not allow it.
    """

    kind: str
    summary: str
    build: Callable[[Parts], Drafter | None]


@cache
def strategies() -> dict[str, Strategy]:
    """All kinds in this package by name: every module with a STRATEGY."""
    import mtpchat.speculate as package

    found: dict[str, Strategy] = {}
    for module in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        strategy = getattr(importlib.import_module(module.name), "STRATEGY", None)
        if isinstance(strategy, Strategy):
            found[strategy.kind] = strategy
    return found
