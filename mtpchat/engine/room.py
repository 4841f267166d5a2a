"""Sees to it that what is sent fits into the context, in the way that the chat or the settings ask for.

Nothing leaves silently: what is left out is told before the turn, and where nothing may be left out, nothing is sent.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from mtpchat.config import Overflow
from mtpchat.engine.overflow import NO_WAY, Cut, fit, reserve_for
from mtpchat.engine.requests import TurnRequest
from mtpchat.errors import ContextFull, MessageTooLong
from mtpchat.events import LeftOut, Measured
from mtpchat.messages import Message

_ROUNDS = 6
"""Sizes of parts add up to the whole only roughly, so a cut is measured as a whole before it holds."""

Measure = Callable[[TurnRequest], Awaitable[Measured]]


@dataclass(frozen=True, slots=True)
class Fitted:
    """A request that fits.

    Attributes:
        cut: which of its messages, the system message not counted, were left out.
        left_out: what to tell about that, or None when nothing was.
    """

    request: TurnRequest
    cut: Cut
    left_out: LeftOut | None = None


async def fitted(request: TurnRequest, policy: Overflow, before: int, measure: Measure) -> Fitted:
    """The request, or what of it there is room for.

    Args:
        before: `start` of the last cut of this chat; 0 is none.
        measure: tells how much of the context a request would take.

    Raises:
        ContextFull: it does not fit, and the policy is not to leave anything out, or that is not enough.
        MessageTooLong: the last message alone does not fit.
        EngineError, TemplateError: it cannot be measured.
    """
    whole = await measure(request)
    said = _without_system(request.messages)
    nothing = Cut(len(said), len(said))
    if not whole.context:
        return Fitted(request, nothing)
    reserve = reserve_for(whole.context, request.sampling.max_tokens)
    limit = whole.context - reserve
    if whole.prompt_tokens <= limit:
        return Fitted(request, nothing)
    if policy != "drop":
        _may_fit(whole, said, limit)
        raise ContextFull(_full(whole, reserve), hint=_HINTS[policy])
    return await _cut(request, whole, limit, before, measure)


def _may_fit(whole: Measured, said: Sequence[Message], limit: int) -> None:
    fixed, sizes = sizes_of(whole, len(said))
    least = fixed + sum(sizes[-1:])
    if said and said[-1].role == "user" and least > limit:
        raise MessageTooLong(
            f"This message alone would take {least:,} tokens, and there is room for {limit:,}. Nothing was sent.",
            hint=NO_WAY,
        )


async def _cut(request: TurnRequest, whole: Measured, limit: int, before: int, measure: Measure) -> Fitted:
    said = _without_system(request.messages)
    fixed, sizes = sizes_of(whole, len(said))
    room = limit
    for _ in range(_ROUNDS):
        try:
            cut = fit([message.role for message in said], sizes, fixed, room, before)
        except ContextFull:
            if room == limit:
                raise
            break  # its numbers would be those of the narrower room
        shorter = replace(request, messages=without(request.messages, cut))
        now = await measure(shorter)
        if now.prompt_tokens <= limit:
            left_out = LeftOut(
                cut.head, cut.count, cut.start > before, now.prompt_tokens, whole.prompt_tokens, whole.context
            )
            return Fitted(shorter, cut, left_out)
        room -= max(now.prompt_tokens - limit, 1)
    raise ContextFull(
        f"What has to stay of this chat takes {now.prompt_tokens:,} tokens, and there is room for {limit:,}.",
        hint="/clear begins anew; a larger context is set with -c.",
    )


def without(messages: Sequence[Message], cut: Cut) -> tuple[Message, ...]:
    """The messages of a request, system message included, without those that a cut leaves out."""
    first = len(messages) - len(_without_system(messages))
    return (*messages[: first + cut.head], *messages[first + cut.start :])


def sizes_of(measured: Measured, said: int) -> tuple[int, list[int]]:
    """What a whole request takes, in parts.

    Args:
        said: how many messages there are without the system message.

    Returns:
        tokens that are there in any case, and those of each message; what the template adds is spread over all.
    """
    words = measured.per_message
    frame = max(measured.prompt_tokens - sum(words), 0)
    each = frame // max(len(words), 1)
    own = [size + each for size in words[len(words) - said :]] if said else []
    return max(measured.prompt_tokens - sum(own), 0), own


def _without_system(messages: Sequence[Message]) -> Sequence[Message]:
    return messages[1:] if messages and messages[0].role == "system" else messages


def _full(measured: Measured, reserve: int) -> str:
    share = f"{measured.prompt_tokens:,} of the {measured.context:,} tokens of the context"
    if measured.prompt_tokens >= measured.context:
        return f"This does not fit: it would take {share}. Nothing was sent."
    return f"This would take {share}, and {reserve:,} are kept for the answer. Nothing was sent."


_HINTS: dict[Overflow, str] = {
    "stop": "/compact makes a summary of the older part, /context drop leaves the oldest turns out, /undo takes one"
    " back; a larger context is set with -c.",
    "summarise": "/compact makes a summary of the older part; a larger context is set with -c.",
    "drop": "",
}
