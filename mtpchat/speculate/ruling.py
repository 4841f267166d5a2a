"""What the default policy decides in one round, gathered while the round is played, and afterwards the reason."""

from __future__ import annotations

from dataclasses import dataclass

from mtpchat.report import Reason
from mtpchat.speculate.policy import Bounds, Round


@dataclass(slots=True)
class Ruling:
    """The state of one round of AdaptiveDepth.

    Attributes:
        kind / bounds: who is asked, and what is allowed.
        parked: the ledger does not allow guesses.
        width_probe: one guess is verified in any case, to learn what that costs.
        shadow: one guess is made and not verified.
        short_look: it is too dear with all that waits to be read: the least must do.
        paid_s: taken from the budget for probes.
        asked: the drafter was asked for a first guess.
        set_by: what has decided the round before it was played, None for the rule itself.
        worth / price: see Decision.
    """

    kind: str
    bounds: Bounds
    parked: bool = False
    width_probe: bool = False
    shadow: bool = False
    short_look: bool = False
    paid_s: float = 0.0
    asked: bool = False
    set_by: Reason | None = None
    worth: float = 0.0
    price: float = 0.0

    def reason(self, played: Round) -> Reason:
        """Why the round went as it did."""
        if played.reading:
            return Reason.READING
        if played.barred:
            return Reason.BARRED
        if self.shadow and played.made and not played.verified:
            return Reason.SHADOW
        if self.set_by is not None:
            return self.set_by
        if played.verified:
            if self.bounds.insist and self.worth <= self.price:
                return Reason.INSISTED
            return Reason.AGREED if played.verified > played.made else Reason.PAYS
        if played.made:
            return Reason.DOUBT
        if self.parked:
            return Reason.PARKED
        return Reason.SILENT if self.asked else Reason.COSTS_MORE
