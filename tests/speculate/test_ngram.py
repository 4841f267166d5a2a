"""The n-gram drafter: places vote, evidence becomes confidence, and cutting back leaves no trace."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtpchat.speculate.ngram import NgramDrafter
from mtpchat.speculate.ramp import FIRST, CopyRamp


def up_to(count: int):  # type: ignore[no-untyped-def]
    return lambda made: len(made) < count


def test_most_places_win_among_equally_long_matches() -> None:
    context = [9, 1, 2, 5, 8, 1, 2, 5, 7, 1, 2, 6, 3, 1, 2]
    assert NgramDrafter(2).propose(context, up_to(1)).tokens == (5,)


def test_a_longer_match_outweighs_more_places() -> None:
    context = [9, 1, 2, 5, 8, 1, 2, 5, 7, 4, 1, 2, 6, 3, 4, 1, 2]
    assert NgramDrafter(2).propose(context, up_to(1)).tokens == (6,)


def test_the_latest_wins_a_tie() -> None:
    assert NgramDrafter(2).propose([9, 1, 2, 5, 8, 1, 2, 6, 3, 1, 2], up_to(1)).tokens == (6,)


def confidence(context: Sequence[int], at: int = 0) -> float:
    return NgramDrafter(2).propose(context, up_to(at + 1)).confidences[at]


def test_confidence_grows_with_the_match_with_agreement_and_falls_with_dissent() -> None:
    single = confidence([1, 2, 5, 8, 1, 2])
    longer = confidence([3, 4, 6, 7, 1, 2, 5, 8, 3, 4, 6, 7, 1, 2])
    agreed = confidence([1, 2, 5, 8, 1, 2, 5, 7, 1, 2])
    split = confidence([1, 2, 5, 8, 1, 2, 6, 7, 1, 2])
    assert split < single < agreed
    assert single < longer


def test_confidence_grows_while_a_copy_holds_and_jumps_once_the_dissenters_are_gone() -> None:
    passage = list(range(20, 50))
    copy = NgramDrafter(3).propose([*passage, 1, *passage[:3]], up_to(20))
    assert copy.tokens == tuple(passage[3:23])
    assert list(copy.confidences) == sorted(copy.confidences)
    assert copy.confidences[-1] > copy.confidences[0] + 0.3
    parted = [7, 1, 2, 5, 6, 9, 7, 1, 2, 4, 3, 9, 7, 1, 2]
    first, second = NgramDrafter(2).propose(parted, up_to(2)).confidences
    assert first < second


def test_texts_of_earlier_chats_are_continued_where_this_one_knows_nothing() -> None:
    drafter = NgramDrafter(2, earlier=[[1, 2, 3, 4], [5, 6, 7, 8]])
    assert drafter.propose([9, 5, 6], up_to(9)).tokens == (7, 8)
    assert drafter.propose([9, 5, 6, 0, 5, 6], up_to(1)).tokens == (0,)
    assert NgramDrafter(2).propose([9, 5, 6], up_to(9)).tokens == ()


tokens_of = st.lists(st.integers(0, 3), max_size=40)


@settings(max_examples=100, deadline=None)
@given(tokens_of, st.lists(st.tuples(st.integers(0, 40), tokens_of), max_size=5), st.integers(1, 3))
def test_cutting_back_and_going_on_is_the_same_as_never_having_been_there(
    first: list[int], changes: list[tuple[int, list[int]]], shortest: int
) -> None:
    drafter, context = NgramDrafter(shortest), list(first)
    drafter.propose(context, up_to(4))
    for cut, more in changes:
        del context[cut:]
        drafter.rollback(len(context))
        context += more
        assert drafter.propose(context, up_to(4)) == NgramDrafter(shortest).propose(context, up_to(4))


@settings(max_examples=100, deadline=None)
@given(tokens_of, st.integers(1, 4), st.integers(0, 20))
def test_every_draft_is_made_of_what_followed_the_same_tokens(context: list[int], shortest: int, count: int) -> None:
    draft = NgramDrafter(shortest).propose(context, up_to(count))
    assert len(draft.tokens) <= count
    assert all(0 < one < 1 for one in draft.confidences)
    for made in range(len(draft.tokens)):
        text = [*context, *draft.tokens[:made]]
        ending = [*text[-shortest:], draft.tokens[made]]
        before = text if made else context
        assert any(before[at : at + shortest + 1] == ending for at in range(len(before) - shortest)) or made


@pytest.mark.parametrize("context", [[], [1], [1, 1]])
def test_a_short_context_is_no_reason_to_fail(context: list[int]) -> None:
    assert NgramDrafter(3, earlier=[[1, 2, 3]]).propose(context, up_to(4)).tokens == ()


def test_copies_begin_short_in_each_text_and_grow_as_they_prove_right() -> None:
    ramp = CopyRamp()
    assert ramp.most == FIRST
    ramp.observe(4, 4)
    ramp.observe(8, 8)
    assert ramp.most == 16
    ramp.observe(16, 10)  # more right than wrong: neither longer nor shorter
    assert ramp.most == 16
    ramp.observe(16, 3)
    assert ramp.most == 8
    ramp.begin_text()
    assert ramp.most == FIRST


def test_wrong_copies_never_stop_copying_for_good() -> None:
    ramp = CopyRamp()
    for _ in range(20):
        ramp.observe(ramp.most, 0)
    assert ramp.most >= 2
    ramp.observe(2, 2)
    assert ramp.most == 4
