"""Where searched words stand in a text, found as the full-text index finds them: by whole words, without case and
accents, the last word only begun; Chinese, Japanese and Korean anywhere.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

from mtpchat.chats import Passage
from mtpchat.messages import Attachment, Role

WIDE = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
"""Characters that are words by themselves, as the inside of a set in a regular expression."""

_WORD = re.compile(rf"[{WIDE}]+|[^\W{WIDE}]+")
_IS_WIDE = re.compile(f"[{WIDE}]")
_EACH_WIDE = re.compile(f"([{WIDE}])")
_BEFORE, _SNIPPET = 40, 160
_BEFORE_PASSAGE, _PASSAGE = 200, 700
_MOST_LETTERS = 200


def words_of(text: str) -> list[str]:
    """The words of what was typed; of a pasted page the first few."""
    return _WORD.findall(text[:_MOST_LETTERS])


def is_begun(text: str) -> bool:
    """Whether the last word of what was typed may go on: nothing stands behind it, and it is no ideograph."""
    words = words_of(text)
    return bool(words) and text.endswith(words[-1]) and not _IS_WIDE.match(words[-1])


def fold(text: str) -> str:
    """`text` without case and accents, character for character, so that places in it are places in `text`."""
    return text.lower() if text.isascii() else text.translate({ord(sign): _folded(sign) for sign in set(text)})


@lru_cache(maxsize=4096)
def _folded(character: str) -> str:
    if _IS_WIDE.match(character):
        return character
    base = unicodedata.normalize("NFD", character)[0].lower()
    return base if len(base) == 1 else character


@lru_cache(maxsize=64)
def patterns(text: str) -> tuple[re.Pattern[str], ...]:
    """One expression for each word of what was typed, to be looked for in folded text."""
    words = words_of(text)
    begun = is_begun(text)
    return tuple(_pattern(word, begun=begun and at == len(words) - 1) for at, word in enumerate(words))


@lru_cache(maxsize=64)
def _folded_words(text: str) -> tuple[str, ...]:
    return tuple(map(fold, words_of(text)))


def _pattern(word: str, *, begun: bool) -> re.Pattern[str]:
    if _IS_WIDE.match(word):
        return re.compile(re.escape(word))
    inside = rf"[^\W_{WIDE}]"
    return re.compile(rf"(?<!{inside}){re.escape(fold(word))}" + ("" if begun else rf"(?!{inside})"))


def places(content: str, text: str, most: int = 200) -> tuple[tuple[int, int], ...]:
    """(beginning, end) of the words of `text` in `content`, in order, without overlaps, at most so many."""
    folded = fold(content)
    spans: list[tuple[int, int]] = []
    for pattern in patterns(text):
        for found in pattern.finditer(folded):
            spans.append(found.span())
            if len(spans) >= most * len(patterns(text)):
                break
    kept: list[tuple[int, int]] = []
    for span in sorted(spans):
        if not kept or span[0] >= kept[-1][1]:
            kept.append(span)
    return tuple(kept[:most])


def has_all(content: str, text: str) -> bool:
    """Whether every word of `text` stands in `content`."""
    folded = fold(content)
    # Most texts do not have the letters at all, which is quicker to see.
    return all(word in folded for word in _folded_words(text)) and all(
        pattern.search(folded) for pattern in patterns(text)
    )


def snippet(content: str, text: str) -> str:
    """A line of `content` around the first of the words of `text`."""
    first = next(iter(places(content, text, most=1)), (0, 0))[0]
    return _line(content, max(0, first - _BEFORE), first - _BEFORE + _SNIPPET)


def best_file(files: Sequence[Attachment], text: str) -> Attachment | None:
    """The file in whose name and text most of the words stand; of equal ones the first."""
    return max(files, key=lambda file: _known_of(f"{file.name}\n{file.text}", text), default=None)


def _known_of(content: str, text: str) -> int:
    """How many of the words of `text` stand somewhere in `content`."""
    folded = fold(content)
    return sum(word in folded for word in _folded_words(text))


def passage(role: Role, content: str, text: str, file: str = "") -> Passage:
    """The part of a message in which words stand, on several lines; `file` names the one that `content` is from."""
    first = next(iter(places(content, text, most=1)), (0, 0))[0]
    start = max(0, first - _BEFORE_PASSAGE)
    if start:
        start = content.find(" ", start, first) + 1 or start
    piece = content[start : start + _PASSAGE]
    shown = ("…" if start else "") + piece.strip() + ("…" if start + _PASSAGE < len(content) else "")
    return Passage(role, shown, places(shown, text), file)


def _line(content: str, start: int, stop: int) -> str:
    stop = max(stop, start + _SNIPPET)
    head, tail = ("…" if start else ""), ("…" if stop < len(content) else "")
    return head + " ".join(content[start:stop].split()) + tail


def spaced(text: str) -> str:
    """`text` in which each ideograph stands by itself."""
    return _EACH_WIDE.sub(r" \1 ", text)


def counted(folded: str, wanted: Sequence[str]) -> list[int]:
    """How often each of the words stands in a text without case, at least once: accents may differ."""
    return [max(folded.count(word), 1) for word in wanted]
