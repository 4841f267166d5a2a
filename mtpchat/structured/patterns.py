"""Regular expressions of a JSON schema ("pattern") as grammar of the JSON string that they describe.

The part that a grammar can say is kept: characters, classes, groups, alternatives and repetitions, anchored or not.
Everything else, such as looking ahead, back references and word boundaries, is an error that names it.
"""

from __future__ import annotations

from dataclasses import dataclass

from mtpchat.errors import GrammarError
from mtpchat.structured.gbnf import MOST_REPEATED, literal, repeated

Spans = list[tuple[int, int]]
_LAST, _LAST_BYTE, _LAST_ASCII, _FIRST_PLAIN = 0x10FFFF, 0xFF, 0x7E, 0x20
_PLAIN: Spans = [(0x20, 0x21), (0x23, 0x5B), (0x5D, 0xD7FF), (0xE000, _LAST)]
"""Characters that stand for themselves in a JSON string."""
_DIGITS: Spans = [(0x30, 0x39)]
_WORD: Spans = [(0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)]
_SPACE: Spans = [(0x09, 0x0D), (0x20, 0x20)]
_CLASSES = {"d": _DIGITS, "w": _WORD, "s": _SPACE}
_CONTROLS = {"n": 10, "r": 13, "t": 9, "f": 12, "v": 11}
_SHORT = {8: "b", 9: "t", 10: "n", 12: "f", 13: "r", 0x22: '"', 0x5C: "\\"}
_SYNTAX = frozenset("^$\\.*+?()[]{}|/-")
_MOST_DEPTH = 20
ANYTHING = "char*"


def pattern_rule(pattern: str) -> str:
    """What may stand between the quotes of a string that the pattern matches; see JSON Schema, "pattern".

    Raises:
        GrammarError: the pattern is malformed, or more than a grammar can say.
    """
    reader = _Reader(pattern)
    body = reader.alternatives(0)
    if reader.at < len(pattern):
        raise _bad(pattern, "has a closing parenthesis too many")
    return body


@dataclass(slots=True)
class _Reader:
    """A pattern, read from left to right."""

    pattern: str
    at: int = 0

    def alternatives(self, depth: int) -> str:
        """Up to the end or a closing parenthesis. At the outermost level what is not anchored may stand anywhere."""
        if depth > _MOST_DEPTH:
            raise _bad(self.pattern, "is nested too deeply")
        found = [self._sequence(depth)]
        while self._take("|"):
            found.append(self._sequence(depth))
        return f"({' | '.join(found)})"

    def _sequence(self, depth: int) -> str:
        start = self._take("^")
        if start and depth:
            raise _bad(self.pattern, "has an anchor within a group")
        parts = [] if start or depth else [ANYTHING]
        while self.at < len(self.pattern) and self.pattern[self.at] not in "|)":
            if self._take("$"):
                if depth or (self.at < len(self.pattern) and self.pattern[self.at] != "|"):
                    raise _bad(self.pattern, "has an anchor in its middle")
                break
            parts.append(self._repeated(self._one(depth)))
        else:
            parts += [] if depth else [ANYTHING]
        return " ".join(parts) or '""'

    def _one(self, depth: int) -> str:
        letter = self._next()
        match letter:
            case "(":
                if self._take("?") and not self._take(":"):
                    raise _bad(self.pattern, "looks ahead or behind, or names a group")
                inner = self.alternatives(depth + 1)
                if not self._take(")"):
                    raise _bad(self.pattern, "has a parenthesis that is not closed")
                return inner
            case "[":
                return _chars(self._class())
            case ".":
                return _chars(_without([(10, 10), (13, 13), (0x2028, 0x2029)]))
            case "\\":
                return _chars(self._escape())
            case "*" | "+" | "?" | "^" | "{":
                raise _bad(self.pattern, f"has a {letter} where nothing can stand before it")
            case _:
                return _chars([(ord(letter), ord(letter))])

    def _repeated(self, one: str) -> str:
        if self._take("*"):
            least, most = 0, None
        elif self._take("+"):
            least, most = 1, None
        elif self._take("?"):
            least, most = 0, 1
        elif self._take("{"):
            least, most = self._times()
        else:
            return one
        if self.pattern[self.at : self.at + 1] in {"?", "+", "*", "{"}:
            raise _bad(self.pattern, "repeats a repetition")
        return repeated(one, least, most)

    def _times(self) -> tuple[int, int | None]:
        text, closed, _ = self.pattern[self.at :].partition("}")
        low, comma, high = text.partition(",")
        if not closed or not low.isdecimal() or (high and not high.isdecimal()):
            raise _bad(self.pattern, "has a brace that is no number of times")
        self.at += len(text) + 1
        least, most = int(low), int(high) if high else None if comma else int(low)
        if max(least, most or 0) > MOST_REPEATED or (most is not None and most < least):
            raise _bad(self.pattern, f"repeats something {{{text}}} times")
        return least, most

    def _class(self) -> Spans:
        other, spans = self._take("^"), list[tuple[int, int]]()
        began = self.at
        while not self._take("]"):
            low = self._in_class()
            if len(low) == 1 and low[0][0] == low[0][1] and self._range_follows():
                self.at += 1
                high = self._in_class()
                if len(high) != 1 or high[0][0] != high[0][1] or high[0][0] < low[0][0]:
                    raise _bad(self.pattern, "has a range that is none")
                low = [(low[0][0], high[0][0])]
            spans += low
        if not other:
            return spans
        named = any(f"\\{name}" in self.pattern[began : self.at] for name in "dwsDWS")
        return _ascii_without(spans) if named else _without(spans)

    def _range_follows(self) -> bool:
        return self.pattern[self.at : self.at + 1] == "-" and self.pattern[self.at + 1 : self.at + 2] != "]"

    def _in_class(self) -> Spans:
        letter = self._next()
        return self._escape(in_class=True) if letter == "\\" else [(ord(letter), ord(letter))]

    def _escape(self, *, in_class: bool = False) -> Spans:
        letter = self._next()
        if letter.casefold() in _CLASSES:
            spans = _CLASSES[letter.casefold()]
            return spans if letter.islower() else _ascii_without(spans)
        if letter in _CONTROLS:
            code = _CONTROLS[letter]
        elif letter in "xu":
            size = 2 if letter == "x" else 4
            digits = self.pattern[self.at : self.at + size]
            if len(digits) < size or not all(digit in "0123456789abcdefABCDEF" for digit in digits):
                raise _bad(self.pattern, f"has \\{letter} without {size} digits")
            self.at += size
            code = int(digits, 16)
        elif letter in _SYNTAX or not letter.isalnum():
            code = ord(letter)
        elif letter == "b" and in_class:
            code = 8
        else:
            raise _bad(self.pattern, f"has \\{letter}")
        return [(code, code)]

    def _take(self, letter: str) -> bool:
        if not self.pattern.startswith(letter, self.at):
            return False
        self.at += 1
        return True

    def _next(self) -> str:
        if self.at >= len(self.pattern):
            raise _bad(self.pattern, "ends where something has to follow")
        self.at += 1
        return self.pattern[self.at - 1]


def _ascii_without(spans: Spans) -> Spans:
    """All other characters of ASCII: which letters beyond it are digits, words or spaces, dialects disagree about."""
    return _without([*spans, (_LAST_ASCII + 1, _LAST)])


def _without(spans: Spans) -> Spans:
    """All other characters."""
    found: Spans = []
    start = 0
    for low, high in sorted(spans):
        if low > start:
            found.append((start, low - 1))
        start = max(start, high + 1)
    return [*found, (start, _LAST)] if start <= _LAST else found


def _chars(spans: Spans) -> str:
    """One character of these, as it is written in a JSON string."""
    plain: list[str] = []
    choices: list[str] = []
    for low, high in spans:
        for first, last in _PLAIN:
            begin, end = max(low, first), min(high, last)
            if begin <= end:
                plain.append(_letter(begin) if begin == end else f"{_letter(begin)}-{_letter(end)}")
        choices += [_escaped(code) for code in (*range(_FIRST_PLAIN), 0x22, 0x5C) if low <= code <= high]
    if plain:
        choices.insert(0, f"[{''.join(plain)}]")
    if not choices:
        raise GrammarError("A pattern has a class that no character is in.")
    return choices[0] if len(choices) == 1 else f"({' | '.join(dict.fromkeys(choices))})"


def _escaped(code: int) -> str:
    return literal(f"\\{_SHORT[code]}" if code in _SHORT else f"\\u{code:04X}")


def _letter(code: int) -> str:
    """A character as it is written in a range of a grammar."""
    letter = chr(code)
    if letter.isascii() and letter.isalnum():
        return letter
    return f"\\x{code:02X}" if code <= _LAST_BYTE else f"\\U{code:08X}"


def _bad(pattern: str, what: str) -> GrammarError:
    return GrammarError(f'The pattern "{pattern[:60]}" {what}, which a grammar cannot say.')
