"""Objects of a JSON schema as rules: the properties that it names, in its order, then those whose name has a form."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from mtpchat.structured.automaton import automaton
from mtpchat.structured.gbnf import literal
from mtpchat.structured.patterns import language, unmatched
from mtpchat.structured.plain import Plain, Together, all_of, never
from mtpchat.structured.reading import NothingLeft, nothing
from mtpchat.structured.regular import ANYTHING, Tree, both, matches, other, word
from mtpchat.structured.rules import Rules
from mtpchat.structured.texts import json_text

Visit = Callable[[Together], str]
Pair = tuple[str, bool]
"""A property with its value, and whether it has to be there."""


def object_rule(plain: Plain, place: str, rules: Rules, visit: Visit) -> str:
    """A rule, or a ready-made one, for objects.

    Args:
        visit: an expression for what several schemas demand together.
    """
    named = list(_named(plain, place, rules, visit))
    if not plain.properties and not plain.required and not plain.by_pattern and not plain.others:
        return "object"
    several = None
    if plain.by_pattern or not named:
        several = _of_unnamed(plain, rules, visit, with_others=bool(plain.others) or not plain.by_pattern)
    pairs = [*named, *([(f'{several} (", " {several})*', False)] if several else [])]
    return rules.rule(" ".join(['"{"', *_members(pairs, rules), '"}"']))


def _named(plain: Plain, place: str, rules: Rules, visit: Visit) -> Iterator[Pair]:
    """The properties that have a name, those that cannot be left out."""
    for name in dict.fromkeys((*plain.properties, *plain.required)):
        needed = name in plain.required
        schemas = all_of((plain.of_property(name), plain.of_pattern(name)))
        if never(schemas):
            if needed and name not in plain.properties:
                raise nothing(f"{place}/required", f'asks for "{name}", which may not be there')
            if needed:
                raise nothing(place, f'asks for "{name}" and does not allow it')
            continue
        try:
            value = rules.possible(partial(visit, schemas))
        except NothingLeft:
            if needed:
                raise
            continue
        yield f"{literal(json_text(name) + ': ')} {value}", needed


def _of_unnamed(plain: Plain, rules: Rules, visit: Visit, *, with_others: bool) -> str | None:
    """One property whose name is not among those of the schema; None where there can be none."""
    pairs: list[str] = []
    for names, schemas in _kinds_of_names(plain, with_others=with_others):
        if never(schemas):
            continue
        found = automaton(names)
        if found is None:
            continue
        try:
            value = rules.possible(partial(visit, schemas))
        except NothingLeft:
            continue
        name = (
            "string" if names == ANYTHING else f'"\\"" {rules.shared(names, partial(rules.of_automaton, found))} "\\""'
        )
        pairs.append(f'{name} ": " {value}')
    return rules.rule(" | ".join(pairs)) if pairs else None


def _kinds_of_names(plain: Plain, *, with_others: bool) -> Iterator[tuple[Tree, Together]]:
    """Languages of names that exclude each other, and what properties of such a name have to be."""
    kinds: list[tuple[Tree, Together | None]] = [(ANYTHING, None)]
    for pattern, schemas in plain.by_pattern.items():
        inside, outside = language(pattern), unmatched(pattern)
        kinds = [
            (names, found)
            for before, known in kinds
            for names, found in (
                (both((before, inside)), all_of((known or (), schemas))),
                (both((before, outside)), known),
            )
            if automaton(names) is not None
        ]
    taken = dict.fromkeys((*plain.properties, *plain.required))
    for names, known in kinds:
        if known is not None or with_others:
            left = [other(word(name)) for name in taken if matches(names, name)]
            yield both((names, *left)), plain.others if known is None else known


def _members(pairs: Sequence[Pair], rules: Rules) -> list[str]:
    """Members in order, the optional ones there or not, commas between them."""
    rest = [f'", " {pair}' if needed else f'(", " {pair})?' for pair, needed in pairs]
    first = next((at for at, (_pair, needed) in enumerate(pairs) if needed), len(pairs) - 1)
    tails = [""]  # what may follow each member, the last one first, under one name each
    for part in reversed(rest[1:]):
        tails.append(rules.rule(f"{part} {tails[-1]}".rstrip()))
    tails.reverse()
    begin = ""
    for at in reversed(range(first + 1)):
        pair, needed = pairs[at]
        here = f"{pair} {tails[at]}".rstrip()
        begin = here if needed else rules.rule(f"{here} | {begin}" if begin else f"({here})?")
    return [begin] if begin else []
