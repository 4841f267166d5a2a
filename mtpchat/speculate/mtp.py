"""Guessing with multi-token-prediction heads (NextN blocks; DeepSeek-V3 report, 2024, section 2.2).

A head is one transformer block that was trained together with the model. At position p it takes the token x_p and the
target's hidden state h_(p-1), and predicts x_(p+1). So every row pairs a token with the hidden state *before* it; the
first row of the context is paired with zeros.

Three shapes are run here. A single head is looped: its own hidden state stands in for the target's one position further
on, so confidence fades with depth. Chained heads (step35, mimo2) are one block per position: head i guesses position
i + 1, each keeps keys and values of its own for the same cells, and each must be shown every row. An assistant (gemma4)
has no memory of its own: it reads the model's, so there is nothing to catch up with, and all guesses of a draft are
made at one position.

Rows arrive through `observe` and wait in a backlog. They are fed together with the first guess of the next draft, in
one decode: cheaper than a decode of their own, and nothing at all while speculation is off.

An example. The target has decoded "The cat sat", which are x_0 .. x_2, and has chosen x_3 = "on", which it has not
decoded yet. The backlog holds the rows (x_0, 0), (x_1, h_0), (x_2, h_1); `propose` adds (x_3, h_2) and feeds all four,
and the head guesses x_4 = "the" with a hidden state g_3 of its own. A looped head is fed (x_4, g_3) next, for x_5. If
the target agrees with both guesses, `observe` brings it the true h_3 and h_4: the row of x_3 was true and stays, those
made from g are taken back, and (x_4, h_3), (x_5, h_4) wait.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np

from mtpchat.backend.protocol import DecodedRows, DraftContext, DraftOutput, Floats
from mtpchat.errors import MisuseRefused
from mtpchat.speculate.base import NO_DRAFT, Draft, Drafter, Parts, Strategy, Wants
from mtpchat.speculate.guessing import Guessing
from mtpchat.speculate.memo import Memo

MAX_BACKLOG = 512
"""Rows kept for later while nothing is guessed. Older ones are dropped: the head then starts from the oldest row left,
which costs some acceptance and no correctness. Where rows are dear, a longer backlog would never be worth reading."""
_MAX_BACKLOG_BYTES = 64 << 20
"""The same in bytes, for wide models."""
_MAX_MARKS = 64
"""Places to come back to; one is added with each chunk of a prompt."""
SHORT_LOOK = 16
"""Rows that a probe reads where reading all that waits would be too dear. What a head knows of the text before them is
lost then; most of what it guesses from is in the newest row."""


class MtpDrafter:
    """Drives the heads of one DraftContext.

    Args:
        guessing: how logits become guesses; the most likely token by default.
        first: position of the first token that has a row.
    """

    least_rows: int | None = SHORT_LOOK

    def __init__(self, draft: DraftContext, guessing: Guessing | None = None, *, first: int = 0) -> None:
        self._draft = draft
        self._guessing = guessing or Guessing()
        self._first = first
        self._most_rows = max(64, min(MAX_BACKLOG, _MAX_BACKLOG_BYTES // (4 * max(1, draft.hidden_width))))
        self._chained = draft.heads > 1
        self.depth_limit = draft.heads if self._chained else None
        # Rows not yet fed: (position, token, hidden state before it), positions consecutive up to _next - 1.
        self._backlog: deque[tuple[int, int, Floats]] = deque()
        self._next = 0
        # Hidden state of the token at _next - 1; None when the row was not seen (after a cut).
        self._last_hidden: Floats | None = None
        # Hidden states at places the context may be cut back to.
        self._marks: dict[int, Floats] = {}

    def propose(self, context: Sequence[int], wants: Wants) -> Draft:
        """See Drafter.propose."""
        position = len(context) - 1
        if self._next < position or position < self._first or not wants(()):
            return NO_DRAFT  # rows are missing (a cut that could not be mended): plain steps fill the gap
        if self._next > position:
            self._forget_from(position)  # the step after the last draft failed
        return self._chain(context, position, wants) if self._chained else self._loop(context, position, wants)

    def _loop(self, context: Sequence[int], position: int, wants: Wants) -> Draft:
        """One head, fed with its own hidden state."""
        self._note(position, context[position], self._before(position))
        output = _given(self._flush(want=True))
        tokens: list[int] = []
        confidences: list[float] = []
        while True:
            token, confidence = self._guessing(output.logits, position + 1 + len(tokens))
            tokens.append(token)
            confidences.append(confidence)
            if not wants(confidences):
                break
            output = _given(self._draft.feed([token], position + len(tokens), _row(output), want=True))
        # The row at `position` was made from true values and stays; the guesses' own rows go.
        self._draft.rollback(position + 1)
        return Draft(tuple(tokens), tuple(confidences))

    def _chain(self, context: Sequence[int], position: int, wants: Wants) -> Draft:
        """Head i re-reads the whole draft so far: the cells hold only what other heads wrote there."""
        self._flush(want=False)
        tokens: list[int] = []
        confidences: list[float] = []
        hidden = [self._before(position)]
        while len(tokens) < self._draft.heads:
            self._draft.rollback(position)
            rows = [context[position], *tokens]
            output = _given(self._draft.feed(rows, position, np.stack(hidden), want=True, head=len(tokens)))
            token, confidence = self._guessing(output.logits, position + 1 + len(tokens))
            tokens.append(token)
            confidences.append(confidence)
            if not wants(confidences):
                break
            hidden.append(_row(output)[0].copy())
        self._draft.rollback(position)
        return Draft(tuple(tokens), tuple(confidences))

    def _before(self, position: int) -> Floats:
        """Hidden state of the token before `position`; zeros at the start or where it was not seen."""
        return self._nothing if self._last_hidden is None or position != self._next else self._last_hidden

    @property
    def _nothing(self) -> Floats:
        """Stands in for a hidden state that was not seen."""
        return np.zeros(self._draft.hidden_width, np.float32)

    def _note(self, position: int, token: int, hidden: Floats) -> None:
        """Have a row wait, unless it was noted before."""
        if position >= self._next:
            if position >= self._first:
                self._backlog.append((position, token, hidden))
            self._next = position + 1

    def _flush(self, *, want: bool, rows: int | None = None) -> DraftOutput | None:
        """Feed the backlog, oldest first; with `want` its last row gives the first guess."""
        output: DraftOutput | None = None
        left = len(self._backlog) if rows is None else min(rows, len(self._backlog))
        while left:
            part = [self._backlog.popleft() for _ in range(min(left, self._draft.batch))]
            left -= len(part)
            output = self._feed(part, want=want and not left)
        return output

    def _feed(self, part: list[tuple[int, int, Floats]], *, want: bool) -> DraftOutput | None:
        start = part[0][0]
        tokens = [token for _, token, _ in part]
        hidden = np.stack([row for _, _, row in part])
        if start != self._draft.length:  # behind a gap the head begins anew: it must not look past missing rows
            self._draft.rollback(start if start < self._draft.length else 0)
        output = None
        for head in range(self._draft.heads):
            if head:
                self._draft.rollback(start)
            output = self._draft.feed(tokens, start, hidden, want=want, head=head)
        return output

    def observe(self, start: int, tokens: Sequence[int], rows: DecodedRows) -> None:
        """See Drafter.observe."""
        states = rows.hidden()[: len(tokens)]
        if start > self._next:
            # Rows were never shown (they were decoded before this drafter existed): begin anew from here.
            self._backlog.clear()
            self._next, self._last_hidden = start, None
        elif start < self._next - 1:
            self.rollback(start + 1)  # shown again, for another drafter's sake: the row at `start` is true already
        before = self._before(start) if start == self._next else None
        for index, token in enumerate(tokens):
            row = states[index - 1] if index else before
            self._note(start + index, token, row if row is not None else self._nothing)
        self._last_hidden = states[-1]
        while len(self._backlog) > self._most_rows:
            self._backlog.popleft()

    def warm(self, context: Sequence[int], length: int, rows: int) -> int:
        """See Drafter.warm. The places where it is called are those a later turn may come back to."""
        if rows and self._last_hidden is not None:
            self._marks[self._next] = self._last_hidden.copy()  # a view would keep all rows of its decode alive
            if len(self._marks) > _MAX_MARKS:
                del self._marks[next(iter(self._marks))]
        self._flush(want=False, rows=rows)
        return len(self._backlog)

    def skip(self) -> None:
        """See Drafter.skip: the head begins anew with the oldest row that is left."""
        while len(self._backlog) > SHORT_LOOK:
            self._backlog.popleft()

    def _forget_from(self, length: int) -> None:
        while self._backlog and self._backlog[-1][0] >= length:
            self._backlog.pop()
        self._draft.rollback(min(length, self._draft.length))
        self._next = length

    def rollback(self, length: int) -> int:
        """See Drafter.rollback."""
        if length >= self._next:
            return length
        self._forget_from(length)
        self._marks = {at: row for at, row in self._marks.items() if at <= length}
        self._last_hidden = self._marks.get(length)
        # Without the hidden state of the last kept token the next row would be paired with nothing: see it again.
        return length if self._last_hidden is not None or length == 0 else length - 1

    def memo(self) -> Memo | None:
        """See Drafter.memo: rows that wait, rows of places to come back to, and the last one."""
        newest = self._last_hidden
        rows = [row for _, _, row in self._backlog] + list(self._marks.values())
        places = [at for at, _, _ in self._backlog] + list(self._marks)
        if newest is not None:
            rows, places = [*rows, newest], [*places, self._next]
        packed = np.stack(rows).astype(np.float32).tobytes() if rows else b""
        tokens = tuple(token for _, token, _ in self._backlog)
        return Memo(self._next, tokens, tuple(places), packed, self._draft.hidden_width, newest is not None)

    def recall(self, memo: Memo) -> bool:
        """See Drafter.recall."""
        hidden, waiting = memo.hidden(), len(memo.tokens)
        if hidden is None or memo.width != self._draft.hidden_width or memo.newest > len(hidden) - waiting:
            return False
        if memo.places[:waiting] != tuple(range(memo.next - waiting, memo.next)) or self._draft.length > memo.next:
            return False
        end = len(hidden) - memo.newest
        self._backlog = deque(zip(memo.places, memo.tokens, hidden, strict=False))
        self._marks = dict(zip(memo.places[waiting:end], hidden[waiting:end], strict=True))
        self._next, self._last_hidden = memo.next, hidden[-1] if memo.newest else None
        return True

    def close(self) -> None:
        """See Drafter.close."""
        self._backlog.clear()
        self._marks.clear()
        self._draft.rollback(0)
        self._next, self._last_hidden = 0, None


class SharedMtpDrafter:
    """Drives an assistant that reads the target's own memory: it needs nothing but the last hidden state."""

    depth_limit: int | None = None
    least_rows: int | None = 0

    def __init__(self, draft: DraftContext, guessing: Guessing | None = None) -> None:
        self._draft = draft
        self._guessing = guessing or Guessing()
        self._next = 0
        self._last_hidden: Floats | None = None

    def propose(self, context: Sequence[int], wants: Wants) -> Draft:
        """See Drafter.propose."""
        position = len(context) - 1
        if self._next != position or self._last_hidden is None or not wants(()):
            return NO_DRAFT  # the hidden state before the last token was not seen: a plain step brings it
        tokens: list[int] = []
        confidences: list[float] = []
        token, hidden = context[position], self._last_hidden[np.newaxis, :]
        while True:
            output = _given(self._draft.feed([token], position, hidden, want=True))
            token, confidence = self._guessing(output.logits, position + 1 + len(tokens))
            tokens.append(token)
            confidences.append(confidence)
            if not wants(confidences):
                return Draft(tuple(tokens), tuple(confidences))
            hidden = _row(output)

    def observe(self, start: int, tokens: Sequence[int], rows: DecodedRows) -> None:
        """See Drafter.observe."""
        self._next = start + len(tokens)
        self._last_hidden = rows.hidden()[len(tokens) - 1]

    def warm(self, context: Sequence[int], length: int, rows: int) -> int:
        """See Drafter.warm: nothing ever waits."""
        return 0

    def skip(self) -> None:
        """See Drafter.skip."""

    def rollback(self, length: int) -> int:
        """See Drafter.rollback."""
        if length < self._next:
            self._next, self._last_hidden = length, None
        return length

    def memo(self) -> Memo | None:
        """See Drafter.memo."""
        row = self._last_hidden
        packed = b"" if row is None else np.asarray(row, np.float32).tobytes()
        places = () if row is None else (self._next,)
        return Memo(self._next, (), places, packed, self._draft.hidden_width, row is not None)

    def recall(self, memo: Memo) -> bool:
        """See Drafter.recall."""
        hidden = memo.hidden()
        if hidden is None or memo.width != self._draft.hidden_width or len(hidden) != memo.newest:
            return False
        self._next, self._last_hidden = memo.next, hidden[0] if memo.newest else None
        return True

    def close(self) -> None:
        """See Drafter.close."""
        self._next, self._last_hidden = 0, None


def _row(output: DraftOutput) -> Floats:
    """The hidden state of an output as one row, shape (1, width)."""
    if output.hidden is None:
        raise MisuseRefused("The head gave no hidden state.")
    return output.hidden[np.newaxis, :]


def _given(output: DraftOutput | None) -> DraftOutput:
    if output is None:
        raise MisuseRefused("The head gave no logits.")
    return output


def _build(parts: Parts) -> Drafter | None:
    if parts.draft is None or parts.draft_kind != "mtp":
        return None
    drafter = SharedMtpDrafter if parts.draft.shared else MtpDrafter
    return drafter(parts.draft, parts.guessing)


STRATEGY = Strategy("mtp", "the model's own multi-token-prediction heads guess", _build)
