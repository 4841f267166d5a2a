"""Counters of a turn; rates are derived from them, never stored.

Conventions (those of llama.cpp and vLLM): `drafted` counts tokens that were verified, `accepted` those of them that the
target also chose; the mean accepted length of a step counts the token that the target adds by itself:
1 + accepted / steps.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

_FEWEST = 16
"""Tokens outside loops from which on their speed says something about an answer that has loops."""


class Rates:
    """Rates of whatever has these counters."""

    __slots__ = ()

    output_tokens: int
    drafted: int
    accepted: int
    steps: int
    decode_s: float

    @property
    def tokens_per_second(self) -> float | None:
        """Decode rate without prefill, or None before there is one."""
        return self.output_tokens / self.decode_s if self.output_tokens and self.decode_s > 0 else None

    @property
    def acceptance(self) -> float | None:
        """Accepted share of the drafted tokens."""
        return self.accepted / self.drafted if self.drafted else None

    @property
    def mean_accepted_length(self) -> float | None:
        """Tokens per step, the target's own included."""
        return 1 + self.accepted / self.steps if self.steps else None


@dataclass(frozen=True, slots=True)
class TurnStats(Rates):
    """What one turn has done so far. Times are seconds; None where a thing was not measured.

    Attributes:
        prompt_tokens: length of the rendered prompt.
        cached_tokens: how many of them were already in the KV cache and not decoded again.
        output_tokens: tokens generated, end-of-generation token included.
        steps: target decodes that produced tokens (one step yields 1 + accepted tokens).
        drafted: tokens proposed and verified.
        accepted: tokens proposed and kept.
        forced: tokens that a grammar dictated and that were decoded together with others; not among drafted, accepted.
        reached_at: per position, how often a guess was tested (its whole prefix had been accepted).
        accepted_at: per position, how often that guess was kept.
        prefill_s: time spent on the prompt.
        decode_s: time spent in steps, the first included.
        draft_s: share of decode_s spent on proposing.
        ttft_s: from the request to the first token.
        plain_s: seconds that plain decoding would have taken for the same tokens, those in loops left out: plain steps
            count as they are, the tokens of the others at the measured cost of a plain step. None until that was
            measured.
        looping: the answer goes round in circles now; when it has ended, that a third of it or more did.
        looped_tokens / looped_s: tokens of steps that only repeated a loop, and the share of decode_s they took.
        plain_tokens_per_second: measured rate of width-1 steps of this model in this chat.
        plain_age_s: how long ago that rate was last refreshed.
        depth: how many tokens were drafted in the last step.
        kind: strategy in use ("none", "ngram", "draft", "mtp", ...).
        mode: "off", "on" or "auto".
        fallback_reason: why speculation is not running although it was asked for, or "".
        context_used / context_size: tokens in the KV cache and its capacity.
    """

    prompt_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    steps: int = 0
    drafted: int = 0
    accepted: int = 0
    forced: int = 0
    reached_at: tuple[int, ...] = ()
    accepted_at: tuple[int, ...] = ()
    prefill_s: float = 0.0
    decode_s: float = 0.0
    draft_s: float = 0.0
    ttft_s: float | None = None
    plain_s: float | None = None
    looping: bool = False
    looped_tokens: int = 0
    looped_s: float = 0.0
    plain_tokens_per_second: float | None = None
    plain_age_s: float | None = None
    depth: int = 0
    kind: str = "none"
    mode: str = "off"
    fallback_reason: str = ""
    context_used: int = 0
    context_size: int = 0

    @property
    def compared_rate(self) -> float | None:
        """Tokens per second outside loops: what is held against `plain_rate`. None where next to nothing was said."""
        tokens, seconds = self.output_tokens - self.looped_tokens, self.decode_s - self.looped_s
        if tokens <= 0 or seconds <= 0 or (self.looped_tokens and tokens < _FEWEST):
            return None
        return tokens / seconds

    @property
    def plain_rate(self) -> float | None:
        """Tokens per second that plain decoding of the same tokens would have come to, as the machine was then.

        `plain_tokens_per_second` is what a plain step takes now.
        """
        tokens = self.output_tokens - self.looped_tokens
        return tokens / self.plain_s if self.plain_s and tokens > 0 else self.plain_tokens_per_second

    @property
    def speedup(self) -> float | None:
        """How many times as fast as plain decoding of the same tokens.

        Loops are left out on both sides: they are easy to guess, so they are really fast, and no gain. None where next
        to nothing else was said.
        """
        rate, plain = self.compared_rate, self.plain_rate
        return rate / plain if rate and plain else None


def summed(total: TurnStats, turn: TurnStats) -> TurnStats:
    """Counters and times added up; what describes a moment is the turn's."""
    return replace(
        turn,
        prompt_tokens=total.prompt_tokens + turn.prompt_tokens,
        cached_tokens=total.cached_tokens + turn.cached_tokens,
        output_tokens=total.output_tokens + turn.output_tokens,
        steps=total.steps + turn.steps,
        drafted=total.drafted + turn.drafted,
        accepted=total.accepted + turn.accepted,
        forced=total.forced + turn.forced,
        reached_at=_added(total.reached_at, turn.reached_at),
        accepted_at=_added(total.accepted_at, turn.accepted_at),
        prefill_s=total.prefill_s + turn.prefill_s,
        decode_s=total.decode_s + turn.decode_s,
        draft_s=total.draft_s + turn.draft_s,
        plain_s=None if total.plain_s is None or turn.plain_s is None else total.plain_s + turn.plain_s,
        looped_tokens=total.looped_tokens + turn.looped_tokens,
        looped_s=total.looped_s + turn.looped_s,
        ttft_s=None,
    )


def _added(left: tuple[int, ...], right: tuple[int, ...]) -> tuple[int, ...]:
    length = max(len(left), len(right))
    return tuple(sum(counts[at] for counts in (left, right) if at < len(counts)) for at in range(length))
