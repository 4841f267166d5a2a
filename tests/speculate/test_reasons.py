"""What is said about a round is what happened in it: every reason is reached, and each sentence is true."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import assert_never

import pytest

from mtpchat.backend.protocol import DecodedRows
from mtpchat.events import SpeculationControl
from mtpchat.report import Decision, Reason
from mtpchat.speculate.base import NO_DRAFT, Draft, FromContext, Wants
from mtpchat.speculate.controller import CATCH_UP_ROWS, Controller, Step
from mtpchat.speculate.decisions import in_words
from mtpchat.speculate.ngram import NgramDrafter
from mtpchat.speculate.none import NoDrafter
from mtpchat.speculate.policy import Bounds
from tests.speculate.fake_model import VOCABULARY, FakeTarget, GreedySampler, logits_after
from tests.speculate.test_forced import Ruled, RuledSampler

PROMPT = [1, 2, 3, 4, 5]


@dataclass
class Clock:
    """Time passes only where the fakes say so."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Machine(FakeTarget):
    """A plain step takes a second, each further row `row`. With `loops` the text goes round in circles, and leaves them
    at every place that this number divides."""

    clock: Clock = field(default_factory=Clock)
    row: float = 0.1
    loops: int = 0
    context: int = 5000

    def decode(self, tokens: Sequence[int], **options: object) -> DecodedRows:
        self.clock.now += 1 + self.row * (len(tokens) - 1)
        return super().decode(tokens, **options)  # type: ignore[arg-type]

    def say(self, past, width):  # type: ignore[no-untyped-def]
        return logits_after(past[-1:] if self.loops and len(past) % self.loops else past)


@dataclass
class Guesser(FromContext):
    """Guesses at a price, right or wrong as it is told; counts what it was asked and what it gave."""

    target: Machine
    right: Callable[[int], bool]
    confidence: float = 0.8
    price: float = 0.05
    waiting: int = 0
    silent: bool = False
    asked: int = 0
    made: int = 0

    def propose(self, context: Sequence[int], wants: Wants) -> Draft:
        self.asked += 1
        if self.silent or not wants(()):
            return NO_DRAFT
        sampler, tokens = GreedySampler(context[-1]), list(context)
        made: list[float] = []
        while True:
            self.target.clock.now += self.price
            truth = sampler.sample(self.target.say(tokens, 1), len(tokens))
            tokens.append(truth if self.right(len(tokens)) else (truth + 1) % VOCABULARY)
            sampler.accept(tokens[-1])
            made.append(self.confidence)
            if not wants(made):
                break
        self.made = len(made)
        return Draft(tuple(tokens[len(context) :]), tuple(made))

    def warm(self, context: Sequence[int], length: int, rows: int) -> int:
        self.waiting = max(0, self.waiting - rows)
        return self.waiting


@dataclass
class Seen:
    """What happened in one step, seen from outside."""

    step: Step
    control: SpeculationControl
    bounds: Bounds
    settled: bool
    asked: int
    made: int
    waiting: int
    barred: bool


@dataclass
class Watched:
    """A controller whose every step is watched."""

    machine: Machine = field(default_factory=Machine)
    right: Callable[[int], bool] = lambda _at: True
    control: SpeculationControl = field(default_factory=lambda: SpeculationControl(mode="auto"))
    policy: str = "cost"
    p_min: float = 0.0
    copies: bool = False
    ruled: Ruled | None = None
    guesser: dict[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.drafter = Guesser(self.machine, self.right, **self.guesser)  # type: ignore[arg-type]
        drafters = {"none": NoDrafter(), "ngram": NgramDrafter(2), "test": self.drafter}
        made = Controller(self.machine, drafters, self.machine.clock, self.p_min, self.policy, combine=self.copies)
        made.context[:] = PROMPT
        self.machine.decode(PROMPT[:-1], rows="none")
        made.mask = self.ruled
        self.sampler = RuledSampler(self.ruled) if self.ruled else GreedySampler()
        self.sampler.last = PROMPT[-1]
        self.made = made
        self.planned: list[Bounds] = []
        for policy in (made.adaptive, made.fixed, made.threshold):
            self._spy(policy)

    def _spy(self, policy) -> None:  # type: ignore[no-untyped-def]
        plan = policy.plan

        def spied(kind: str, bounds: Bounds) -> bool:
            self.planned.append(bounds)
            answer: bool = plan(kind, bounds)
            return answer

        policy.plan = spied

    def play(self, steps: int, left: int = 1000) -> Iterator[tuple[Decision, Seen]]:
        """The decision of each step that was weighed, and what happened in it."""
        made, drafter = self.made, self.drafter
        for _ in range(steps):
            self.planned.clear()
            made.settle()
            before, settled, waiting = drafter.asked, made.costs.settled, drafter.waiting
            drafter.made = 0
            place = len(self.ruled.said) if self.ruled else 0
            step = made.step(self.sampler, self.control, "test", left, lambda _token: False)
            if not self.planned:
                continue
            barred = self.ruled is not None and drafter.made > 0 and not step.drafted and place < len(self.ruled.said)
            seen = Seen(
                step, self.control, self.planned[0], settled, drafter.asked - before, drafter.made, waiting, barred
            )
            yield made._last.log.last(1)[0], seen


def holds(one: Decision, seen: Seen) -> bool:
    """Whether what the reason says is what happened."""
    verified, made, plain = seen.step.drafted, seen.made, not seen.step.drafted
    guessed_in_vain = plain and made > 0
    match one.reason:
        case Reason.OFF:
            return plain and not seen.asked and seen.bounds.high == 0
        case Reason.COLD:
            return plain and not seen.asked and not seen.settled
        case Reason.REFRESH:
            return plain and not seen.asked and seen.settled
        case Reason.READING:
            return plain and not seen.asked and seen.waiting > CATCH_UP_ROWS
        case Reason.SILENT:
            return plain and seen.asked > 0 and not made
        case Reason.COSTS_MORE | Reason.RESTING:
            return plain and not seen.asked and one.worth <= one.price
        case Reason.PARKED:
            return plain and not seen.asked and one.worth > one.price
        case Reason.SHADOW:
            return guessed_in_vain and made == 1
        case Reason.DOUBT:
            return guessed_in_vain and one.worth <= one.price
        case Reason.UNSURE:
            return guessed_in_vain
        case Reason.BARRED:
            return guessed_in_vain and seen.barred
        case Reason.PAYS:
            return 0 < verified <= made and one.worth > one.price
        case Reason.AGREED:
            return 0 < made < verified and one.worth > one.price
        case Reason.COPY:
            return verified > 0 and not seen.asked and one.worth > one.price
        case Reason.PROBE:
            return verified > 0
        case Reason.INSISTED:
            return 0 < verified <= made and one.worth <= one.price and seen.control.mode == "on"
        case Reason.PINNED:
            return 0 < verified <= made and seen.control.pinned
        case Reason.WINDOW | Reason.TRYING:
            return 0 < verified <= made
        case _:
            assert_never(one.reason)


def never(_at: int) -> bool:
    return False


def half(at: int) -> bool:
    return at % 2 == 0


def parked() -> Watched:
    world = Watched(right=never, guesser={"price": 0.3}, machine=Machine(row=1.0))
    world.made.adaptive.ledger.add_verified(1000.0, 1000.0, 1.0, 1)
    return world


PINNED = SpeculationControl(mode="on", draft_max=3, pinned=True)
WORLDS: dict[str, tuple[Callable[[], Watched], set[Reason]]] = {
    "a good drafter": (Watched, {Reason.COLD, Reason.PROBE, Reason.PAYS, Reason.REFRESH}),
    "a useless one": (
        lambda: Watched(right=never, machine=Machine(row=0.8)),
        {Reason.COLD, Reason.PROBE, Reason.COSTS_MORE, Reason.SHADOW},
    ),
    "a useless one that has lost all it may": (parked, {Reason.PARKED}),
    "cheap guesses, dear rows": (
        lambda: Watched(right=half, machine=Machine(row=0.7), guesser={"price": 0.001, "confidence": 0.5}),
        {Reason.DOUBT},
    ),
    "nothing to guess": (lambda: Watched(guesser={"silent": True}), {Reason.SILENT}),
    "a long text to read": (lambda: Watched(guesser={"waiting": 2000}), {Reason.READING}),
    "depth 0": (lambda: Watched(control=SpeculationControl(mode="auto", draft_max=0)), {Reason.OFF}),
    "always, at any price": (
        lambda: Watched(right=never, machine=Machine(row=0.9), control=SpeculationControl(mode="on")),
        {Reason.INSISTED},
    ),
    "copies beside a useless drafter": (
        lambda: Watched(
            right=never, machine=Machine(loops=1000), copies=True, control=SpeculationControl(mode="auto", free_max=16)
        ),
        {Reason.COPY},
    ),
    "copies that agree with a good drafter": (
        lambda: Watched(
            machine=Machine(loops=7, row=0.01),
            copies=True,
            guesser={"price": 0.0001, "confidence": 0.99},
            control=SpeculationControl(mode="auto", draft_max=4, free_max=16),
        ),
        {Reason.AGREED},
    ),
    "guesses below p_min": (lambda: Watched(p_min=0.9), {Reason.UNSURE}),
    "guesses below p_min, pinned": (lambda: Watched(p_min=0.9, control=PINNED), {Reason.UNSURE}),
    "fewer worth it than draft_min": (
        lambda: Watched(
            right=lambda at: at % 5 == 0,
            machine=Machine(row=0.3),
            control=SpeculationControl(mode="auto", draft_min=3),
            guesser={"price": 0.001, "confidence": 0.6},
        ),
        set(),
    ),
    "a grammar that forbids": (lambda: Watched(right=never, ruled=Ruled(2, 0), control=PINNED), {Reason.BARRED}),
    "a grammar that forbids, and a price": (lambda: Watched(right=half, ruled=Ruled(2, 0)), {Reason.BARRED}),
    "pinned": (lambda: Watched(right=half, control=PINNED), {Reason.PINNED}),
    "pinned, with a text to read": (lambda: Watched(control=PINNED, guesser={"waiting": 2000}), {Reason.READING}),
    "pinned, with nothing to guess": (lambda: Watched(control=PINNED, guesser={"silent": True}), {Reason.SILENT}),
    "by the share of right ones": (lambda: Watched(policy="threshold"), {Reason.TRYING, Reason.WINDOW}),
    "by the share of right ones, useless": (
        lambda: Watched(right=never, policy="threshold"),
        {Reason.TRYING, Reason.RESTING, Reason.WINDOW},
    ),
}


@pytest.mark.parametrize("name", WORLDS)
def test_what_is_said_about_a_round_is_what_happened(name: str) -> None:
    make, expected = WORLDS[name]
    reached = set()
    for one, seen in make().play(250):
        assert holds(one, seen), (in_words(one), one, seen)
        assert (one.kept, one.tokens) == (seen.step.drafted, len(seen.step.tokens))
        words = in_words(one)
        assert words.startswith(("plain", "parked", "shadow")) == (not seen.step.drafted), words
        assert not seen.step.drafted or words.endswith(f"{len(seen.step.tokens) - 1} right"), words
        reached.add(one.reason)
    assert expected <= reached, reached


def test_every_reason_is_reached_in_one_of_these_worlds() -> None:
    assert set().union(*(expected for _, expected in WORLDS.values())) == set(Reason)


def test_the_last_token_of_an_answer_leaves_nothing_to_guess() -> None:
    world = Watched(control=PINNED)
    ((one, seen),) = world.play(1, left=1)
    assert one.reason is Reason.OFF
    assert holds(one, seen)


def test_a_copy_behind_a_draft_is_counted_apart() -> None:
    words = in_words(Decision(Reason.AGREED, 2, 6, 7, "mtp", 3.0, 1.0))
    assert words.startswith("MTP, 2 and 4 of a copy that agrees verified")
