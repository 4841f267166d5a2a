"""Counting what a turn does, and the rates that are shown while it runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from mtpchat.engine.comparison import Comparison
from mtpchat.speculate.controller import Step
from mtpchat.stats import TurnStats

_TICK_S = 0.125
_OVERHEAD_WEIGHT = 0.05


class Tally:
    """Builds the TurnStats of one turn.

    Args:
        clock: seconds, monotonic.
        first: what is known before anything was decoded.
    """

    def __init__(self, clock: Callable[[], float], first: TurnStats) -> None:
        self._clock = clock
        self._began = clock()
        self._first = first
        self._output_tokens = self._steps = self._drafted = self._accepted = self._depth = self._forced = 0
        self._draft_s = 0.0
        self._prefill_s = 0.0
        self._ttft_s: float | None = None
        self._decoding_since: float | None = None
        self._last_tick = -1.0
        self._reached: list[int] = []
        self._kept: list[int] = []
        self._between: float | None = None
        self._step_ended: float | None = None
        self._against = Comparison()

    def prefilled(self) -> None:
        """The prompt is read; the next thing is a step."""
        now = self._clock()
        self._prefill_s = now - self._began
        self._decoding_since = now

    def stepped(self, step: Step, plain_s: float | None, ended: float) -> None:
        """Count one step.

        Args:
            plain_s: seconds of a plain step, None when it was not measured.
            ended: when it did, by the same clock.
        """
        gap = self._note_between(ended - step.total_s)
        self._against.add(step.tokens, step.total_s + gap, self._plain_cost(step, plain_s, gap))
        if step.forced:  # no guess of a drafter: that they are always right says nothing about it
            self._forced += len(step.tokens) - 1
        else:
            self._note_guesses(step)
        self._output_tokens += len(step.tokens)
        self._steps += 1
        self._draft_s += step.draft_s
        if self._ttft_s is None:
            self._ttft_s = ended - self._began
        self._step_ended = ended

    def _note_guesses(self, step: Step) -> None:
        kept = min(step.matched, len(step.tokens) - 1)
        # A right guess that ends the answer stands where the model's own token would: it was tested, and brought none.
        for position in range(step.tested - (step.matched - kept)):
            if position == len(self._reached):
                self._reached.append(0)
                self._kept.append(0)
            self._reached[position] += 1
            self._kept[position] += position < kept
        self._drafted += step.drafted
        self._accepted += len(step.tokens) - 1
        self._depth = step.drafted

    def _note_between(self, step_began: float) -> float:
        """Seconds between two steps; they belong to every token, guessed or not: text, events, the consumer."""
        if self._step_ended is None:
            return 0.0
        gap = max(0.0, step_began - self._step_ended)
        old = self._between
        self._between = gap if old is None else old + _OVERHEAD_WEIGHT * (gap - old)
        return gap

    def _plain_cost(self, step: Step, plain_s: float | None, gap: float) -> float | None:
        """What plain decoding would have taken. A plain step is its own measure, so noise cannot favour a side."""
        if not step.drafted:
            return step.total_s - step.draft_s + gap
        return None if plain_s is None else len(step.tokens) * (plain_s + (self._between or 0.0))

    def ended(self) -> None:
        """Nothing comes after this: loops are judged by their share of the whole answer."""
        self._against.end()

    def due(self) -> bool:
        """Whether it is time to tell the screen again (eight times a second)."""
        now = self._clock()
        if now - self._last_tick < _TICK_S:
            return False
        self._last_tick = now
        return True

    def snapshot(
        self, *, kind: str, mode: str, plain_s: float | None, plain_age_s: float | None, used: int, reason: str
    ) -> TurnStats:
        """The counters now.

        Args:
            plain_s: seconds of a plain step, None when it was not measured.
            used: tokens in the target's memory.
            reason: why guessing is not running although it was asked for.
        """
        spent = self._clock() - self._decoding_since if self._decoding_since is not None else 0.0
        plain = None if plain_s is None else 1 / (plain_s + (self._between or 0.0))
        return replace(
            self._first,
            output_tokens=self._output_tokens,
            steps=self._steps,
            drafted=self._drafted,
            accepted=self._accepted,
            forced=self._forced,
            draft_s=self._draft_s,
            depth=self._depth,
            prefill_s=self._prefill_s,
            ttft_s=self._ttft_s,
            decode_s=spent,
            plain_s=self._against.plain_s,
            looping=self._against.looping,
            looped_tokens=self._against.looped_tokens,
            looped_s=self._against.looped_s,
            reached_at=tuple(self._reached),
            accepted_at=tuple(self._kept),
            kind=kind,
            mode=mode,
            plain_tokens_per_second=plain,
            plain_age_s=plain_age_s,
            context_used=used,
            fallback_reason=reason,
        )
