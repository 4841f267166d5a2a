"""A chat's messages as a tree that only grows, and the branch of it that is shown. Pure: no store, no clock, no engine.

Where the branch forks, the tree remembers which way was taken last and how far it was followed: walking to another
message and back leads to where one was.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mtpchat.chats import Said, as_message
from mtpchat.errors import CommandError
from mtpchat.messages import Message


class Branches:
    """Nodes by their parents, and a path through them.

    Args:
        nodes: what is known already, siblings in the order in which they were said.
        leaf: id of the last node of the path; "" shows nothing.
        shown: ids of nodes that the path has ended with, in the order in which that was last so.
    """

    def __init__(self, nodes: Iterable[Said] = (), leaf: str = "", shown: Sequence[str] = ()) -> None:
        self._nodes: dict[str, Said] = {}
        self._below: dict[str, list[str]] = {}
        self._taken: dict[str, str] = {}
        """Parent -> the node below it that was shown last."""
        self._left: dict[str, str] = {}
        """Node -> the leaf that was shown last when the node was."""
        self._leaves: dict[str, None] = {}
        """Leaves that were shown, the last one last."""
        self._path: list[str] = []
        self._messages: tuple[Message, ...] = ()
        for node in nodes:
            self._put(node)
        self._recall(shown)
        self.show(leaf)

    def copy(self) -> Branches:
        """The same tree with the same branch shown, which goes its own way from here."""
        twin = Branches()
        twin._nodes, twin._taken, twin._left = self._nodes.copy(), self._taken.copy(), self._left.copy()
        twin._below = {parent: below.copy() for parent, below in self._below.items()}
        twin._leaves, twin._path, twin._messages = self._leaves.copy(), self._path.copy(), self._messages
        return twin

    @property
    def nodes(self) -> tuple[Said, ...]:
        """All messages, each behind the one it answers."""
        return tuple(self._nodes.values())

    @property
    def path(self) -> tuple[Said, ...]:
        """The nodes that are shown, the first one first."""
        return tuple(self._nodes[each] for each in self._path)

    @property
    def messages(self) -> tuple[Message, ...]:
        """What they say."""
        return self._messages

    @property
    def leaf(self) -> str:
        """Id of the last node that is shown; "" for none."""
        return self._path[-1] if self._path else ""

    def __getitem__(self, index: int) -> Said:
        """The node at a place of the path. Raises CommandError where there is none."""
        if not 0 <= index < len(self._path):
            raise CommandError(f"There is no message {index + 1} here.", hint=f"This chat shows {len(self._path)}.")
        return self._nodes[self._path[index]]

    def versions(self, index: int) -> tuple[Said, ...]:
        """The message at that place and all its alternatives, the oldest first. Raises CommandError."""
        return tuple(self._nodes[each] for each in self._below[self[index].parent])

    def siblings(self, index: int) -> tuple[int, int]:
        """Place of a message among its alternatives, from 1, and how many there are. Raises CommandError."""
        below = self._below[self[index].parent]
        return below.index(self._path[index]) + 1, len(below)

    def answers(self, index: int) -> int:
        """How many answers there are to the message at that place."""
        return sum(self._nodes[each].role == "assistant" for each in self._below.get(self[index].id, ()))

    def same(self, message: Message) -> Said | None:
        """The node below the leaf that says just this, if there is one."""
        below = self._below.get(self.leaf, ())
        return next((self._nodes[each] for each in below if as_message(self._nodes[each]) == message), None)

    def add(self, node: Said) -> None:
        """Put a node below its parent and show it last; a node that is known already gets this text."""
        self._put(node)
        self.show(node.id)

    def cut(self, length: int) -> None:
        """Show no more than so many messages; what followed stays in the tree."""
        self.show(self._path[length - 1] if 0 < length <= len(self._path) else "")

    def show(self, leaf: str) -> None:
        """Show the branch that ends with a node; "" shows nothing."""
        path = []
        while leaf in self._nodes:
            path.append(leaf)
            leaf = self._nodes[leaf].parent
        self._path = path[::-1]
        for each in self._path:
            self._taken[self._nodes[each].parent] = each
            self._left[each] = self.leaf
        if self._path:
            self._leaves.pop(self.leaf, None)
            self._leaves[self.leaf] = None
        self._messages = tuple(as_message(self._nodes[each]) for each in self._path)

    def walk(self, index: int, step: int) -> None:
        """Show another version of a message, with what followed it when it was last shown.

        Args:
            step: so many versions further; below 0 back.

        Raises:
            CommandError: there is none, and the branch stays as it is.
        """
        below = self._below[self[index].parent]
        at = below.index(self._path[index]) + step
        if len(below) == 1:
            raise CommandError("There is no other version of this message.", hint="/edit and /retry make one.")
        if not 0 <= at < len(below):
            first_or_last = "first" if step < 0 else "last"
            raise CommandError(f"This is the {first_or_last} of {len(below)} versions.", hint="/branch lists them all.")
        self.show(self._left.get(below[at]) or self._end(below[at]))

    def without(self, index: int) -> bool:
        """Show what was shown last of the branches that do not go through the message at that place.

        Returns:
            False where that is not known; nothing changes then. Raises CommandError where there is no message.
        """
        barred, here = self[index].id, set(self._path)
        others = (each for each in reversed(self._leaves) if each not in here and not self._goes_through(each, barred))
        leaf = next(others, "")
        if leaf:
            self.show(leaf)
        return bool(leaf)

    def _goes_through(self, leaf: str, node: str) -> bool:
        while leaf in self._nodes and leaf != node:
            leaf = self._nodes[leaf].parent
        return leaf == node

    def forth(self) -> None:
        """Show the next message of the user with what followed it, as it was last; nothing at the end of the branch."""
        leaf = self._taken.get(self.leaf, "")
        if not leaf:
            return
        while (after := self._taken.get(leaf, "")) and self._nodes[after].role != "user":
            leaf = after
        self.show(leaf)

    def _end(self, node: str) -> str:
        while after := self._taken.get(node, ""):
            node = after
        return node

    def _recall(self, leaves: Sequence[str]) -> None:
        """Take the ways as they were when these were shown one after the other; each node is looked at once."""
        taken: dict[str, str] = {}
        for leaf in reversed(leaves):
            node, below = leaf, ""
            while node in self._nodes:
                if below:
                    taken.setdefault(node, below)
                if node in self._left:
                    break
                self._left[node] = leaf
                node, below = self._nodes[node].parent, node
            else:
                if below:
                    taken.setdefault(node, below)
        self._taken |= taken
        self._leaves = {leaf: None for leaf in leaves if leaf in self._nodes}

    def _put(self, node: Said) -> None:
        if node.id not in self._nodes:
            self._below.setdefault(node.parent, []).append(node.id)
            self._taken[node.parent] = node.id  # until another one is shown, it is the newest
        self._nodes[node.id] = node
