"""Which tokens are kept: sample-and-match.

The target's sampler alone produces every token, row after row; a guess only decides whether the next row is of use. The
distribution is therefore exactly the target's, whatever the drafter proposes, and the rule composes with penalties and
any other state of the sampler, because a row is sampled only after the tokens before it were accepted.

Strict mode. A row of a decode of several tokens differs from the row that its token alone would give by rounding, and
at a near tie the other token may win. In strict mode such a row is not decided: its token is decoded alone.

- Row i > 0 in doubt: the i tokens before it are kept, and the memory is cut to those that were *decoded before* the
  input of row i. That input is the last token kept, chosen but not in memory, which is what every step begins with. So
  nothing has to be decoded again; the next step just guesses nothing. At most all tokens of the decode but one are
  taken back, as hybrid models with snapshots can.
- Row 0 in doubt: nothing was decided. The whole decode is taken back and its first token decoded alone, in the same
  step. Snapshots do not reach behind the first token of a decode, so on recurrent models the target takes a copy of its
  state before each draft when it is made for strict mode; its time counts as part of verifying.

A decode of one token is what plain decoding does and never in doubt. What stays different is the memory: keys, values
and states of kept tokens were computed several at a time, and rounding in them is not undone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mtpchat.backend.protocol import DecodedRows, Sampler, TargetModel


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of one step.

    Attributes:
        tokens: what the target chose, at least one; none only where the first row is doubtful.
        matched: how many guesses the target chose as well, without the last token when it is the last for doubt.
        tested: how many guesses were compared; those behind the first mismatch or doubt never are.
        doubtful: the row after the last token is a near tie, to be decided alone.
    """

    tokens: tuple[int, ...]
    matched: int
    tested: int
    doubtful: bool = False


def verify(
    draft: Sequence[int],
    rows: DecodedRows,
    sampler: Sampler,
    halts: Callable[[int], bool],
    epsilon: float = 0.0,
) -> Verdict:
    """Sample row after row for as long as the guesses agree.

    Args:
        draft: the k guesses that were decoded behind the last token.
        rows: the decode of [last, *draft]; logits of every row.
        sampler: has accepted everything up to the last token.
        halts: told each token as it is chosen; True ends the run there (end of generation, stop string, limit).
        epsilon: how far the winner of a row must be ahead, in logits; 0 decides every row.
    """
    tokens: list[int] = []
    for row in range(len(draft) + 1):
        token = _choose(rows, row, sampler, epsilon if draft else 0.0)
        if token is None:
            sure = max(0, row - 1)
            return Verdict(tuple(tokens), sure, sure, doubtful=True)
        sampler.accept(token)
        tokens.append(token)
        agrees = row < len(draft) and token == draft[row]
        if halts(token) or not agrees:
            return Verdict(tuple(tokens), row + agrees, min(row + 1, len(draft)))
    raise AssertionError("the row after the last guess agrees with nothing")


def _choose(rows: DecodedRows, row: int, sampler: Sampler, epsilon: float) -> int | None:
    logits, position = rows.logits(row), rows.start + row + 1
    return sampler.sample_surely(logits, position, epsilon) if epsilon > 0 else sampler.sample(logits, position)


def decide_first_alone(
    target: TargetModel, last: int, rows: DecodedRows, sampler: Sampler, halts: Callable[[int], bool]
) -> tuple[Verdict, DecodedRows]:
    """After a decode whose first row is doubtful: take it back, decode its first token alone, and decide.

    Raises:
        RollbackImpossible: the target was not made for strict mode.
        EngineError: the decode failed; see Controller.step.
    """
    target.rollback(rows.start)
    alone = target.decode([last])
    return verify((), alone, sampler, halts), alone
