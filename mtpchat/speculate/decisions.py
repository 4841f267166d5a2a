"""Why a round went as it did: kept as numbers while decoding, put into words only when somebody looks."""

from __future__ import annotations

from collections import deque

from mtpchat.report import Decision, Reason

KEPT_DECISIONS = 64


class DecisionLog:
    """The last decisions, oldest first."""

    __slots__ = ("_kept",)

    def __init__(self) -> None:
        self._kept: deque[Decision] = deque(maxlen=KEPT_DECISIONS)

    def note(self, decision: Decision) -> None:
        """Add one."""
        self._kept.append(decision)

    def rested(self, steps: int) -> None:
        """After the last decision so many plain steps passed in which nothing was weighed."""
        if self._kept:
            self._kept[-1] = self._kept[-1]._replace(rests=steps)

    def last(self, count: int = KEPT_DECISIONS) -> tuple[Decision, ...]:
        """The last `count`, oldest first."""
        return tuple(self._kept)[-count:] if count > 0 else ()


_GAIN = "{worth:.2f} tokens expected against {price:.2f} for the time"
_LATELY = "{worth:.0%} right lately, {price:.0%} wanted"
_WORDS = {
    Reason.OFF: "plain: nothing may be guessed here",
    Reason.COLD: "plain: measuring what a plain step costs",
    Reason.REFRESH: "plain: measuring the cost of a plain step again",
    Reason.READING: "plain: {kind} has still to read what was said",
    Reason.SILENT: "plain: {kind} had nothing to guess",
    Reason.COSTS_MORE: "plain: a guess by {kind} is not worth it: " + _GAIN,
    Reason.PARKED: "parked: {worth:.1%} of the time lost to guesses, {price:.1%} allowed",
    Reason.RESTING: "plain: " + _LATELY,
    Reason.SHADOW: "shadow probe: {kind} guessed, nothing was verified",
    Reason.DOUBT: "plain: {kind} guessed {made}, too unsure to verify: " + _GAIN,
    Reason.UNSURE: "plain: {kind} guessed {made}, with fewer to verify than the settings ask for",
    Reason.BARRED: "plain: {kind} guessed {made}, and the grammar allows none of them",
    Reason.PAYS: "{kind}, {kept} of {made} verified: " + _GAIN + "; {right} right",
    Reason.AGREED: "{kind}, {made} and {copied} of a copy that agrees verified: " + _GAIN + "; {right} right",
    Reason.COPY: "copying {kept}: " + _GAIN + "; {right} right",
    Reason.PROBE: "probe: {kept} by {kind} verified to measure what that costs; {right} right",
    Reason.INSISTED: "{kind}, {kept} of {made} verified: asked to guess always; {right} right",
    Reason.PINNED: "{kind}, {kept} verified: pinned; {right} right",
    Reason.WINDOW: "{kind}, {kept} verified: " + _LATELY + "; {right} right",
    Reason.TRYING: "{kind}, {kept} verified: too few so far to judge by; {right} right",
}
"""Every reason has its words; tests/speculate/test_reasons.py holds each against what happened."""

_NAMES = {"mtp": "MTP", "eagle3": "EAGLE-3", "ngram": "n-gram", "draft": "the draft model"}


def in_words(one: Decision) -> str:
    """A decision as one line for people."""
    named = one._replace(kind=_NAMES.get(one.kind, one.kind))
    words = _WORDS[one.reason].format(**named._asdict(), right=one.tokens - 1, copied=one.kept - one.made)
    return f"{words}; then {one.rests} more without weighing it" if one.rests else words
