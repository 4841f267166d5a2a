"""Who decides how many tokens to guess: the words that a policy and the controller share, and the simplest policy.

A policy decides about one round at a time: `plan` begins it, `wants` is asked before every guess, `keep` says how many
of the guesses are verified, and `observe` is told how it went. Policies are pure: time comes in as numbers.

    cost        speculate/adaptive.py    guesses while one more is worth its measured price (the default)
    threshold   speculate/threshold.py   deeper while guesses are mostly right, shallower while they are not
    fixed       here                     as deep as allowed, always
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from mtpchat.report import Decision, Reason
from mtpchat.speculate.decisions import DecisionLog


@dataclass(frozen=True, slots=True)
class Bounds:
    """What is allowed in one round.

    Attributes:
        low: a draft shorter than this is not verified (llama.cpp's n_min).
        high: most guesses.
        insist: guess even where it does not pay (/mtp on).
        p_min: stop before a guess of less confidence.
        waiting: rows that the drafter is going to read before its first guess.
        least: so many of them would do.
    """

    low: int
    high: int
    insist: bool = False
    p_min: float = 0.0
    waiting: int = 0
    least: int = 0


@dataclass(frozen=True, slots=True)
class Trial:
    """Guesses of one source, held against what the model then said.

    A guess behind a wrong one is never tested: it was made for another text. Of the guesses (5, 7, 2), with the model
    saying 5, 9 and stopping there, two were tested and one matched.

    Attributes:
        kind: the source.
        confidences: of all its guesses, verified or not.
        tested: how many of them can be compared with the tokens of this round.
        matched: how many of those were right.
        first: position of its first guess in the draft, from 1.
    """

    kind: str
    confidences: tuple[float, ...]
    tested: int
    matched: int
    first: int = 1


@dataclass(frozen=True, slots=True)
class Round:
    """What happened in one round.

    Attributes:
        kind: the drafter whose guesses cost `draft_s`.
        made: how many guesses that drafter made.
        verified: how many guesses were decoded by the target.
        tokens: how many tokens the round produced.
        draft_s / verify_s: seconds of guessing, and of everything else.
        trials: what can be learnt about each source that guessed.
        reading: nothing was guessed because the drafter has still to read what was said.
        barred: guesses were to be verified, and the grammar allows none of them.
    """

    kind: str
    made: int
    verified: int
    tokens: int
    draft_s: float
    verify_s: float
    trials: tuple[Trial, ...] = ()
    reading: bool = False
    barred: bool = False


class Policy(Protocol):
    """Decides about one round at a time: plan, wants*, keep, observe."""

    @property
    def log(self) -> DecisionLog:
        """The last decisions and their reasons."""
        ...

    def plan(self, kind: str, bounds: Bounds) -> bool:
        """Begin a round; False when nothing is to be guessed."""
        ...

    def wants(self, confidences: Sequence[float]) -> bool:
        """After these guesses: one more?"""
        ...

    def keep(self, confidences: Sequence[float]) -> int:
        """How many of the guesses to verify."""
        ...

    def observe(self, played: Round) -> None:
        """Learn from the round, whoever decided it."""
        ...


class FixedDepth:
    """Guess up to the upper bound every time."""

    def __init__(self) -> None:
        self.log = DecisionLog()
        self._bounds = Bounds(0, 0)

    def plan(self, kind: str, bounds: Bounds) -> bool:
        """See Policy.plan."""
        self._bounds = bounds
        return bounds.high > 0

    def wants(self, confidences: Sequence[float]) -> bool:
        """See Policy.wants."""
        return len(confidences) < self._bounds.high and not doubtful(confidences, self._bounds.p_min)

    def keep(self, confidences: Sequence[float]) -> int:
        """See Policy.keep."""
        return sound(confidences, self._bounds)

    def observe(self, played: Round) -> None:
        """See Policy.observe: nothing to learn."""
        reason = why_plain(played, self._bounds) or Reason.PINNED
        self.log.note(Decision(reason, played.made, played.verified, played.tokens, played.kind))


def doubtful(confidences: Sequence[float], p_min: float) -> bool:
    """Whether the last guess falls below the user's threshold."""
    return bool(confidences) and confidences[-1] < p_min


def sound(confidences: Sequence[float], bounds: Bounds) -> int:
    """How many guesses the user's own limits let through."""
    count = len(confidences) - doubtful(confidences, bounds.p_min)
    return count if count >= bounds.low else 0


def why_plain(played: Round, bounds: Bounds) -> Reason | None:
    """Why nothing was verified by a policy that verifies whatever the bounds allow; None if something was."""
    if played.verified:
        return None
    if bounds.high < 1:
        return Reason.OFF
    if played.reading:
        return Reason.READING
    if played.barred:
        return Reason.BARRED
    return Reason.UNSURE if played.made else Reason.SILENT
