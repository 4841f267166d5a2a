"""Laws of every kind of drafter that is found, on every sort of context that it may meet."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtpchat.backend.protocol import DraftOutput, Floats
from mtpchat.config import SpeculativeConfig
from mtpchat.engine.memory import Memory
from mtpchat.errors import DecodeFailed
from mtpchat.events import SpeculationControl
from mtpchat.speculate.base import Drafter, Parts, strategies
from mtpchat.speculate.controller import Controller
from mtpchat.speculate.none import NoDrafter
from tests.speculate.fake_model import (
    VOCABULARY,
    FakeDraft,
    FakeTarget,
    GreedySampler,
    hidden_row,
    says,
)
from tests.speculate.test_controller import PROMPT, Clock, control_lists, oracle, run


@dataclass
class Assistant(FakeDraft):
    """Reads the target's own memory: it is fed at one position, and is told of nothing but the hidden state there."""

    target: FakeTarget = field(default_factory=FakeTarget)
    said: list[int] = field(default_factory=list)
    shared: bool = True

    @property
    def length(self) -> int:
        return self.target.length

    def feed(
        self, tokens: Sequence[int], start: int, hidden: Floats | None, *, want: bool, head: int = 0
    ) -> DraftOutput | None:
        assert (len(tokens), start, want, head) == (1, self.target.length, True, 0)
        assert hidden is not None
        self.feeds += 1
        if self.feeds == self.fails_at:
            raise DecodeFailed("the card fell off the bus", code=-3)
        if hidden[0][0] >= 0:  # a state of the target's begins a draft, its own goes on with it
            assert list(hidden[0]) == list(hidden_row(self.target.memory))
            self.said.clear()
        self.said += tokens
        logits = np.full(VOCABULARY, -5.0, np.float32)
        logits[self.right([*self.target.memory, *self.said])] = 5.0
        return DraftOutput(logits, np.array([-1.0, -1.0], np.float32))

    def rollback(self, length: int) -> None:
        """The memory is the target's."""


Context = Callable[[FakeTarget], FakeDraft]


@dataclass(frozen=True)
class Maker:
    """Makes drafters of one kind, as the engine does.

    Attributes:
        context: of the drafter, for kinds that have one of their own.
    """

    kind: str
    context: Context | None = None

    def __call__(self, context: FakeDraft | None) -> Drafter:
        parts = Parts(context, self.kind if context else "", SpeculativeConfig(ngram_min=2))
        drafter = strategies()[self.kind].build(parts)
        assert drafter is not None
        return drafter


def makers() -> dict[str, Maker]:
    """Every kind that is found, on every sort of context that it may meet."""
    right = oracle(3).right
    found: dict[str, Maker] = {}
    for kind in strategies():
        match kind:
            case "draft":
                found[kind] = Maker(kind, lambda _target: FakeDraft(right, hidden_width=0))
            case "mtp":
                found["mtp, looped"] = Maker(kind, lambda _target: FakeDraft(right))
                found["mtp, chained"] = Maker(kind, lambda _target: FakeDraft(right, heads=3))
                found["mtp, shared"] = Maker(kind, lambda target: Assistant(right, target=target))
            case "eagle3":
                found[kind] = Maker(kind, lambda _target: FakeDraft(right))
            case _:
                found[kind] = Maker(kind)
    return found


EVERY_KIND = pytest.mark.parametrize("name", makers())
texts = st.lists(st.integers(0, VOCABULARY - 1), min_size=1, max_size=12)
chats = st.lists(st.tuples(st.integers(0, 60), texts, st.integers(1, 16)), min_size=1, max_size=4)
"""Turns: how much of what was there stays, what is said then, and how long the answer is."""


class Chat:
    """Turns of one drafter over one target, as the engine has them: the common part of a prompt is not read again."""

    def __init__(
        self, make: Maker, context: FakeDraft | None = None, size: int = 400, snapshots: int | None = None
    ) -> None:
        self.target = FakeTarget(snapshots, context=size)
        self.context = context or (make.context(self.target) if make.context else None)
        if self.context is not None:
            self.context.context = size
        self.drafter = make(self.context)
        self.controller = Controller(self.target, {"none": NoDrafter(), "test": self.drafter}, Clock(), combine=False)
        self.memory = Memory(self.controller)

    def read(self, prompt: Sequence[int]) -> None:
        """The prompt is read in pieces of seven."""
        done, end = self.memory.reuse(prompt), len(prompt) - 1
        while done < end:
            stop = min(done + 7, end)
            rows = self.target.decode(prompt[done:stop], rows="none")
            self.controller.learn(done, prompt[done:stop], rows, warm="test")
            self.memory.keep_checkpoint()  # where the memory cannot be cut, this is what it comes back to
            done = stop

    def answer(self, count: int, controls: Sequence[SpeculationControl]) -> list[int]:
        """What is said, token by token as `run` checks it."""
        before = len(self.controller.context)
        run(self.controller, count, controls)
        return self.controller.context[before:]

    def check_rows(self) -> None:
        """What a head has read is the text, each token with the state before it, or with none where nobody saw it."""
        text, draft = self.controller.context, self.context
        if draft is None or draft.shared or not draft.hidden_width:
            return
        for head in range(draft.heads):
            for position, token, state in draft.settled(head):
                assert token == text[position]
                seen = list(state) == list(hidden_row(text[:position]))
                unseen = list(state) == [0.0, 0.0] and (not position or not self.target.capabilities.deep_rollback)
                assert seen or unseen, (position, state)

    def until(self, halts: Callable[[int], bool], control: SpeculationControl) -> list[int]:
        """What is said until it halts or the context is full, as a turn of the engine goes on."""
        controller, sampler, ended = self.controller, GreedySampler(), False
        sampler.reset(controller.context)
        before = len(controller.context)

        def told(token: int) -> bool:
            nonlocal ended
            assert not ended, "nothing is chosen behind the end"
            ended = halts(token)
            return ended

        while not ended and len(controller.context) <= self.target.context:
            controller.step(sampler, control, "test", 1000, told)
            assert self.target.memory == controller.context[:-1]
        return controller.context[before:]


def play(
    make: Maker,
    turns: Sequence[tuple[int, list[int], int]],
    controls: Sequence[SpeculationControl],
    snapshots: int | None = None,
) -> None:
    """Go through a chat that is edited in between, and compare each answer with the model's own."""
    chat = Chat(make, snapshots=snapshots)
    text: list[int] = []
    for stays, more, count in turns:
        text = [*text[:stays], *more]
        chat.read(text)
        chat.check_rows()
        said = chat.answer(count, controls)
        assert said[:count] == says(text, count)
        chat.check_rows()
        text = [*text, *said]


@EVERY_KIND
@settings(max_examples=25, deadline=None)
@given(turns=chats, controls=control_lists, snapshots=st.sampled_from([None, 0, 2, 8]))
def test_no_kind_changes_a_text_that_is_cut_and_gone_on_with(
    name: str, turns: list[tuple[int, list[int], int]], controls: list[SpeculationControl], snapshots: int | None
) -> None:
    play(makers()[name], turns, controls, snapshots)


MODES = [SpeculationControl(mode="on"), SpeculationControl(mode="auto"), SpeculationControl("on", 5, 5, pinned=True)]


@EVERY_KIND
@settings(max_examples=25, deadline=None)
@given(turns=chats, last=st.integers(0, VOCABULARY - 1), control=st.sampled_from(MODES))
def test_an_answer_that_ends_inside_a_draft_ends_there_and_the_chat_goes_on(
    name: str, turns: list[tuple[int, list[int], int]], last: int, control: SpeculationControl
) -> None:
    # An end of generation, or a stop string: whoever is told each token says where it ends.
    chat = Chat(makers()[name])
    text: list[int] = []
    for stays, more, count in turns:
        text = [*text[:stays], *more]
        chat.read(text)
        left = count

        def halts(token: int) -> bool:
            nonlocal left
            left -= 1
            return token == last or left == 0

        said = chat.until(halts, control)
        expected = says(text, count)
        assert said == (expected[: expected.index(last) + 1] if last in expected else expected)
        text = [*text, *said]


@EVERY_KIND
@settings(max_examples=15, deadline=None)
@given(prompt=texts, size=st.integers(14, 40), control=st.sampled_from(MODES))
def test_a_context_is_filled_to_its_last_place(
    name: str, prompt: list[int], size: int, control: SpeculationControl
) -> None:
    chat = Chat(makers()[name], size=size)
    chat.read(prompt)
    said = chat.until(lambda _token: False, control)
    assert chat.target.length == size
    assert said == says(prompt, size + 1 - len(prompt))
    chat.read([*prompt, 1])  # what stays is good for the next turn
    assert chat.answer(1, [control]) == says([*prompt, 1], 1)


@EVERY_KIND
@settings(max_examples=25, deadline=None)
@given(turns=chats, fails_at=st.integers(1, 40), control=st.sampled_from(MODES))
def test_a_drafter_that_fails_at_any_moment_changes_no_text_and_is_tried_again(
    name: str, turns: list[tuple[int, list[int], int]], fails_at: int, control: SpeculationControl
) -> None:
    chat = Chat(makers()[name])
    if chat.context is None:
        return
    chat.context.fails_at = fails_at
    text: list[int] = []
    for stays, more, count in turns:
        text = [*text[:stays], *more]
        chat.controller.retry_broken()
        chat.read(text)
        said = chat.answer(count, [control])
        assert said == says(text, count)
        text = [*text, *said]
    chat.context.fails_at = 0
    chat.controller.retry_broken()
    chat.read([*text, 2])
    before = chat.context.feeds
    chat.answer(12, [SpeculationControl(mode="on")])
    assert chat.context.feeds > before
    assert not chat.controller.fallback_reason


@EVERY_KIND
@settings(max_examples=25, deadline=None)
@given(turns=chats, depth=st.integers(1, 6))
def test_every_kind_is_asked_once_before_each_guess(
    name: str, turns: list[tuple[int, list[int], int]], depth: int
) -> None:
    chat = Chat(makers()[name])
    text: list[int] = []
    for stays, more, count in turns:
        text = [*text[:stays], *more]
        chat.read(text)
        asked: list[tuple[float, ...]] = []

        def wants(made: Sequence[float], asked: list[tuple[float, ...]] = asked) -> bool:
            asked.append(tuple(made))
            return len(made) < depth

        draft = chat.drafter.propose(chat.controller.context, wants)
        assert [len(made) for made in asked] == list(range(len(asked)))
        assert len(draft.tokens) == len(draft.confidences) <= depth
        assert len(asked) in {len(draft.tokens), len(draft.tokens) + 1}
        if chat.context and draft.tokens:
            assert len(asked) == len(draft.tokens) + 1, "without the last answer nobody knows what the last guess took"
        assert all(draft.confidences[: len(made)] == made for made in asked)
        chat.read(text)  # what was proposed and not decoded leaves no trace
        text = [*text, *chat.answer(count, [SpeculationControl(mode="on", draft_max=depth)])]


@EVERY_KIND
@settings(max_examples=25, deadline=None)
@given(turns=chats, count=st.integers(1, 20))
def test_what_a_drafter_leaves_is_enough_to_go_on_from(
    name: str, turns: list[tuple[int, list[int], int]], count: int
) -> None:
    controls = [SpeculationControl(mode="on", draft_max=3)]
    chat = Chat(makers()[name])
    text: list[int] = []
    for stays, more, length in turns:
        text = [*text[:stays], *more]
        chat.read(text)
        text = [*text, *chat.answer(length, controls)]
    memo = chat.drafter.memo()
    if memo is None:
        return
    kept = copy.deepcopy(chat.context)  # as a file of states has it
    other, length = Chat(makers()[name], kept), chat.target.length
    for start in range(0, length, 64):
        other.target.decode(text[start : min(start + 64, length)])
    if isinstance(kept, Assistant):
        kept.target = other.target
    assert other.drafter.recall(memo)
    other.memory.take_over(text[:length], ())
    for one in (chat, other):
        one.read([*text, 5])
    ahead = [one.drafter.propose(one.controller.context, lambda made: len(made) < 3) for one in (chat, other)]
    assert ahead[0] == ahead[1]
    assert chat.answer(count, controls) == other.answer(count, controls)


@EVERY_KIND
@settings(max_examples=15, deadline=None)
@given(turns=chats, count=st.integers(2, 20))
def test_a_drafter_that_was_closed_is_like_a_new_one(
    name: str, turns: list[tuple[int, list[int], int]], count: int
) -> None:
    used, new = Chat(makers()[name]), Chat(makers()[name])
    text: list[int] = []
    for stays, more, length in turns:
        text = [*text[:stays], *more]
        used.read(text)
        text = [*text, *used.answer(length, [SpeculationControl(mode="on", draft_max=3)])]
    used.memory.forget()
    for one in (used, new):
        one.read(PROMPT)
    drafts = [one.drafter.propose(one.controller.context, lambda made: len(made) < 3) for one in (used, new)]
    assert drafts[0] == drafts[1]
    for one in (used, new):
        one.read(PROMPT)
    assert used.answer(count, [SpeculationControl(mode="on", draft_max=3)]) == says(PROMPT, count)
