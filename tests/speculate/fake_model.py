"""A target and a drafter's context made of hashes: as strict as llama.cpp, and every mistake shows in the text.

The next token hangs on all tokens before it, so a memory that is out of step by one token says something else. Hidden
rows name the position and the past they belong to, so a row that is paired with the wrong token is caught.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from mtpchat.backend.protocol import Capabilities, DraftOutput, Floats, WantedRows
from mtpchat.errors import DecodeFailed, MisuseRefused, RollbackImpossible

VOCABULARY = 24


def past_hash(tokens: Sequence[int]) -> int:
    """A number that names a sequence of tokens."""
    value = 1469598103934665603
    for token in tokens:
        value = ((value ^ (token + 1)) * 1099511628211) % (1 << 64)
    return value


def hidden_row(tokens: Sequence[int]) -> Floats:
    """The hidden state after these tokens."""
    return np.array([len(tokens), past_hash(tokens) % 9973], np.float32)


def logits_after(tokens: Sequence[int], spread: float = 6.0) -> Floats:
    """Logits after these tokens."""
    noise = np.random.default_rng(past_hash(tokens) % (1 << 32))
    return (noise.standard_normal(VOCABULARY) * spread).astype(np.float32)


@dataclass
class FakeRows:
    """DecodedRows of a FakeTarget."""

    target: FakeTarget
    start: int
    count: int
    wanted: WantedRows

    def logits(self, row: int) -> Floats:
        if not (self.wanted == "all" or (self.wanted == "last" and row == self.count - 1)):
            raise MisuseRefused("row was not asked for")
        return self.target.say(self.target.decoded[: self.start + row + 1], self.count)

    def hidden(self) -> Floats:
        if not self.target.capabilities.hidden_width:
            raise MisuseRefused("no hidden rows")
        return np.stack([hidden_row(self.target.decoded[: self.start + i + 1]) for i in range(self.count)])


@dataclass
class FakeTarget:
    """TargetModel of hashes. `snapshots` None: memory can be cut anywhere; n: only n tokens of the last decode.

    Attributes:
        whole_steps: the last decode can be taken back as a whole in spite of `snapshots`.
        wobble: how far logits are off in decodes of several tokens, as rounding does it. They are then close together.
    """

    snapshots: int | None = None
    context: int = 400
    width: int = 2
    whole_steps: bool = False
    wobble: float = 0.0
    memory: list[int] = field(default_factory=list)
    decoded: list[int] = field(default_factory=list)
    widths: list[int] = field(default_factory=list)
    _fresh: int = 0

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(
            context=self.context,
            batch=64,
            rollback=self.snapshots,
            max_rows=17,
            deep_rollback=self.snapshots is None,
            hidden_width=self.width,
        )

    @property
    def length(self) -> int:
        return len(self.memory)

    def decode(
        self, tokens: Sequence[int], *, rows: WantedRows = "last", interrupt: Callable[[], bool] | None = None
    ) -> FakeRows:
        assert 1 <= len(tokens) <= 64
        assert len(self.memory) + len(tokens) <= self.context
        start = len(self.memory)
        self.memory.extend(tokens)
        self.decoded = list(self.memory)
        self.widths.append(len(tokens))
        self._fresh = len(tokens)
        return FakeRows(self, start, len(tokens), rows)

    def rollback(self, length: int) -> None:
        taken = len(self.memory) - length
        if taken == 0:
            return
        if length == 0:
            self.clear()
            return
        whole = self.whole_steps and taken == self._fresh
        deep = self.snapshots is not None and taken > min(self._fresh - 1, self.snapshots)
        if taken < 0 or (deep and not whole):
            raise RollbackImpossible("too deep")
        del self.memory[length:]
        self._fresh = 0

    def say(self, past: Sequence[int], width: int) -> Floats:
        """Logits after these tokens, decoded `width` at a time."""
        if not self.wobble:
            return logits_after(past)
        close = np.round(logits_after(past) / 4) * 4 + logits_after([*past, 0], spread=2 * self.wobble)
        if width == 1:
            return close
        noise = np.random.default_rng((past_hash(past) + width) % (1 << 32))
        return (close + noise.uniform(-self.wobble, self.wobble, VOCABULARY)).astype(np.float32)

    def clear(self) -> None:
        self.memory.clear()
        self._fresh = 0

    def checkpoint(self) -> bytes | None:
        return None if self.snapshots is None else bytes(self.memory)

    def restore(self, state: bytes, length: int) -> None:
        self.memory[:] = state
        self._fresh = 0


@dataclass
class FakeDraft:
    """DraftContext of hashes: keeps the rows it was fed, per head.

    Attributes:
        right: how a guess comes about: told the past as far as the rows tell it, gives a token.
        context: rows that there is room for.
        fails_at: which feed fails, counted from 1, and leaves an empty memory; 0 for none.
    """

    right: Callable[[Sequence[int]], int]
    heads: int = 1
    hidden_width: int = 2
    shared: bool = False
    batch: int = 16
    context: int = 1 << 20
    fails_at: int = 0
    rows: list[list[tuple[int, int, tuple[float, ...]]]] = field(default_factory=list)
    feeds: int = 0

    def __post_init__(self) -> None:
        self.rows = [[] for _ in range(self.heads)]
        self._length = self._first = 0

    @property
    def length(self) -> int:
        return self._length

    def feed(
        self, tokens: Sequence[int], start: int, hidden: Floats | None, *, want: bool, head: int = 0
    ) -> DraftOutput | None:
        assert 1 <= len(tokens) <= self.batch
        assert not self._length or start == self._length, "gap or overlap"
        assert (hidden is None) == (self.hidden_width == 0)
        assert start + len(tokens) <= self.context, "there is no room for that row"
        self.feeds += 1
        if self.feeds == self.fails_at:
            self._length = 0
            raise DecodeFailed("the card fell off the bus", code=-3)
        if not self._length:
            self._first = start  # what an empty memory had held before is gone
        mine = [row for row in self.rows[head] if self._first <= row[0] < start]
        for index, token in enumerate(tokens):
            state = () if hidden is None else tuple(float(x) for x in hidden[index])
            mine.append((start + index, token, state))
        self.rows[head] = mine
        self._length = start + len(tokens)
        if not want:
            return None
        logits = np.full(VOCABULARY, -5.0, np.float32)
        logits[self.right([token for _, token, _ in mine])] = 5.0
        return DraftOutput(logits, np.array([-1.0, -1.0], np.float32) if self.hidden_width else None)

    def rollback(self, length: int) -> None:
        self._length = min(self._length, length)

    def close(self) -> None:
        self._length = 0

    def settled(self, head: int = 0) -> list[tuple[int, int, tuple[float, ...]]]:
        """Rows that are in memory now."""
        return [row for row in self.rows[head] if self._first <= row[0] < self._length]


@dataclass
class GreedySampler:
    """Greedy, with a penalty on the token before: its state must follow the accepted tokens exactly."""

    last: int = -1

    def sample(self, logits: Floats, position: int) -> int:
        scores = logits.copy()
        if self.last >= 0:
            scores[self.last] -= 3.0
        return int(np.argmax(scores))

    def sample_surely(self, logits: Floats, position: int, epsilon: float) -> int | None:
        scores = logits.copy()
        if self.last >= 0:
            scores[self.last] -= 3.0
        second, first = np.sort(scores)[-2:]
        return int(np.argmax(scores)) if first - second >= epsilon else None

    def accept(self, token: int) -> None:
        self.last = token

    def reset(self, context: Sequence[int]) -> None:
        self.last = context[-1] if context else -1

    def close(self) -> None:
        self.last = -1


def says(prompt: Sequence[int], count: int) -> list[int]:
    """What the model says after `prompt`, decoded one token at a time without any of our code."""
    sampler = GreedySampler()
    sampler.reset(prompt)
    tokens = list(prompt)
    for _ in range(count):
        token = sampler.sample(logits_after(tokens), len(tokens))
        sampler.accept(token)
        tokens.append(token)
    return tokens[len(prompt) :]
