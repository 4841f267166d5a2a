"""What the controller of speculation did and knows, as numbers: made on request only, for whoever wants to look inside.

Times are seconds. Words for a decision are made by `mtpchat.speculate.decisions.in_words`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple


class Reason(Enum):
    """What decided the depth of a round. The words for each are in `mtpchat.speculate.decisions`."""

    # Nothing was guessed.
    OFF = "off"
    """The bounds allow no guess: the last token, no room, a near tie in strict mode, a drafter that failed."""
    COLD = "cold"
    """The cost of a plain step is not known yet."""
    REFRESH = "refresh"
    """The cost of a plain step is measured again."""
    READING = "reading"
    """The drafter has still to read what was said."""
    SILENT = "silent"
    """The drafter was asked and had no guess."""
    COSTS_MORE = "costs more"
    """A guess was not worth its price."""
    PARKED = "parked"
    """Guessing has lost all the time that it may lose."""
    RESTING = "resting"
    """Too few guesses were right lately (policy "threshold")."""

    # Guesses were made, and none was verified.
    SHADOW = "shadow"
    """A shadow probe."""
    DOUBT = "doubt"
    """They were not sure enough to be worth their rows."""
    UNSURE = "unsure"
    """They fell below p_min, or those worth their rows were fewer than draft_min."""
    BARRED = "barred"
    """The grammar allows none of them."""

    # Guesses were verified.
    PAYS = "pays"
    """Those of the drafter are worth their rows."""
    AGREED = "agreed"
    """So are they together with a copy that begins with them and goes on."""
    COPY = "copy"
    """A copy is worth its rows, and more than the drafter can be expected to bring."""
    PROBE = "probe"
    """To learn what that costs."""
    INSISTED = "insisted"
    """Although it does not pay (/mtp on)."""
    PINNED = "pinned"
    """As many as the user has pinned."""
    WINDOW = "window"
    """As many as the share of right guesses lately allows (policy "threshold")."""
    TRYING = "trying"
    """As WINDOW, before there was a window to judge by."""


class Decision(NamedTuple):
    """One round's decision.

    Attributes:
        reason: see Reason.
        made / kept / tokens: guesses made, guesses verified, tokens produced.
        kind: who guessed.
        worth: expected tokens gained; for PARKED the share of the time lost; for WINDOW and RESTING the share of right
            guesses.
        price: tokens that the same time brings at the rate now; for PARKED the share allowed; for WINDOW and RESTING
            the threshold.
        rests: plain steps that followed without weighing anything anew.
    """

    reason: Reason
    made: int
    kept: int
    tokens: int
    kind: str
    worth: float = 0.0
    price: float = 0.0
    rests: int = 0


@dataclass(frozen=True, slots=True)
class SourceReport:
    """One source of guesses.

    Attributes:
        kind: its name; "agreed" stands for copies that go on where the drafter and an n-gram said the same.
        rates: chance per position, given that all before it held; what the controller believes now.
        right_at: share of right guesses per position, of those that were tested there.
        tested / matched: guesses held against what the model said, and those of them that were right.
        first_s / later_s: seconds of the first guess of a draft and of each after it; None where not measured.
    """

    kind: str
    rates: tuple[float, ...] = ()
    tested: int = 0
    matched: int = 0
    first_s: float | None = None
    later_s: float | None = None
    right_at: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class RoundSplit:
    """Where the seconds of all rounds went, summed up.

    Attributes:
        rounds: how many there were, plain ones included.
        draft_s: guessing, catching up included where it happens together with the first guess.
        decode_s: the target's decode, until its logits are readable.
        sample_s: choosing tokens.
        rollback_s: taking back what was not accepted.
        catch_up_s: telling the drafters what was kept.
    """

    rounds: int = 0
    draft_s: float = 0.0
    decode_s: float = 0.0
    sample_s: float = 0.0
    rollback_s: float = 0.0
    catch_up_s: float = 0.0


@dataclass(frozen=True, slots=True)
class SpeculationReport:
    """A snapshot, cumulative since the model was loaded.

    Attributes:
        policy: "cost", "threshold" or "fixed".
        rate: tokens per second now, as the rule uses it; None before the first plain step.
        plain_s / plain_age_s: seconds of a plain step, and how long ago it was measured; None when it never was.
        verify_s: (width, seconds) of each width that was measured.
        sources: see SourceReport.
        accepted_lengths: how many rounds with guesses had 0, 1, 2, ... of them accepted.
        split: see RoundSplit.
        lost_s: seconds lost against plain decoding by the ledger; negative for a gain (up to its bank).
        allowed_s: seconds that may be lost.
        waiting: tokens of the chat that the drafter has still to read.
        parked: the ledger forbids guessing at present; never where the user has decided.
        decisions: the last ones, oldest first.
    """

    policy: str
    rate: float | None = None
    plain_s: float | None = None
    plain_age_s: float | None = None
    verify_s: tuple[tuple[int, float], ...] = ()
    sources: tuple[SourceReport, ...] = ()
    accepted_lengths: tuple[int, ...] = ()
    split: RoundSplit = RoundSplit()
    lost_s: float = 0.0
    allowed_s: float = 0.0
    parked: bool = False
    waiting: int = 0
    decisions: tuple[Decision, ...] = ()
