"""The guesses of one round: who made them, which are verified, and what the model's answer says about each source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from mtpchat.backend.mask import Mask
from mtpchat.speculate.base import Draft
from mtpchat.speculate.policy import Trial


@dataclass(frozen=True, slots=True)
class Source:
    """Guesses of one source, verified or not.

    Attributes:
        first: position of the first in the draft, from 1; those before it are guesses of another source.
    """

    kind: str
    draft: Draft
    first: int = 1

    def trial(self, said: Sequence[int]) -> Trial:
        """Hold the guesses against the tokens of the round.

        All but the last of `said` agree with the guesses that were verified, so a source that begins behind others is
        tested only where those held.
        """
        tested = matched = 0
        for token, truth in zip(self.draft.tokens, said[self.first - 1 :], strict=False):
            tested += 1
            if token != truth:
                break
            matched += 1
        return Trial(self.kind, self.draft.confidences, tested, matched, self.first)


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a round begins with.

    Attributes:
        kind: the drafter that was asked.
        tokens: guesses in order; those behind `made` continue a copy that agreed with the drafter.
        kept: how many of them are verified.
        made: how many the drafter made.
        sources: everything that can be learnt from.
        guess_s: seconds of each guess of the drafter; empty where not measured.
        reading: the drafter made none because it has still to read what was said.
        barred: there were some to verify, and the grammar allows none of them.
    """

    kind: str
    tokens: tuple[int, ...]
    kept: int
    made: int
    sources: tuple[Source, ...] = ()
    guess_s: tuple[float, ...] = ()
    reading: bool = False
    barred: bool = False

    @property
    def draft(self) -> tuple[int, ...]:
        """The guesses that are verified."""
        return self.tokens[: self.kept]

    def within(self, mask: Mask) -> Proposal:
        """The same, with nothing to verify that a grammar forbids: no row is spent on what cannot be said."""
        if not self.kept:
            return self
        kept = mask.holds(self.draft)
        return replace(self, kept=kept, barred=not kept)

    def origins(self, matched: int, count: int) -> tuple[str, ...]:
        """Who guessed each of `count` tokens of the round, "" for the model's own.

        Args:
            matched: how many guesses the model chose as well.
        """
        own = min(matched, self.made)
        return (self.kind,) * own + ("ngram",) * (matched - own) + ("",) * (count - matched)


NOTHING = Proposal("none", (), 0, 0)
