"""A tree of messages: what is shown, what stands beside it, and where walking leads."""

from __future__ import annotations

import pytest

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
