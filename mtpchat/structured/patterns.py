"""Regular expressions of a JSON schema ("pattern") as languages.

The part that an automaton can follow is kept: characters, classes, groups, alternatives and repetitions, anchored or
not. Everything else, such as looking ahead, back references and word boundaries, is an error that names it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from mtpchat.errors import GrammarError
from mtpchat.structured.gbnf import MOST_REPEATED
from mtpchat.structured.regular import ANYTHING, LAST, Chars, Spans, Tree, both, choice, other, row, times

_LAST_ASCII = 0x7E
_DIGITS: Spans = ((0x30, 0x39),)
_WORD: Spans = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
_SPACE: Spans = ((0x09, 0x0D), (0x20, 0x20))
_LINE_ENDS: Spans = ((10, 10), (13, 13), (0x2028, 0x2029))
_CONTROLS = {"n": 10, "r": 13, "t": 9, "f": 12, "v": 11}
_SYNTAX = frozenset("^$\\.*+?()[]{}|/-")
_MOST_DEPTH = 20


@lru_cache(maxsize=256)
def language(pattern: str) -> Tree:
    """The texts that a pattern matches; see JSON Schema, "pattern".

    Raises:
        GrammarError: the pattern is malformed, or more than an automaton can follow.
    """
    reader = _Reader(pattern)
    found = reader.alternatives(0)
    if reader.at < len(pattern):
        raise _bad(pattern, "has a closing parenthesis too many")
    return found


def unmatched(pattern: str) -> Tree:
    """Texts that a pattern does not match in any dialect: of one line, and of ASCII where it names classes."""
    named = any(f"\\{name}" in pattern for name in _CLASSES)
    return both((other(language(pattern)), _ONE_LINE, *([_ASCII] if named else [])))


def whole(pattern: str) -> Tree:
    """The texts that a pattern matches from beginning to end."""
    return language(f"^(?:{pattern})$")


@dataclass(slots=True)
class _Reader:
    """A pattern, read from left to right."""

    pattern: str
    at: int = 0

    def alternatives(self, depth: int) -> Tree:
        """Up to the end or a closing parenthesis. At the outermost level what is not anchored may stand anywhere."""
        if depth > _MOST_DEPTH:
            raise _bad(self.pattern, "is nested too deeply")
        found = [self._sequence(depth)]
        while self._take("|"):
            found.append(self._sequence(depth))
        return choice(found)

    def _sequence(self, depth: int) -> Tree:
        start = self._take("^")
        if start and depth:
            raise _bad(self.pattern, "has an anchor within a group")
        parts: list[Tree] = [] if start or depth else [ANYTHING]
        while self.at < len(self.pattern) and self.pattern[self.at] not in "|)":
            if self._take("$"):
                if depth or (self.at < len(self.pattern) and self.pattern[self.at] != "|"):
                    raise _bad(self.pattern, "has an anchor in its middle")
                break
            parts.append(self._repeated(self._one(depth)))
        else:
            parts += [] if depth else [ANYTHING]
        return row(parts)

    def _one(self, depth: int) -> Tree:
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
                return self._chars(self._class())
            case ".":
                return Chars(_without(_LINE_ENDS))
            case "\\":
                return self._chars(self._escape())
            case "*" | "+" | "?" | "^" | "{":
                raise _bad(self.pattern, f"has a {letter} where nothing can stand before it")
            case _:
                return self._chars(((ord(letter), ord(letter)),))

    def _chars(self, spans: Spans) -> Tree:
        if all(low >= 0xD800 and high <= 0xDFFF for low, high in spans):
            raise _bad(self.pattern, "has a class that no character is in")
        return Chars(spans)

    def _repeated(self, one: Tree) -> Tree:
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
        return times(one, least, most)

    def _times(self) -> tuple[int, int | None]:
        text, closed, _ = self.pattern[self.at :].partition("}")
        low, comma, high = text.partition(",")
        if not closed or not _is_count(low) or (high and not _is_count(high)):
            raise _bad(self.pattern, "has a brace that is no number of times")
        self.at += len(text) + 1
        least, most = int(low), int(high) if high else None if comma else int(low)
        if max(least, most or 0) > MOST_REPEATED or (most is not None and most < least):
            raise _bad(self.pattern, f"repeats something {{{text}}} times")
        return least, most

    def _class(self) -> Spans:
        other, began = self._take("^"), self.at
        spans: Spans = ()
        while not self._take("]"):
            low = self._in_class()
            if len(low) == 1 and low[0][0] == low[0][1] and self._range_follows():
                self.at += 1
                high = self._in_class()
                if len(high) != 1 or high[0][0] != high[0][1] or high[0][0] < low[0][0]:
                    raise _bad(self.pattern, "has a range that is none")
                low = ((low[0][0], high[0][0]),)
            spans += low
        if not other:
            return spans
        named = any(f"\\{name}" in self.pattern[began : self.at] for name in _CLASSES)
        return _ascii_without(spans) if named else _without(spans)

    def _range_follows(self) -> bool:
        return self.pattern[self.at : self.at + 1] == "-" and self.pattern[self.at + 1 : self.at + 2] != "]"

    def _in_class(self) -> Spans:
        letter = self._next()
        return self._escape(in_class=True) if letter == "\\" else ((ord(letter), ord(letter)),)

    def _escape(self, *, in_class: bool = False) -> Spans:
        letter = self._next()
        if letter in _CLASSES:
            return _CLASSES[letter]
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
        return ((code, code),)

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


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 9


def _ascii_without(spans: Spans) -> Spans:
    """All other characters of ASCII: which letters beyond it are digits, words or spaces, dialects disagree about."""
    return _without((*spans, (_LAST_ASCII + 1, LAST)))


def _without(spans: Spans) -> Spans:
    """All other characters."""
    found: list[tuple[int, int]] = []
    start = 0
    for low, high in sorted(spans):
        if low > start:
            found.append((start, low - 1))
        start = max(start, high + 1)
    return (*found, (start, LAST)) if start <= LAST else tuple(found)


_CLASSES = {
    "d": _DIGITS,
    "w": _WORD,
    "s": _SPACE,
    "D": _ascii_without(_DIGITS),
    "W": _ascii_without(_WORD),
    "S": _ascii_without(_SPACE),
}
_ASCII, _ONE_LINE = times(Chars(((0, _LAST_ASCII),)), 0, None), times(Chars(_without(_LINE_ENDS)), 0, None)


def _bad(pattern: str, what: str) -> GrammarError:
    return GrammarError(f'The pattern "{pattern[:60]}" {what}, which a grammar cannot say.')
