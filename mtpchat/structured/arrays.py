"""Arrays of a JSON schema as rules of a grammar."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mtpchat.structured.gbnf import literal, repeated
from mtpchat.structured.plain import Plain, Together, never
from mtpchat.structured.reading import NothingLeft, bad, nothing
from mtpchat.structured.rules import Rules
from mtpchat.structured.texts import json_text

Visit = Callable[[Together], str]
Values = Callable[[Together], Sequence[object] | None]
_MOST_IN_ANY_ORDER = 7
_MOST_VALUES = 64


def array(plain: Plain, place: str, rules: Rules, visit: Visit, values: Values) -> str:
    """A rule for arrays.

    Args:
        visit: an expression for what several schemas demand together.
        values: all values that meet several schemas, or None where there are too many to say.
    """
    if plain.most is not None and plain.most < plain.fewest:
        raise nothing(place)
    if plain.unique and plain.most not in (0, 1):
        return _without_repeats(plain, place, rules, values)
    first, most = plain.first[: plain.most], plain.most
    closed = never(plain.rest) if plain.rest is not None else bool(first)
    items = [visit(one) for one in first]
    if closed or most == len(first):
        return _closed(plain, place, rules, items)
    try:
        item = rules.rule(rules.possible(lambda: visit(plain.rest or ())))
    except NothingLeft:
        if plain.fewest > len(first):
            raise
        return _closed(plain, place, rules, items)
    least, most = max(0, plain.fewest - len(first)), None if most is None else most - len(first)
    if first:
        tail = repeated(f'(", " {item})', least, most)
        return rules.rule(" ".join(['"["', *_separated(items), tail, '"]"']))
    more = item if most == 1 else f"{item} " + repeated(f'(", " {item})', max(0, least - 1), most and most - 1)
    return rules.rule(f'"[" {more} "]"' if least else f'"[" ({more})? "]"')


def _closed(plain: Plain, place: str, rules: Rules, items: Sequence[str]) -> str:
    """An array of these items and no others."""
    if len(items) < plain.fewest:
        raise nothing(f"{place}/minItems", "asks for more items than there may be")
    return rules.rule(" ".join(['"["', *_separated(items), '"]"']))


def _separated(items: Sequence[str]) -> list[str]:
    return [part for at, item in enumerate(items) for part in (['", "'] if at else []) + [item]]


def _without_repeats(plain: Plain, place: str, rules: Rules, values: Values) -> str:
    """An array in which no item is there twice: in any order where there are few values, else in theirs.

    A grammar remembers nothing but where it is, so each set of items that were said is a rule.
    """
    if plain.first:
        raise bad(f"{place}/uniqueItems", "beside prefixItems cannot be kept by a grammar")
    found = values(plain.rest or ())
    if found is None or len(found) > _MOST_VALUES:
        raise bad(
            f"{place}/uniqueItems",
            f"can be kept only where the values of the items are listed (enum), {_MOST_VALUES} of them at most",
        )
    if len(found) < plain.fewest:
        raise nothing(f"{place}/minItems", "asks for more items than there are values")
    said = [literal(json_text(value)) for value in found]
    most = len(said) if plain.most is None else min(plain.most, len(said))
    follow = _any_order if len(said) <= _MOST_IN_ANY_ORDER else _their_order
    return rules.rule(f'"[" {follow(said, plain.fewest, most, rules)} "]"')


def _any_order(said: Sequence[str], least: int, most: int, rules: Rules) -> str:
    """Items in any order; a rule for each set of items that were said."""
    names: dict[int, str] = {}

    def after(used: int) -> str:
        if used not in names:
            names[used] = rules.begin()
            count = used.bit_count()
            free = [at for at in range(len(said)) if not used >> at & 1] if count < most else []
            choices = [f"{_comma(count)}{said[at]} {after(used | 1 << at)}" for at in free]
            rules.define(names[used], " | ".join([*choices, *(['""'] if count >= least else [])]))
        return names[used]

    return after(0)


def _their_order(said: Sequence[str], least: int, most: int, rules: Rules) -> str:
    """Items in the order of the values; a rule for each item and how many were said before it."""
    names: dict[tuple[int, int], str] = {}
    ends, bounded = '""', most < len(said)

    def after(at: int, count: int) -> str:
        if len(said) - at + count < least:
            return ""
        if at == len(said) or count == most:
            return ends
        told = count if bounded else min(count, max(1, least))  # what more were said makes no difference
        if (at, told) not in names:
            name = names[at, told] = rules.begin()
            choices = [f"{_comma(told)}{said[at]} {after(at + 1, told + 1)}", after(at + 1, told)]
            rules.define(name, " | ".join(filter(None, choices)))
        return names[at, told]

    return after(0, 0)


def _comma(count: int) -> str:
    return '", " ' if count else ""
