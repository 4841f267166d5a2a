"""Pieces of GBNF, llama.cpp's notation for grammars, written so that they mean exactly what was meant."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby

from mtpchat.structured.automaton import Automaton
from mtpchat.structured.regular import EVERY, LAST, Chars, Choice, Row, Span, Spans, Text, Times, Tree

MOST_BYTES = 256 * 1024
"""A longer grammar is refused before an answer."""
MOST_REPEATED = 2000
"""More repetitions llama.cpp takes for "without end", and does not say so."""
_ESCAPED = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_ASCII_END, _LAST_BYTE, _FIRST_PLAIN = 0x7F, 0xFF, 0x20
_PLAIN: tuple[Span, ...] = ((0x20, 0x21), (0x23, 0x5B), (0x5D, 0xD7FF), (0xE000, LAST))
"""Characters that stand for themselves in a JSON string."""
_SHORT = {8: "b", 9: "t", 10: "n", 12: "f", 13: "r", 0x22: '"', 0x5C: "\\"}


def literal(text: str) -> str:
    """A terminal that is exactly `text`."""
    return '"' + "".join(_letter(letter) for letter in text) + '"'


def _letter(letter: str) -> str:
    if letter in _ESCAPED:
        return _ESCAPED[letter]
    code = ord(letter)
    if letter >= " " and code < _ASCII_END:
        return letter
    return f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}"


def repeated(what: str, least: int, most: int | None) -> str:
    """`what`, an atom, so many times in a row; `most` None is without end."""
    if (least, most) == (1, 1):
        return what
    if (least, most) == (0, 1):
        return f"{what}?"
    if most is None:
        return f"{what}{'*' if least == 0 else '+' if least == 1 else f'{{{least},}}'}"
    return f"{what}{{{least}}}" if least == most else f"{what}{{{least},{most}}}"


def either(choices: Iterable[str]) -> str:
    """An atom that is one of these."""
    kept = list(dict.fromkeys(choices))
    return kept[0] if len(kept) == 1 else f"({' | '.join(kept)})"


def one_of(spans: Iterable[Span]) -> str:
    """An atom: one character of these, as it is written in a JSON string. At least one must be no half of a pair."""
    spans = tuple(spans)
    if spans == EVERY:
        return "char"
    if (code := _single(spans)) is not None:
        return literal(_in_string(code))
    plain: list[str] = []
    choices: list[str] = []
    for low, high in spans:
        for first, last in _PLAIN:
            begin, end = max(low, first), min(high, last)
            if begin <= end:
                plain.append(_ranged(begin) if begin == end else f"{_ranged(begin)}-{_ranged(end)}")
        choices += [literal(_in_string(code)) for code in (*range(_FIRST_PLAIN), 0x22, 0x5C) if low <= code <= high]
    if plain:
        choices.insert(0, f"[{''.join(plain)}]")
    return either(choices)


def _in_string(code: int) -> str:
    """A character as it is written in a JSON string."""
    if any(low <= code <= high for low, high in _PLAIN):
        return chr(code)
    return f"\\{_SHORT[code]}" if code in _SHORT else f"\\u{code:04X}"


def _ranged(code: int) -> str:
    """A character as it is written in a range of a grammar."""
    letter = chr(code)
    if letter.isascii() and letter.isalnum():
        return letter
    return f"\\x{code:02X}" if code <= _LAST_BYTE else f"\\U{code:08X}"


def written(tree: Tree) -> str:
    """An atom or sequence for a language of patterns alone, as it stands between the quotes of a JSON string."""
    match tree:
        case Chars(spans):
            return one_of(spans)
        case Text(text):
            return literal("".join(_in_string(ord(letter)) for letter in text))
        case Row(parts):
            return " ".join(_row(parts)) or '""'
        case Choice(options):
            return either(map(written, options))
        case Times(one, least, most):
            return repeated(written(one) if isinstance(one, Chars) else f"({written(one)})", least, most)
        case _:
            raise AssertionError("combinations are written as automata")


def _row(parts: Sequence[Tree]) -> Iterator[str]:
    """Parts of a row; single characters in a row are one literal."""
    for letters, some in groupby(parts, lambda part: isinstance(part, Chars) and _single(part.spans) is not None):
        if not letters:
            yield from map(written, some)
            continue
        codes = (_single(part.spans) for part in some if isinstance(part, Chars))
        yield literal("".join(_in_string(code) for code in codes if code is not None))


def _single(spans: Spans) -> int | None:
    """The one character of spans, if it is one."""
    return spans[0][0] if len(spans) == 1 and spans[0][0] == spans[0][1] else None


def as_rules(
    found: Automaton, name: Callable[[], str], define: Callable[[str, str], None], share: Callable[[str], str]
) -> str:
    """One rule for each state; what the first is called.

    Args:
        name / define: take a name for a rule, and say later what it is.
        share: an atom for an expression that may come again.
    """
    lasts = {state for state, arrows in enumerate(found.arrows) if not arrows}
    names = ["" if state in lasts and state else name() for state in range(len(found.arrows))]
    for state, arrows in enumerate(found.arrows):
        if not names[state]:
            continue
        spans: dict[int, list[Span]] = {}
        for low, high, target in arrows:
            spans.setdefault(target, []).append((low, high))
        choices = [f"{share(one_of(some))} {names[target]}".rstrip() for target, some in spans.items()]
        define(names[state], " | ".join([*choices, *(['""'] if state in found.ends else [])]))
    return names[0]
