"""Laws of every kind of drafter that is found, and the proof that one more is one more file."""

from __future__ import annotations

import copy
import importlib
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mtpchat.speculate as package
from mtpchat.backend.protocol import DraftOutput, Floats
from mtpchat.commands.speculation import kinds
from mtpchat.config import SpeculativeConfig
from mtpchat.engine.memory import Memory
from mtpchat.events import SpeculationControl
from mtpchat.speculate.base import Drafter, Parts, strategies
from mtpchat.speculate.controller import Controller
from mtpchat.speculate.none import NoDrafter
from tests.models import TinyModel
from tests.native.talk import OFF, pinned, talk
from tests.speculate.fake_model import (
    VOCABULARY,
    FakeDraft,
    FakeTarget,
    hidden_row,
    says,
)
from tests.speculate.test_controller import PROMPT, Clock, control_lists, oracle, run

PAGE = Path(__file__).parents[2] / "docs" / "speculation.md"
NEW_KIND = re.search(r'```python\n("""Guessing that.*?)```', PAGE.read_text(encoding="utf-8"), re.DOTALL)


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

    def __init__(self, make: Maker, context: FakeDraft | None = None) -> None:
        self.target = FakeTarget()
        self.context = context or (make.context(self.target) if make.context else None)
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
            done = stop

    def answer(self, count: int, controls: Sequence[SpeculationControl]) -> list[int]:
        """What is said, token by token as `run` checks it."""
        before = len(self.controller.context)
        run(self.controller, count, controls)
        return self.controller.context[before:]


def play(make: Maker, turns: Sequence[tuple[int, list[int], int]], controls: Sequence[SpeculationControl]) -> None:
    """Go through a chat that is edited in between, and compare each answer with the model's own."""
    chat = Chat(make)
    text: list[int] = []
    for stays, more, count in turns:
        text = [*text[:stays], *more]
        chat.read(text)
        said = chat.answer(count, controls)
        assert said[:count] == says(text, count)
        text = [*text, *said]


@EVERY_KIND
@settings(max_examples=25, deadline=None)
@given(turns=chats, controls=control_lists)
def test_no_kind_changes_a_text_that_is_cut_and_gone_on_with(
    name: str, turns: list[tuple[int, list[int], int]], controls: list[SpeculationControl]
) -> None:
    play(makers()[name], turns, controls)


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


@contextmanager
def one_file_more(folder: Path) -> Iterator[str]:
    """The kind that docs/speculation.md shows, as a file of the package; its name."""
    assert NEW_KIND is not None
    (folder / "echo_of_the_docs.py").write_text(NEW_KIND[1])
    package.__path__.append(str(folder))
    strategies.cache_clear()
    importlib.invalidate_caches()
    try:
        yield "echo"
    finally:
        package.__path__.remove(str(folder))
        strategies.cache_clear()
        sys.modules.pop("mtpchat.speculate.echo_of_the_docs", None)


@pytest.fixture
def echo(tmp_path: Path) -> Iterator[str]:
    with one_file_more(tmp_path) as name:
        yield name
    assert name not in strategies()


def test_a_kind_of_one_file_is_found_and_offered(echo: str) -> None:
    assert kinds()[echo] == "says the last sentence once more"


def test_a_kind_of_one_file_keeps_the_laws(echo: str) -> None:
    make = makers()[echo]
    turns = [(0, [1, 2, 3, 9, 1, 2, 3, 9], 12), (6, [4, 9], 12), (30, [2], 9)]
    for control in (SpeculationControl(mode="on"), SpeculationControl(mode="auto")):
        play(make, turns, [control])
    draft = make(None).propose([7, 9, 1, 2, 9], lambda made: len(made) < 4)
    assert draft.tokens == (1, 2, 9)


def test_a_kind_of_one_file_runs_on_a_real_model(echo: str, dense_model: TinyModel) -> None:
    with talk(dense_model.path, kind="none") as chat:
        assert echo in chat.facts.available
        text, _ = chat.say("again and again and again", OFF)
        same, stats = chat.say("again and again and again", pinned(3, echo))
        assert same == text
        assert stats.kind == echo
        assert stats.drafted > 0
