"""Whatever the chat: what is left fits, keeps its order and its first exchange, and the cut moves in one direction."""

import itertools
import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from mtpchat.engine.overflow import Cut, fit, reserve_for, turn_starts
from mtpchat.errors import ContextFull
from mtpchat.messages import Role

FIXED = 20
Chat = list[tuple[Role, int]]


@st.composite
def chats(draw: st.DrawFn) -> Chat:
    """Turns of one or two messages of the user and an answer, which may have failed; the last may be unanswered."""
    said: Chat = []
    sizes = st.integers(0, 200)
    for _ in range(draw(st.integers(1, 12))):
        said += [("user", draw(sizes)) for _ in range(draw(st.integers(1, 2)))]
        if draw(st.booleans()):
            said.append(("assistant", draw(sizes)))
    return said


def _fit(said: Chat, limit: int, before: int = 0) -> Cut:
    return fit([role for role, _ in said], [size for _, size in said], FIXED, limit, before)


def _taken(said: Chat, cut: Cut) -> int:
    return FIXED + sum(size for at, (_, size) in enumerate(said) if not cut.head <= at < cut.start)


@given(chats(), st.integers(0, 2000), st.integers(0, 40))
def test_what_is_kept_fits_or_an_error_says_how_much_is_missing(said: Chat, limit: int, before: int) -> None:
    starts = turn_starts([role for role, _ in said])
    widest = Cut(starts[1], starts[-1]) if len(starts) > 1 else Cut(0, 0)
    if _taken(said, widest) > limit:
        with pytest.raises(ContextFull, match=re.escape(f"room for {limit:,}")):
            _fit(said, limit, before)
    else:
        assert _taken(said, _fit(said, limit, before)) <= limit


@given(chats(), st.integers(0, 2000), st.integers(0, 40))
def test_first_exchange_and_last_turn_are_kept_and_whole_turns_leave(said: Chat, limit: int, before: int) -> None:
    try:
        cut = _fit(said, limit, before)
    except ContextFull:
        return
    starts = turn_starts([role for role, _ in said])
    assert cut.head == (starts[1] if len(starts) > 1 else len(said))
    assert cut.head <= cut.start <= max(starts[-1], cut.head)
    assert cut.start in [*starts, len(said)]


@given(chats(), st.integers(0, 2000))
def test_nothing_leaves_while_everything_fits(said: Chat, spare: int) -> None:
    whole = FIXED + sum(size for _, size in said)
    assert _fit(said, whole + spare, before=2).count == 0


@given(chats(), st.integers(0, 2000), st.integers(0, 40))
def test_a_second_look_changes_nothing(said: Chat, limit: int, before: int) -> None:
    try:
        cut = _fit(said, limit, before)
    except ContextFull:
        return
    assert _fit(said, limit, cut.start) == cut


@given(chats(), st.integers(1, 2000))
def test_as_a_chat_grows_no_message_comes_back(said: Chat, limit: int) -> None:
    before = 0
    for end in range(1, len(said) + 1):
        if said[end - 1][0] == "assistant":
            continue
        try:
            cut = _fit(said[:end], limit, before)
        except ContextFull:
            return
        if cut.count:
            assert cut.start >= before
            before = cut.start


@given(st.integers(4, 40), st.integers(10, 60))
def test_after_a_cut_several_turns_pass_before_the_next(turns: int, size: int) -> None:
    said: Chat = [("user", size), ("assistant", size)] * turns
    limit = FIXED + 16 * size
    before, moved = 0, []
    for end in range(1, len(said) + 1, 2):
        cut = _fit(said[:end], limit, before)
        if cut.start != before and cut.count:
            moved.append(end)
            before = cut.start
    assert all(later - earlier >= 4 for earlier, later in itertools.pairwise(moved))


def test_the_first_exchange_stays_and_the_oldest_after_it_leave() -> None:
    said: Chat = [("user", 10), ("assistant", 10)] * 5
    assert _fit(said, FIXED + 60) == Cut(2, 8)


def test_a_single_message_that_is_too_long_is_refused_in_words() -> None:
    with pytest.raises(ContextFull, match=r"alone would take 520 tokens, and there is room for 500"):
        _fit([("user", 500)], 500)


@given(st.integers(1, 200_000), st.integers(0, 200_000))
def test_room_is_kept_for_an_answer_but_never_most_of_the_context(context: int, max_tokens: int) -> None:
    reserve = reserve_for(context, max_tokens)
    assert 0 <= reserve <= context / 4
    assume(max_tokens and max_tokens <= context // 4)
    assert reserve == max_tokens
