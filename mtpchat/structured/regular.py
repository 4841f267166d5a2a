"""Regular languages: what patterns, lengths, forbidden words and multiples have in common, and how they combine.

A language is a tree. Besides what patterns can say there are `Both` (all of several languages), `Other` (every text
that is none of a language) and `Multiple` (numbers that a number divides). Trees are followed one character at a time
by derivatives (Brzozowski, "Derivatives of Regular Expressions", 1964): the derivative of a language is what may come
behind a character. The trees that are met on the way are the states of an automaton.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import assert_never

from mtpchat.errors import GrammarError
from mtpchat.structured.multiples import Multiple

Span = tuple[int, int]
Spans = tuple[Span, ...]
LAST = 0x10FFFF
EVERY: Spans = ((0, LAST),)


@dataclass(frozen=True, slots=True)
class Chars:
    """One character; of no spans, no text at all."""

    spans: Spans


@dataclass(frozen=True, slots=True)
class Text:
    """This text, which is not empty."""

    text: str


@dataclass(frozen=True, slots=True)
class Row:
    """One after the other; of no parts, the empty text."""

    parts: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """One of these."""

    options: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class Times:
    """So many times in a row; `most` None is without end."""

    one: Tree
    least: int
    most: int | None


@dataclass(frozen=True, slots=True)
class Both:
    """What is in all of these."""

    parts: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class Other:
    """What is not in this."""

    than: Tree


Tree = Chars | Text | Row | Choice | Times | Both | Other | Multiple
NOTHING, EMPTY = Chars(()), Row(())
MOST_WORK = 400_000
"""Steps of following a language before it is given up: about a second."""
ANYTHING = Times(Chars(EVERY), 0, None)


def word(text: str) -> Tree:
    """This text alone."""
    return Text(text) if text else EMPTY


def row(parts: Iterable[Tree]) -> Tree:
    """One after the other, as simple as can be."""
    flat = [one for part in parts for one in (part.parts if isinstance(part, Row) else (part,))]
    if NOTHING in flat:
        return NOTHING
    return flat[0] if len(flat) == 1 else Row(tuple(flat))


def choice(options: Iterable[Tree]) -> Tree:
    """One of these, as simple as can be."""
    flat = [one for option in options for one in (option.options if isinstance(option, Choice) else (option,))]
    kept = [one for one in dict.fromkeys(flat) if one != NOTHING]
    if ANYTHING in kept:
        return ANYTHING
    return kept[0] if len(kept) == 1 else Choice(tuple(kept)) if kept else NOTHING


def times(one: Tree, least: int, most: int | None) -> Tree:
    """So many times in a row, as simple as can be."""
    if most == 0:
        return EMPTY
    return one if (least, most) == (1, 1) else Times(one, least, most)


def both(parts: Iterable[Tree]) -> Tree:
    """What is in all of these, as simple as can be."""
    flat = [one for part in parts for one in (part.parts if isinstance(part, Both) else (part,))]
    kept = [one for one in dict.fromkeys(flat) if one != ANYTHING]
    if NOTHING in kept:
        return NOTHING
    return kept[0] if len(kept) == 1 else Both(tuple(kept)) if kept else ANYTHING


def other(tree: Tree) -> Tree:
    """What is not in this, as simple as can be."""
    if isinstance(tree, Other):
        return tree.than
    return ANYTHING if tree == NOTHING else NOTHING if tree == ANYTHING else Other(tree)


def has_empty(tree: Tree) -> bool:
    """Whether the empty text is in a language."""
    match tree:
        case Chars() | Text():
            return False
        case Row(parts) | Both(parts):
            return all(map(has_empty, parts))
        case Choice(options):
            return any(map(has_empty, options))
        case Times(one, least, _most):
            return least == 0 or has_empty(one)
        case Other(than):
            return not has_empty(than)
        case Multiple():
            return tree.may_end
        case _ as never:
            assert_never(never)


def behind(tree: Tree, code: int) -> Tree:
    """What may come behind a character; NOTHING where it cannot stand."""
    match tree:
        case Chars(spans):
            return EMPTY if any(low <= code <= high for low, high in spans) else NOTHING
        case Text(text):
            return word(text[1:]) if ord(text[0]) == code else NOTHING
        case Row(parts):
            return _behind_row(parts, code)
        case Choice(options):
            return choice(behind(one, code) for one in options)
        case Times(one, least, most):
            left = times(one, max(0, least - 1), None if most is None else most - 1)
            return row((behind(one, code), left))
        case Both(parts):
            return both(behind(one, code) for one in parts)
        case Other(than):
            return other(behind(than, code))
        case Multiple():
            return tree.behind(code) or NOTHING
        case _ as never:
            assert_never(never)


def _behind_row(parts: tuple[Tree, ...], code: int) -> Tree:
    found: list[Tree] = []
    for at, part in enumerate(parts):
        found.append(row((behind(part, code), *parts[at + 1 :])))
        if not has_empty(part):
            break
    return choice(found)


def edges(tree: Tree) -> frozenset[int]:
    """Characters from which on, in their order, the language behind them may be another one."""
    match tree:
        case Chars(spans):
            return frozenset(edge for low, high in spans for edge in (low, high + 1))
        case Text(text):
            return frozenset((ord(text[0]), ord(text[0]) + 1))
        case Row(parts):
            found: frozenset[int] = frozenset()
            for part in parts:
                found |= edges(part)
                if not has_empty(part):
                    break
            return found
        case Choice(options) | Both(options):
            return frozenset().union(*map(edges, options))
        case Times(one) | Other(one):
            return edges(one)
        case Multiple():
            return tree.edges
        case _ as never:
            assert_never(never)


def size(tree: Tree) -> int:
    """How much work it is to follow a language by one character."""
    match tree:
        case Chars() | Multiple():
            return 1
        case Text(text):
            return 1 + len(text) // 64
        case Row(parts) | Choice(parts) | Both(parts):
            return 1 + sum(map(size, parts))
        case Times(one) | Other(one):
            return 1 + size(one)
        case _ as never:
            assert_never(never)


def too_much() -> GrammarError:
    """The error for languages that take too long to follow, or too many states."""
    return GrammarError("What is asked for together takes too many rules.", hint="Ask for fewer things at once.")


def matches(tree: Tree, text: str) -> bool:
    """Whether a text is in a language. Raises GrammarError where that takes too long."""
    work = 0
    for letter in text:
        tree, work = behind(tree, ord(letter)), work + size(tree)
        if work > MOST_WORK:
            raise too_much()
        if tree == NOTHING:
            return False
    return has_empty(tree)
