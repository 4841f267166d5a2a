"""What the controller knows and has done, as plain numbers for whoever looks."""

from __future__ import annotations

from mtpchat.report import SourceReport, SpeculationReport
from mtpchat.speculate.adaptive import AdaptiveDepth
from mtpchat.speculate.costs import Costs
from mtpchat.speculate.decisions import DecisionLog
from mtpchat.speculate.meter import Meter

REPORTED_DECISIONS = 20


def reported(
    costs: Costs, adaptive: AdaptiveDepth, meter: Meter, log: DecisionLog, *, policy: str, parked: bool
) -> SpeculationReport:
    """The report.

    Args:
        log: of whoever decides now, which is what `policy` names.
        parked: guessing rests because it has lost too much.
    """
    plain, ledger, guesses, seen = costs.plain_s, adaptive.ledger, costs.guesses(), adaptive.calibration.sources()
    return SpeculationReport(
        policy=policy,
        rate=adaptive.rate() if plain is not None else None,
        plain_s=plain,
        plain_age_s=costs.plain_age_s,
        verify_s=tuple(costs.measured().items()),
        sources=tuple(
            _source(meter, kind, seen[kind].rates() if kind in seen else (), *guesses.get(kind, (None, None)))
            for kind in sorted(seen.keys() | meter.kinds())
        ),
        accepted_lengths=meter.accepted_lengths,
        split=meter.split,
        lost_s=ledger.lost_s,
        allowed_s=ledger.allowed_s(plain) if plain is not None else 0.0,
        parked=parked,
        decisions=log.last(REPORTED_DECISIONS),
    )


def _source(
    meter: Meter, kind: str, rates: tuple[float, ...], first_s: float | None, later_s: float | None
) -> SourceReport:
    return SourceReport(kind, rates, meter.tested(kind), meter.matched(kind), first_s, later_s, meter.right_at(kind))
