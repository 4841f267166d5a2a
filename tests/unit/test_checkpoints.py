"""Which checkpoints are kept: spread over the text, denser towards its end, within a number and a size."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from mtpchat.engine.checkpoints import thinned


@dataclass(frozen=True)
class Point:
    length: int
    state: bytes = b"x" * 10


lengths = st.lists(st.integers(1, 100_000), min_size=1, max_size=40, unique=True)


def kept(taken: list[int], most: int = 6) -> list[int]:
    """What is left when they come one after the other."""
    points: list[Point] = []
    for length in sorted(taken):
        points = thinned([*points, Point(length)], most)
    return [point.length for point in points]


@given(lengths, st.integers(1, 8))
def test_no_more_are_kept_than_may_be_and_the_last_always(taken: list[int], most: int) -> None:
    left = kept(taken, most)
    assert len(left) == min(most, len(taken))
    assert left[-1] == max(taken)
    assert set(left) <= set(taken)


@given(lengths, st.integers(1, 200))
def test_their_size_is_bounded_but_one_is_always_kept(taken: list[int], most_bytes: int) -> None:
    left = thinned([Point(length) for length in taken], 100, most_bytes)
    assert sum(len(point.state) for point in left) <= most_bytes or len(left) == 1
    assert left == sorted(left, key=lambda point: point.length)


def test_of_turns_of_the_same_length_the_latest_are_kept_and_ever_fewer_of_the_earlier() -> None:
    left = kept([100 * turn for turn in range(1, 201)], most=8)
    assert left[-4:] == [19_700, 19_800, 19_900, 20_000]
    assert left[0] <= 15_000, "early messages are not forgotten"
    gaps = [after - before for before, after in pairwise(left)]
    assert gaps[0] > 4 * gaps[-1]


def test_a_long_message_is_worth_more_than_a_short_one() -> None:
    assert 5_000 in kept([5_000, 5_010, 5_020, 5_030, 5_040, 5_050, 5_060], most=4)
