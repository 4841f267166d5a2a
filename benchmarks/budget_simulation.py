"""How good is the rule that decides how far to guess? A simulation without a language model.

    python -m benchmarks.budget_simulation [--tokens 4000] [--seeds 3]

It drives the program's own policies and cost tables through the same calls as the controller does. What is made up is
the world: how hard the text is (noise around the mean of a regime), how well a drafter knows that (its confidence), and
what a step costs (six profiles shaped on published figures, and staircases). So it supports comparisons, not claims of
absolute speed. Every policy meets the same text and the same luck.

Losses are counted in the time a step truly costs; the policies see noisy time, with outliers and stalls.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from benchmarks.bounded import bounded
from benchmarks.machines import PROFILES, STAIRCASES, Machine
from mtpchat.speculate.adaptive import AdaptiveDepth
from mtpchat.speculate.costs import Costs
from mtpchat.speculate.decisions import DecisionLog
from mtpchat.speculate.mtp import MAX_BACKLOG, SHORT_LOOK
from mtpchat.speculate.policy import Bounds, FixedDepth, Policy, Round, Trial
from mtpchat.speculate.threshold import ThresholdDepth

DEEPEST = 16


REGIMES = {"code": 3.1, "reason": 1.9, "prose": 0.65, "hard": -1.5, "hopeless": -2.0}
"""Mean of the logit that the first guess is right."""


@dataclass(frozen=True, slots=True)
class Text:
    """What is written, and how well the drafter knows what it knows.

    Attributes:
        regimes: logits of the mean acceptance, taken in turn.
        every: tokens per regime.
        confidence: "honest", "lying" (always sure) or "inverted" (sure when wrong).
        noise: how much single tokens differ from the mean, and how fast guesses fade with depth; 0: not at all.
    """

    regimes: tuple[float, ...] = (REGIMES["prose"], REGIMES["code"], REGIMES["reason"])
    every: int = 200
    confidence: str = "honest"
    noise: float = 1.0


MIXED = Text()
HOPELESS = Text((REGIMES["hopeless"],))
GOOD = Text((REGIMES["code"],))


def flips(every: int, confidence: str = "honest") -> Text:
    """A drafter that is right 90 % and 2 % of the time, in turn."""
    return Text((math.log(9), math.log(0.02 / 0.98)), every, confidence, 0.0)


@dataclass
class World:
    """A text to be written, with all its luck drawn beforehand.

    Attributes:
        outliers: share of the steps that seem three times as long as they are.
        stalls: share of the steps that seem a hundred times as long.
        slow_from / slow_by: from that token on the machine takes so many times as long for everything.
    """

    machine: Machine
    text: Text
    seed: int
    tokens: int = 4000
    outliers: float = 0.005
    stalls: float = 0.0
    slow_from: int = 1 << 30
    slow_by: float = 1.0

    def __post_init__(self) -> None:
        random = np.random.default_rng(self.seed)
        size = self.tokens + 3 * DEEPEST
        wander = np.empty(size)
        state = 0.0
        for at, shock in enumerate(random.normal(0, 1.25, size)):
            state = 0.3 * state + shock
            wander[at] = state
        regimes = np.array(self.text.regimes)[np.arange(size) // self.text.every % len(self.text.regimes)]
        depth = 0.35 * np.arange(DEEPEST)[None, :]
        blur = self.text.noise
        logit = (regimes + blur * wander)[:, None] - blur * depth
        right = 1 / (1 + np.exp(-logit))
        self.chance: list[list[float]] = right.tolist()
        self.right: list[list[bool]] = (random.random(size)[:, None] < right).tolist()
        seen = logit + random.normal(0.3, 0.8, logit.shape)
        if self.text.confidence == "lying":
            seen = np.full_like(logit, 4.0)
        elif self.text.confidence == "inverted":
            seen = -seen
        self.confidence: list[list[float]] = (1 / (1 + np.exp(-seen))).tolist()
        noise = random.lognormal(0, 0.04, 8192)
        noise[random.random(8192) < self.outliers] *= 3
        noise[random.random(8192) < self.stalls] *= 100
        self._noise: list[float] = noise.tolist()
        self._drawn = 0

    def noise(self, at: int) -> float:
        """What a measurement made at token `at` is off by, as a factor."""
        self._drawn += 1
        return self._noise[self._drawn % len(self._noise)] * (self.slow_by if at >= self.slow_from else 1.0)

    def guess(self, at: int, depth: int) -> tuple[float, bool]:
        """Confidence of guess number `depth` (from 0) for token `at` + `depth`, and whether it is right."""
        return self.confidence[at + depth][depth], self.right[at + depth][depth]


@dataclass
class Run:
    """What comes of it. Times are multiples of a plain step.

    Attributes:
        at / time: tokens written, and what they took.
        worst: most that was lost against plain at any prefix, beyond 2 % of the time.
        depths: rounds per number of guesses verified.
        first: speed of the first 300 tokens.
        rounds: (token, verified, tokens of the round) of each round.
    """

    at: int = 0
    time: float = 0.0
    worst: float = 0.0
    first: float = 0.0
    depths: dict[int, int] = field(default_factory=dict)
    rounds: list[tuple[int, int, int]] = field(default_factory=list)

    @property
    def speed(self) -> float:
        """Tokens per plain step's time; plain decoding is 1."""
        return self.at / self.time

    def add(self, verified: int, tokens: int, time: float) -> None:
        """A round that verified so many guesses, gave so many tokens and took so long."""
        self.depths[verified] = self.depths.get(verified, 0) + 1
        self.rounds.append((self.at, verified, tokens))
        self.at += tokens
        self.time += time
        self.worst = max(self.worst, self.time - self.at - 0.02 * self.time)
        if not self.first and self.at >= 300:
            self.first = self.speed


class Player:
    """Writes a text with a policy, through the calls that the controller makes."""

    def __init__(self, world: World, policy: Policy, costs: Costs, bounds: Bounds) -> None:
        self._world, self._machine = world, world.machine
        self._policy, self._costs, self._bounds = policy, costs, bounds
        self._adaptive = policy if isinstance(policy, AdaptiveDepth) else None
        self.run, self._width, self._waiting = Run(), 1, 0

    def play(self) -> Run:
        """Write all of it."""
        while self.run.at < self._world.tokens:
            if self._adaptive is not None and self._adaptive.nap.left > 0:
                self._nap(self._adaptive)
            else:
                self._round()
        return self.run

    def _nap(self, adaptive: AdaptiveDepth) -> None:
        plain = 1 + self._switch(1)
        self._costs.observe(1, noisy_s := plain * self._world.noise(self.run.at) * self._machine.plain_s)
        adaptive.nap.passed(noisy_s)
        self._waiting += 1
        self.run.add(0, 1, plain)

    def _switch(self, width: int) -> float:
        before, self._width = self._width, width
        return self._machine.switch if width != before else 0.0

    def _round(self) -> None:
        machine, world, at = self._machine, self._world, self.run.at
        guesses = self._guess()
        kept = self._policy.keep(guesses) if guesses else 0
        right = 0
        while right < len(guesses) and world.guess(at, right)[1]:
            right += 1
        tokens = min(right, kept) + 1
        catch_up = machine.row * self._waiting if guesses else 0.0
        verify = machine.verify(kept + 1) + self._switch(kept + 1)
        noisy_draft_s = self._noisy_draft_s(len(guesses), catch_up)
        noisy_verify_s = verify * world.noise(at) * machine.plain_s
        self._waiting = 0 if guesses else min(self._waiting + tokens, MAX_BACKLOG)
        self._costs.observe(kept + 1, noisy_verify_s)
        trial = Trial("sim", tuple(guesses), min(right + 1, len(guesses), tokens), min(right, tokens))
        trials = (trial,) if guesses else ()
        self._policy.observe(Round("sim", len(guesses), kept, tokens, noisy_draft_s, noisy_verify_s, trials))
        self.run.add(kept, tokens, machine.draft * len(guesses) + catch_up + verify)

    def _guess(self) -> list[float]:
        guesses, least = list[float](), min(self._waiting, SHORT_LOOK)
        if self._policy.plan("sim", replace(self._bounds, waiting=self._waiting, least=least)):
            while self._policy.wants(guesses):
                if self._adaptive is not None and self._adaptive.short_look and not guesses:
                    self._waiting = least
                guesses.append(self._world.guess(self.run.at, len(guesses))[0])
        return guesses

    def _noisy_draft_s(self, guesses: int, catch_up: float) -> float:
        """What the guesses seem to take; the cost tables are told."""
        at, plain_s = self.run.at, self._machine.plain_s
        noisy_s = sum(self._machine.draft * self._world.noise(at) for _ in range(guesses)) * plain_s
        if not guesses:
            return 0.0
        if self._waiting <= SHORT_LOOK or self._costs.guess_s("sim") is None:
            self._costs.observe_guesses("sim", guesses, noisy_s)
            return noisy_s
        noisy_catch_up_s = catch_up * self._world.noise(at) * plain_s
        self._costs.observe_catch_up("sim", self._waiting, noisy_s / guesses + noisy_catch_up_s)
        return noisy_s + noisy_catch_up_s


def play(world: World, policy: Policy, costs: Costs, bounds: Bounds) -> Run:
    """Write the text of a world with a policy."""
    return Player(world, policy, costs, bounds).play()


class Heuristic:
    """Two more after a draft that was right to its end, one fewer after any other."""

    def __init__(self) -> None:
        self.log = DecisionLog()
        self._depth = 5
        self._high = 0

    def plan(self, kind: str, bounds: Bounds) -> bool:
        self._high = bounds.high
        return bounds.high > 0

    def wants(self, confidences: Sequence[float]) -> bool:
        return len(confidences) < min(self._depth, self._high)

    def keep(self, confidences: Sequence[float]) -> int:
        return len(confidences)

    def observe(self, played: Round) -> None:
        full = played.tokens == played.verified + 1
        self._depth = min(DEEPEST, self._depth + 2) if full else max(1, self._depth - 1)


def oracle(world: World, high: int = 8) -> float:
    """Speed of one who knows how many guesses would be right and makes and verifies just as many as pay best."""
    machine = world.machine
    rate = 1.0
    for _ in range(6):
        at, time = 0, 0.0
        while at < world.tokens:
            right = 0
            while right < high and world.guess(at, right)[1]:
                right += 1
            prices = [machine.draft * k + machine.verify(k + 1) for k in range(right + 1)]
            best = max(range(right + 1), key=lambda k: k + 1 - rate * prices[k])
            at += best + 1
            time += prices[best]
        rate = at / time
    return rate


def informed(world: World, high: int = 8) -> float:
    """Speed of one who knows the true chance of every guess beforehand, but not its luck, and what everything costs.

    This is what can be reached without seeing the future; the oracle sees it.
    """
    machine, rate = world.machine, 1.0
    for _ in range(6):
        at, time = 0, 0.0
        while at < world.tokens:
            alive, expected, gains = 1.0, 1.0, [1 - rate * machine.verify(1)]
            for depth in range(1, high + 1):
                alive *= world.chance[at + depth - 1][depth - 1]
                expected += alive
                gains.append(expected - rate * (machine.draft * depth + machine.verify(depth + 1)))
            depth = max(range(high + 1), key=gains.__getitem__)
            right = 0
            while right < depth and world.guess(at, right)[1]:
                right += 1
            at += right + 1
            time += machine.draft * depth + machine.verify(depth + 1)
        rate = at / time
    return rate


def adaptive(machine: Machine) -> tuple[AdaptiveDepth, Costs]:
    """The default policy as a chat would start it on this machine."""
    costs = Costs(lambda: 0.0, machine.slope)
    return AdaptiveDepth(costs), costs


Maker = Callable[[Machine], tuple[Policy, Costs, Bounds]]


def _with(policy: Callable[[], Policy], high: int = 8) -> Maker:
    return lambda machine: (policy(), Costs(lambda: 0.0, machine.slope), Bounds(0, high))


POLICIES: dict[str, Maker] = {
    **{f"static {depth}": _with(FixedDepth, depth) for depth in range(1, 7)},
    "threshold": _with(ThresholdDepth),
    "+2/-1": _with(Heuristic),
    "cost": lambda machine: (*adaptive(machine), Bounds(0, 8)),
}


def measure(name: str, machine: Machine, text: Text, seeds: Sequence[int], tokens: int) -> float:
    """Mean speed of a policy over seeds, as a multiple of plain decoding."""
    speeds = [play(World(machine, text, seed, tokens), *POLICIES[name](machine)).speed for seed in seeds]
    return sum(speeds) / len(speeds)


def table(machines: dict[str, Machine], text: Text, seeds: Sequence[int], tokens: int) -> str:
    """One line per machine: speeds of all policies, two bounds, and ours against the best static depth and both."""
    heads = "".join(f"{name:>10s}" for name in (*POLICIES, "informed", "oracle", "/best", "/inf.", "/oracle"))
    lines = [f"{'':16s}{heads}"]
    for label, machine in machines.items():
        speeds = {name: measure(name, machine, text, seeds, tokens) for name in POLICIES}
        worlds = [World(machine, text, seed, tokens) for seed in seeds]
        known, seen = (sum(bound(world) for world in worlds) / len(worlds) for bound in (informed, oracle))
        best = max(1.0, *(speeds[f"static {depth}"] for depth in range(1, 7)))
        cells = "".join(f"{speed:10.3f}" for speed in speeds.values()) + f"{known:10.3f}{seen:10.3f}"
        ours = speeds["cost"]
        lines.append(f"{label:16s}{cells}{ours / best:10.3f}{ours / known:10.3f}{ours / seen:10.3f}")
    return "\n".join(lines)


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, default=4000)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    seeds = range(1, options.seeds + 1)
    print("multiples of plain decoding; /best: ours against the best static depth or plain; informed: knows every")
    print("chance and cost, but not the luck; oracle: knows the luck, too\n")
    for title, machines, text in (
        ("prose, code and reasoning in turn", PROFILES, MIXED),
        ("a hopeless drafter (right one time in six)", PROFILES, HOPELESS),
        ("staircases", STAIRCASES, MIXED),
    ):
        print(f"{title}\n{table(machines, text, seeds, options.tokens)}\n")


if __name__ == "__main__":
    sys.exit(bounded(main, minutes=60))
