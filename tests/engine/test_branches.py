"""A tree of messages: what is shown, what stands beside it, and where walking leads."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtpchat.chats import Said
from mtpchat.engine.branches import Branches
from mtpchat.errors import CommandError
from mtpchat.messages import Role


def node(name: str, parent: str = "") -> Said:
    role: Role = "user" if name.startswith("u") else "assistant"
    return Said(name, parent, role, f"says {name}")


def shown(branches: Branches) -> list[str]:
    return [said.id for said in branches.path]


@pytest.fixture
def branches() -> Branches:
    """u1 with answers a1 and b1; below a1 stand u2 with a2, and u3 with a3."""
    nodes = [node("u1"), node("a1", "u1"), node("b1", "u1"), node("u2", "a1"), node("a2", "u2"), node("u3", "a1")]
    return Branches([*nodes, node("a3", "u3")], "b1")


def test_walking_leads_to_the_newest_until_another_branch_was_shown(branches: Branches) -> None:
    branches.walk(1, -1)
    assert shown(branches) == ["u1", "a1", "u3", "a3"]
    assert (branches.siblings(1), branches.siblings(2), branches.siblings(0)) == ((1, 2), (2, 2), (1, 1))
    branches.walk(2, -1)
    branches.walk(1, 1)
    assert shown(branches) == ["u1", "b1"]
    branches.walk(1, -1)
    assert shown(branches) == ["u1", "a1", "u2", "a2"]


def test_walking_back_leads_to_where_one_was_also_if_something_had_been_taken_back(branches: Branches) -> None:
    branches.walk(1, -1)
    branches.cut(2)
    branches.walk(1, 1)
    branches.walk(1, -1)
    assert shown(branches) == ["u1", "a1"]
    branches.forth()
    assert shown(branches) == ["u1", "a1", "u3", "a3"]


@pytest.mark.parametrize(("index", "step"), [(0, 1), (0, -1), (1, 1), (1, -2), (2, 1), (-1, 1)])
def test_beyond_the_ends_nothing_changes(branches: Branches, index: int, step: int) -> None:
    with pytest.raises(CommandError):
        branches.walk(index, step)
    assert shown(branches) == ["u1", "b1"]


def test_a_node_whose_parent_is_not_there_is_shown_alone_and_harms_nothing() -> None:
    branches = Branches([node("u9", "gone"), node("u1"), node("a1", "u1")], "a1")
    assert shown(branches) == ["u1", "a1"]
    assert branches.siblings(0) == (1, 1)
    branches.show("u9")
    assert shown(branches) == ["u9"]


def test_a_leaf_that_is_not_there_shows_nothing_and_going_forth_the_newest(branches: Branches) -> None:
    branches.show("nowhere")
    assert branches.messages == ()
    branches.forth()
    assert shown(branches) == ["u1", "b1"]


def test_the_ways_that_were_taken_are_known_again() -> None:
    nodes = [node("u1"), node("a1", "u1"), node("b1", "u1"), node("u2", "a1"), node("a2", "u2"), node("u3", "a1")]
    branches = Branches([*nodes, node("a3", "u3")], "b1", ["a3", "a2", "a1", "b1"])
    branches.walk(1, -1)
    assert shown(branches) == ["u1", "a1"], "it had been taken back to there"
    branches.forth()
    assert shown(branches) == ["u1", "a1", "u2", "a2"], "which is not the newest"


def test_ways_through_messages_that_are_gone_are_left_out() -> None:
    branches = Branches([node("u1"), node("a1", "u1"), node("b1", "u1")], "a1", ["gone", "b1", "nowhere", "a1"])
    branches.walk(1, 1)
    assert shown(branches) == ["u1", "b1"]


STEPS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 30)), max_size=30)


@given(STEPS, st.lists(st.integers(0, 30), max_size=6))
def test_what_was_shown_in_which_order_is_all_that_there_is_to_remember(
    steps: list[tuple[int, int]], walks: list[int]
) -> None:
    """A tree that has seen every step, and one that is only told the ends of its branches, lead the same ways."""
    first, ends = Branches(), dict[str, None]()
    for number, (parent, choice) in enumerate(steps):
        known = ["", *(said.id for said in first.nodes)]
        if choice % 3:
            first.show(known[parent % len(known)])
            first.add(node(f"{'ua'[choice % 2]}{number}", known[parent % len(known)]))
        else:
            first.show(known[parent % len(known)])
        if first.leaf:
            ends.pop(first.leaf, None)
            ends[first.leaf] = None
    again = Branches(first.nodes, first.leaf, list(ends))
    for walk in walks:
        for branches in (first, again):
            if not branches.path or walk % 4 == 0:
                branches.forth()
            else:
                with suppress(CommandError):
                    branches.walk(walk % len(branches.path), (-1, 1)[walk % 2])
        assert shown(again) == shown(first)


def test_a_copy_goes_its_own_way(branches: Branches) -> None:
    before = branches.copy()
    branches.walk(1, -1)
    branches.add(node("u4", "a1"))
    assert shown(before) == ["u1", "b1"]
    assert "u4" not in [said.id for said in before.nodes]
    before.walk(1, -1)
    assert shown(before) == ["u1", "a1", "u3", "a3"]
    assert before.siblings(2) == (2, 2)


def test_without_a_message_what_was_shown_before_it_is_shown_again(branches: Branches) -> None:
    branches.show("a2")
    branches.add(node("u5", "a2"))
    assert branches.without(4)
    assert shown(branches) == ["u1", "b1"], "the branch it was said on does not count: it is a part of it"
    assert branches.without(0) is False
    assert shown(branches) == ["u1", "b1"]
