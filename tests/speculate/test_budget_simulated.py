"""The promises of the budget, kept in a simulated world: never slower than plain, as fast as the best fixed depth.

Times are multiples of a plain step. The policies see noisy times; losses are counted in true ones.
"""

from __future__ import annotations

import math
from itertools import groupby

import pytest

from benchmarks.budget_simulation import (
    GOOD,
    HOPELESS,
    MIXED,
    POLICIES,
    REGIMES,
    Run,
    Text,
    World,
    flips,
    measure,
    oracle,
    play,
)
from benchmarks.machines import PROFILES, STAIRCASES, Machine

MACHINES = {**PROFILES, **STAIRCASES}
EVERY_MACHINE = pytest.mark.parametrize("name", MACHINES)
NEVER = {"never right, sure of itself": Text((-4.0,), 200, "lying"), "never right": Text((-4.0, -4.0), 200)}
ADVERSARIES = {
    **{f"{every} {manner}": flips(every, manner) for every in (10, 40, 150, 600) for manner in ("honest", "lying")},
    **{f"{every} inverted": flips(every, "inverted") for every in (40, 600)},
    **NEVER,
    "hopeless": HOPELESS,
}
WEATHER = {1: (0.005, 0.0), 2: (0.03, 0.0), 3: (0.005, 0.002)}
"""Per seed: share of steps that seem three times as long, and a hundred times as long."""


def adaptive(machine: Machine, text: Text, seed: int, tokens: int, **world: float) -> Run:
    return play(World(machine, text, seed, tokens, **world), *POLICIES["cost"](machine))  # type: ignore[arg-type]


def longest_plain(run: Run, since: int = 0) -> int:
    """Most plain rounds in a row."""
    kept = [verified for at, verified, _ in run.rounds if at >= since]
    return max(
        (len(list(rounds)) for plain, rounds in groupby(kept, lambda verified: not verified) if plain), default=0
    )


@EVERY_MACHINE
def test_never_loses_more_than_two_percent_and_25_tokens_at_any_point_whatever_the_drafter_does(name: str) -> None:
    for title, text in ADVERSARIES.items():
        for seed, (outliers, stalls) in WEATHER.items():
            run = adaptive(MACHINES[name], text, seed, 1500, outliers=outliers, stalls=stalls)
            assert run.worst < 25, (title, seed)


@EVERY_MACHINE
def test_a_useless_drafter_leaves_98_percent_of_plain_speed(name: str) -> None:
    for text in NEVER.values():
        assert min(adaptive(MACHINES[name], text, seed, 3000).speed for seed in (1, 2, 3)) > 0.98


@EVERY_MACHINE
def test_reaches_the_best_fixed_depth(name: str) -> None:
    machine, seeds = MACHINES[name], (1, 2, 3)
    best = max(1.0, *(measure(f"static {depth}", machine, MIXED, seeds, 4000) for depth in range(1, 7)))
    assert measure("cost", machine, MIXED, seeds, 4000) >= 0.98 * best


@pytest.mark.parametrize("name", PROFILES)
def test_is_ahead_of_the_rules_that_know_no_costs(name: str) -> None:
    ours = measure("cost", PROFILES[name], MIXED, (1,), 3000)
    assert ours > measure("threshold", PROFILES[name], MIXED, (1,), 3000)
    assert ours > measure("+2/-1", PROFILES[name], MIXED, (1,), 3000)
    assert ours < oracle(World(PROFILES[name], MIXED, 1, 3000)) + 0.2


@EVERY_MACHINE
def test_a_good_drafter_is_never_parked_for_long(name: str) -> None:
    # Long: 64 plain steps in a row, that is one or two seconds on a machine where this matters.
    for seed, (outliers, stalls) in WEATHER.items():
        run = adaptive(MACHINES[name], GOOD, seed, 3000, outliers=outliers, stalls=stalls)
        assert longest_plain(run) <= 64
        assert sum(tokens for _, verified, tokens in run.rounds if not verified) < 0.12 * 3000


@EVERY_MACHINE
def test_a_drafter_that_becomes_good_is_noticed(name: str) -> None:
    text = Text((REGIMES["hopeless"], REGIMES["code"]), 1500)
    for seed in (1, 2, 3):
        late = [verified for at, verified, _ in adaptive(MACHINES[name], text, seed, 3000).rounds if at >= 1750]
        assert sum(map(bool, late)) > 0.5 * len(late)


@EVERY_MACHINE
@pytest.mark.parametrize("factor", [0.5, 2.0, 3.0])
def test_a_machine_that_slows_down_or_speeds_up_does_not_park_a_good_drafter(name: str, factor: float) -> None:
    for seed in (1, 2):
        run = adaptive(MACHINES[name], GOOD, seed, 2400, slow_from=1200, slow_by=factor)
        assert longest_plain(run, since=1200) <= 128
        assert run.worst < 25


@EVERY_MACHINE
def test_beginning_without_knowledge_costs_little(name: str) -> None:
    for text in (MIXED, HOPELESS, NEVER["never right"]):
        for seed in (1, 2, 3):
            run = adaptive(MACHINES[name], text, seed, 300)
            assert 300 / run.speed - 300 < 0.02 * 300 + 8, "tokens' time lost over the first 300"


def test_jumps_over_a_cliff_when_the_far_side_pays() -> None:
    # The second row is dear, the next six are free; one guess never pays, seven do.
    run = adaptive(STAIRCASES["cliff-then-flat"], Text((2.2,), noise=0.0), 1, 2000)
    depths = {depth: rounds for depth, rounds in run.depths.items() if depth}
    assert max(depths, key=lambda depth: depths[depth]) >= 6
    assert run.speed > 1.5


def test_stops_before_a_cliff_that_does_not_pay() -> None:
    machine = Machine(0.02, (1, 1.05, 1.1, 3.0, 3.05, 3.1, 3.15), 0.03)
    run = adaptive(machine, Text((1.4,), noise=0.0), 1, 2000)
    assert sum(rounds for depth, rounds in run.depths.items() if depth > 2) < 0.1 * sum(run.depths.values())


def test_takes_the_free_step_of_a_staircase() -> None:
    # On two cores a third row costs nothing beyond the second.
    run = adaptive(STAIRCASES["f16-2core"], Text((math.log(2),), noise=0.0), 1, 3000)
    assert run.depths.get(2, 0) > run.depths.get(1, 0)
