"""What is known about speculation in a chat: the record that a diagnosis looks at, and what follows from it at once."""

from __future__ import annotations

from dataclasses import dataclass, field

from mtpchat.config import Config
from mtpchat.events import ModelFacts, SpeculationControl
from mtpchat.report import Reason, SourceReport, SpeculationReport
from mtpchat.stats import TurnStats

ENOUGH_GUESSES = 40
"""Tested guesses from which on a share of right ones means something."""
HELPS = 1.05
"""Speed against plain decoding from which on guessing helps."""
_UNSURE = 0.6
_OFTEN = 4
"""Where one guess in so many is right, loops can be why."""
_NAMES = {"mtp": "the MTP head", "eagle3": "the EAGLE-3 head", "draft": "the draft model", "ngram": "n-gram lookup"}


@dataclass(frozen=True, slots=True)
class ModelFile:
    """What the header of the model file says.

    Attributes:
        layers: blocks without prediction heads.
        heads / heads_there: prediction heads announced, and those whose tensors are in the file.
        trouble: why the heads cannot run although they are there, or "".
        can_roll_back: what was decoded can be taken back.
        experts: of a mixture of experts; 0 for a dense model.
    """

    layers: int = 0
    heads: int = 0
    heads_there: int = 0
    trouble: str = ""
    can_roll_back: bool = True
    experts: int = 0


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that a diagnosis looks at; what is not known is None.

    Attributes:
        stats / totals: counters of the last or running turn, and of the finished turns of the chat.
        cores: logical processors that this process may use.
    """

    facts: ModelFacts | None = None
    control: SpeculationControl = field(default_factory=SpeculationControl)
    config: Config = field(default_factory=Config)
    stats: TurnStats | None = None
    totals: TurnStats = field(default_factory=TurnStats)
    report: SpeculationReport | None = None
    file: ModelFile | None = None
    cores: int = 1

    @property
    def kind(self) -> str:
        """Who guesses."""
        if self.control.kind:
            return self.control.kind
        return self.facts.kind if self.facts is not None else "none"

    @property
    def name(self) -> str:
        """Who guesses, in words."""
        return _NAMES.get(self.kind, self.kind)

    @property
    def counted(self) -> TurnStats:
        """The counters that rest on more."""
        if self.stats is not None and self.stats.output_tokens >= self.totals.output_tokens:
            return self.stats
        return self.totals

    @property
    def source(self) -> SourceReport | None:
        """What the controller knows about who guesses."""
        sources = self.report.sources if self.report is not None else ()
        return next((one for one in sources if one.kind == self.kind), None)

    @property
    def copies(self) -> SourceReport | None:
        """What is known about copies of earlier text beside another drafter; None where too few were tested."""
        sources = self.report.sources if self.report is not None and self.kind != "ngram" else ()
        return next((one for one in sources if one.kind == "ngram" and one.tested >= ENOUGH_GUESSES), None)

    @property
    def copying(self) -> bool:
        """Copies were verified lately instead of asking the drafter."""
        return self.report is not None and any(one.reason is Reason.COPY for one in self.report.decisions)

    @property
    def guesses(self) -> tuple[int, int]:
        """The drafter's guesses held against what the model said, and those that were right.

        Shadow probes count, too. The counters of answers do not tell who guessed, so they stand in only where nobody
        else did.
        """
        sources = self.report.sources if self.report is not None else ()
        own = self.source
        if any(one.tested for one in sources if one is not own):
            return (own.tested, own.matched) if own is not None else (0, 0)
        counted = sum(self.counted.reached_at) or self.counted.drafted
        if own is not None and own.tested >= counted:
            return own.tested, own.matched
        return counted, self.counted.accepted

    @property
    def hit_rate(self) -> float | None:
        """Share of right guesses; None while too few were made."""
        tested, right = self.guesses
        return right / tested if tested >= ENOUGH_GUESSES else None

    @property
    def speedup(self) -> float | None:
        """Speed against plain decoding."""
        return self.counted.speedup if self.counted.output_tokens else None

    @property
    def parked(self) -> bool:
        """Guessing has been given up for now, by the controller."""
        idle = bool(self.counted.steps) and self.counted.drafted * 10 < self.counted.steps
        free = self.control.mode == "auto" and not self.control.pinned
        return free and (idle or (self.report is not None and self.report.parked))

    @property
    def adapting(self) -> str:
        """How to have guesses made only while they pay, or that it is so already: a sentence."""
        pinned, mode, policy = self.control.pinned, self.control.mode, self.config.speculative.policy
        wanted = [*(["/mtp auto"] if mode != "auto" else []), *(["/draft auto"] if pinned else [])]
        wanted += [f"--spec-policy cost in place of {policy}"] if policy != "cost" else []
        if not wanted:
            return "In auto, as now, it guesses only while that pays: nothing has to be done."
        return f"{', then '.join(wanted)}: guesses only while that pays."

    @property
    def helps(self) -> bool:
        """Guessing clearly pays."""
        pays = self.speedup is not None and self.speedup >= HELPS
        return pays and not self.parked and not self.repeats

    @property
    def repeats(self) -> bool:
        """Guesses were made, and right, in an answer that goes round in circles, the last or the running one."""
        stats = self.stats
        return stats is not None and stats.looping and 0 < stats.drafted <= _OFTEN * stats.accepted

    @property
    def unsure(self) -> bool:
        """Enough was guessed, and too little of it was right to blame anything but the guesses."""
        return not self.helps and self.hit_rate is not None and self.hit_rate < _UNSURE
