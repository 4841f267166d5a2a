"""Which messages a model still reads when a chat has outgrown the context. Pure: sizes in, places out.

A turn is what the user said and what was answered. Turns leave as a whole, the oldest first, but never the first one,
which says what the chat is about, nor the last. Once something has to leave, enough does for a while: the beginning of
the prompt then stays the same for several turns, and only what is new has to be read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mtpchat.errors import ContextFull
from mtpchat.messages import Role

_GOAL = 0.7
"""Part of the room that is taken after something has left."""
_LEAST_RESERVE, _MOST_RESERVE, _RESERVE = 64, 1024, 1 / 16
_MOST_OF_CONTEXT = 0.25


@dataclass(frozen=True, slots=True)
class Cut:
    """Messages `head` .. `start` - 1 are not read; none when the two are equal."""

    head: int
    start: int

    @property
    def count(self) -> int:
        """How many messages are not read."""
        return self.start - self.head


def reserve_for(context: int, max_tokens: int) -> int:
    """Tokens that are kept for the answer.

    Args:
        max_tokens: most tokens of an answer; 0 without a limit. A quarter of the context is kept at most.
    """
    if max_tokens > 0:
        return min(max_tokens, int(context * _MOST_OF_CONTEXT))
    wanted = min(max(int(context * _RESERVE), _LEAST_RESERVE), _MOST_RESERVE)
    return min(wanted, int(context * _MOST_OF_CONTEXT))


def turn_starts(roles: Sequence[Role]) -> list[int]:
    """Places where turns begin: messages of the user that follow no other one, and the very first message."""
    return [at for at, role in enumerate(roles) if at == 0 or (role == "user" and roles[at - 1] != "user")]


def fit(roles: Sequence[Role], sizes: Sequence[int], fixed: int, limit: int, before: int = 0) -> Cut:
    """What has to leave so that the rest fits.

    Args:
        roles: of the messages, without the system message.
        sizes: their tokens.
        fixed: tokens that are there in any case: the system message and what the template adds.
        limit: tokens that there is room for.
        before: `start` of the last cut of this chat; it holds as long as it is enough. 0 is none.

    Raises:
        ContextFull: even without all that may leave it does not fit.
    """
    starts = turn_starts(roles)
    head = starts[1] if len(starts) > 1 else len(roles)
    total = fixed + sum(sizes)
    if total <= limit:
        return Cut(head, head)
    places = starts[1:]
    taken = [total - sum(sizes[head:start]) for start in places]
    if before in places and taken[places.index(before)] <= limit:
        return Cut(head, before)
    later = [at for at, start in enumerate(places) if start >= before]
    found = next((at for at in later if taken[at] <= limit * _GOAL), len(places) - 1)
    if not places or taken[found] > limit:
        raise ContextFull(_no_way(taken[-1] if places else total, limit, len(places)), hint=NO_WAY)
    return Cut(head, places[found])


NO_WAY = "Shorten what is sent, or load the model with a larger context (-c)."


def _no_way(least: int, limit: int, others: int) -> str:
    what = "The first exchange and your last message" if others else "This"
    if others == 1:
        what = "The two turns of this chat"
    return f"{what} alone would take {least:,} tokens, and there is room for {limit:,}. Nothing was sent."
