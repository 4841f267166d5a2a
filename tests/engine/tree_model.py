"""A chat as nested nodes, each with the way that was taken below it: what a tree of messages must behave like."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count, pairwise

_ORDER = count()


@dataclass
class Node:
    role: str
    text: str
    complete: bool = True
    seed: int | None = None
    generated: bool = True
    below: list[Node] = field(default_factory=list)
    shown: int | None = None
    """Place of the child that is shown; None where the branch ends."""
    last: int | None = None
    """Place of the child that was shown last."""
    order: int = field(default_factory=lambda: next(_ORDER))

    def show(self, place: int) -> Node:
        self.shown = self.last = place
        return self.below[place]


class Model:
    """One chat."""

    def __init__(self) -> None:
        self.root = Node("root", "")

    @property
    def path(self) -> list[Node]:
        return self._from_root()[1:]

    def _from_root(self) -> list[Node]:
        path = [self.root]
        while (place := path[-1].shown) is not None:
            path.append(path[-1].below[place])
        return path

    def siblings(self) -> list[tuple[int, int]]:
        return [((one.shown or 0) + 1, len(one.below)) for one in self._from_root()[:-1]]

    def picture(self) -> list[tuple[str, str]]:
        return [(one.role, one.text) for one in self.path]

    def say(
        self, role: str, text: str, *, complete: bool = True, seed: int | None = None, generated: bool = True
    ) -> None:
        end = self._from_root()[-1]
        end.below.append(Node(role, text, complete, seed, generated))
        end.show(len(end.below) - 1)

    def ask(self, text: str) -> None:
        """The same text in the same place is the same message."""
        end = self._from_root()[-1]
        known = [place for place, one in enumerate(end.below) if (one.role, one.text) == ("user", text)]
        if known:
            end.show(known[0]).shown = None
        else:
            self.say("user", text)

    def stop(self, length: int) -> None:
        self._from_root()[length].shown = None

    def carry_on(self, text: str) -> None:
        last = self.path[-1]
        last.text, last.complete = last.text + text, True
        last.generated = True

    def amend(self, place: int, text: str) -> None:
        old = self.path[place]
        self.stop(place)
        self.say("assistant", text, complete=old.complete, seed=old.seed, generated=False)

    def undo(self) -> str:
        asked = [place for place, one in enumerate(self.path) if one.role == "user"]
        if not asked:
            return ""
        text = self.path[asked[-1]].text
        self.stop(asked[-1])
        return text

    def redo(self) -> bool:
        end = self._from_root()[-1]
        if end.last is None:
            return False
        while True:
            end.shown = end.last
            end = end.below[end.last]
            end.shown = None
            if end.last is None or end.below[end.last].role == "user":
                return True

    def walk(self, place: int, step: int) -> bool:
        above = self._from_root()[place]
        there = (above.shown or 0) + step
        if not 0 <= there < len(above.below):
            return False
        above.show(there)
        return True

    def fork(self, place: int) -> None:
        path = self.path[: place + 1]
        self.root = Node("root", "")
        for one in path:
            self.say(one.role, one.text, complete=one.complete, seed=one.seed, generated=one.generated)

    def reopen(self) -> None:
        """All ways are as they were. Only with nothing shown it is the newest message's branch."""
        path = self._from_root()
        if len(path) == 1 and self.root.below:
            path = self._to_newest()
            for above, one in pairwise(path):
                above.show(above.below.index(one))
            path[-1].shown = None
        self._forget_seeds(self.root)

    def _to_newest(self) -> list[Node]:
        paths = [[self.root]]
        for path in paths:
            paths += [[*path, one] for one in path[-1].below]
        return max(paths[1:], key=lambda path: path[-1].order)

    def _forget_seeds(self, node: Node) -> None:
        """How an answer was made that no turn has made is known while the program runs."""
        if not node.generated:
            node.seed = None
        for one in node.below:
            self._forget_seeds(one)
