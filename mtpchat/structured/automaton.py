"""A language as an automaton with as few states as can be; each of them will be a rule of a grammar."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from mtpchat.structured.regular import LAST, MOST_WORK, NOTHING, Tree, behind, edges, has_empty, size, too_much

Arrow = tuple[int, int, int]
"""From a character to a character, and where they lead."""
MOST_STATES = 1200
_MOST_EXPLORED = 4000
_SURROGATES = (0xD800, 0xDFFF)
"""No text has these."""


@dataclass(frozen=True, slots=True)
class Automaton:
    """States 0 .., which is where a text begins, each with its arrows, in the order of characters.

    Attributes:
        ends: states in which a text may end.
    """

    arrows: tuple[tuple[Arrow, ...], ...]
    ends: frozenset[int]


def automaton(tree: Tree) -> Automaton | None:
    """The smallest automaton of a language; None where no text is in it.

    Raises:
        GrammarError: it has too many states.
    """
    explored = _explored(tree)
    alive = _reaching_an_end(explored)
    if 0 not in alive:
        return None
    smallest = _smallest(_only(explored, alive))
    if len(smallest.arrows) > MOST_STATES:
        raise too_much()
    return smallest


def _explored(tree: Tree) -> Automaton:
    numbers: dict[Tree, int] = {tree: 0}
    todo, arrows, work = [tree], list[tuple[Arrow, ...]](), 0
    while len(arrows) < len(todo):
        here = todo[len(arrows)]
        found: list[Arrow] = []
        begins = sorted({0, *(edge for edge in edges(here) if edge <= LAST)})
        for low, following in zip(begins, [*begins[1:], LAST + 1], strict=True):
            there = behind(here, low)
            if there == NOTHING or (_SURROGATES[0] <= low and following - 1 <= _SURROGATES[1]):
                continue
            if there not in numbers:
                numbers[there] = len(todo)
                todo.append(there)
            _add(found, (low, following - 1, numbers[there]))
        work += size(here) * len(begins)
        if len(todo) > _MOST_EXPLORED or work > MOST_WORK:
            raise too_much()
        arrows.append(tuple(found))
    return Automaton(tuple(arrows), frozenset(at for at, one in enumerate(todo) if has_empty(one)))


def _add(arrows: list[Arrow], arrow: Arrow) -> None:
    """Append an arrow, or make the last one longer."""
    low, high, target = arrow
    if arrows and arrows[-1][1] + 1 == low and arrows[-1][2] == target:
        arrows[-1] = (arrows[-1][0], high, target)
    else:
        arrows.append(arrow)


def _before(found: Automaton) -> list[set[int]]:
    """For each state those that lead to it."""
    before: list[set[int]] = [set() for _ in found.arrows]
    for state, arrows in enumerate(found.arrows):
        for _low, _high, target in arrows:
            before[target].add(state)
    return before


def _reaching_an_end(found: Automaton) -> dict[int, int]:
    """States from which an end can be reached, and in how many characters at least."""
    before, nearest = _before(found), dict.fromkeys(sorted(found.ends), 0)
    todo = list(nearest)
    for state in todo:
        for earlier in sorted(before[state] - nearest.keys()):
            nearest[earlier] = nearest[state] + 1
            todo.append(earlier)
    return nearest


def _longest_ways(found: Automaton) -> list[int]:
    """For each state how many characters may still come; -1 where that is without end."""
    before = _before(found)
    left = [len({target for _low, _high, target in arrows}) for arrows in found.arrows]
    longest = [-1] * len(left)
    todo = [state for state, count in enumerate(left) if not count]
    for state in todo:
        targets = {target for _low, _high, target in found.arrows[state]}
        longest[state] = max((longest[target] + 1 for target in targets), default=0)
        for earlier in before[state]:
            left[earlier] -= 1
            if not left[earlier]:
                todo.append(earlier)
    return longest


def _only(found: Automaton, kept: dict[int, int]) -> Automaton:
    """The automaton without the states that are not kept; the first one is."""
    number = {state: at for at, state in enumerate(sorted(kept))}
    arrows = tuple(
        tuple((low, high, number[target]) for low, high, target in found.arrows[state] if target in number)
        for state in sorted(kept)
    )
    return Automaton(arrows, frozenset(number[state] for state in found.ends))


def _smallest(found: Automaton) -> Automaton:
    """States that no text can tell apart made one (Moore, 1956).

    It begins with those that differ in the shortest or longest text that may come, which tells most of them apart.
    """
    nearest, longest = _reaching_an_end(found), _longest_ways(found)
    blocks = _numbered([(nearest[state], longest[state]) for state in range(len(found.arrows))])
    while True:
        merged = [_led(arrows, blocks) for arrows in found.arrows]
        finer = _numbered(list(zip(blocks, merged, strict=True)))
        if max(finer) == max(blocks):
            break
        blocks = finer
    first: dict[int, int] = {}
    for state, block in enumerate(blocks):
        first.setdefault(block, state)
    arrows = tuple(merged[first[block]] for block in range(len(first)))
    return Automaton(arrows, frozenset(blocks[state] for state in found.ends))


def _numbered(keys: Sequence[Hashable]) -> list[int]:
    """Equal keys get equal numbers, in the order of their first."""
    numbers: dict[Hashable, int] = {}
    return [numbers.setdefault(key, len(numbers)) for key in keys]


def _led(arrows: Sequence[Arrow], blocks: Sequence[int]) -> tuple[Arrow, ...]:
    """Arrows to blocks of states."""
    found: list[Arrow] = []
    for low, high, target in arrows:
        _add(found, (low, high, blocks[target]))
    return tuple(found)
