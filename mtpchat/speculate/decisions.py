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
_WORDS = {
    Reason.OFF: "plain: nothing may be guessed here",
    Reason.COLD: "plain: measuring what a plain step costs",
    Reason.REFRESH: "plain: measuring the cost of a plain step again",
    Reason.PARKED: "parked: {worth:.1%} of the time lost to guesses, {price:.1%} allowed",
    Reason.PROBE: "probe: {kept} by {kind} verified to measure what that costs; {right} right",
    Reason.SHADOW: "shadow probe: {kind} guessed, nothing was verified",
    Reason.PAYS: "{kind}, {kept} of {made} verified: " + _GAIN + "; {right} right",
    Reason.DOUBT: "plain: {kind} guessed {made}, too unsure to verify: " + _GAIN,
    Reason.COSTS_MORE: "plain: a guess by {kind} is not worth it: " + _GAIN,
    Reason.INSISTED: "{kind}, {kept} of {made} verified: asked to guess always; {right} right",
    Reason.COPY: "copying {kept}: " + _GAIN + "; {right} right",
    Reason.PINNED: "{kind}, {kept} verified: pinned; {right} right",
    Reason.WINDOW: "{kind}, {kept} verified: {worth:.0%} right lately, {price:.0%} wanted; {right} right",
}


_NAMES = {"mtp": "MTP", "eagle3": "EAGLE-3", "ngram": "n-gram", "draft": "the draft model"}


def in_words(one: Decision) -> str:
    """A decision as one line for people."""
    one = one._replace(kind=_NAMES.get(one.kind, one.kind))
    words = _WORDS[one.reason].format(**one._asdict(), right=one.tokens - 1)
    if one.reason is Reason.COSTS_MORE and not (one.made or one.price):
        words = f"plain: {one.kind} had nothing to guess"
    return f"{words}; then {one.rests} more without weighing it" if one.rests else words
