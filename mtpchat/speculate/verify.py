"""Which tokens are kept: sample-and-match.

The target's sampler alone produces every token, row after row; a guess only decides whether the next row is of use. The
distribution is therefore exactly the target's, whatever the drafter proposes, and the rule composes with penalties and
any other state of the sampler, because a row is sampled only after the tokens before it were accepted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mtpchat.backend.protocol import DecodedRows, Sampler


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of one step.

    Attributes:
        tokens: what the target chose, at least one.
        matched: how many guesses the target chose as well.
        tested: how many guesses were compared; those behind the first mismatch never are.
    """

    tokens: tuple[int, ...]
    matched: int
    tested: int


def verify(draft: Sequence[int], rows: DecodedRows, sampler: Sampler, halts: Callable[[int], bool]) -> Verdict:
    """Sample row after row for as long as the guesses agree.

    Args:
        draft: the k guesses that were decoded behind the last token.
        rows: the decode of [last, *draft]; logits of every row.
        sampler: has accepted everything up to the last token.
        halts: told each token as it is chosen; True ends the run there (end of generation, stop string, limit).
    """
    tokens: list[int] = []
    for row in range(len(draft) + 1):
        token = sampler.sample(rows.logits(row), rows.start + row + 1)
        sampler.accept(token)
        tokens.append(token)
        agrees = row < len(draft) and token == draft[row]
        if halts(token) or not agrees:
            return Verdict(tuple(tokens), row + agrees, min(row + 1, len(draft)))
    raise AssertionError("the row after the last guess agrees with nothing")
