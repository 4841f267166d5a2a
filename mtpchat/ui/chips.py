"""Large pastes are folded into one word in the prompt and unfolded when it is sent.

A text area with a hundred thousand lines freezes; a label does not. What was folded is remembered as stretches of the
whole text (`Written`), so that a prompt that comes back from the history, from a draft, from the line of those that
wait or from an earlier message comes back folded as it was.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

LEAST_CHARACTERS = 8_000
LEAST_LINES = 21
"""A paste of so many lines is folded."""
_HUGE_LINES = 120
"""A text that was not pasted is folded only from so many lines on: it came back to be edited."""


@dataclass(frozen=True, slots=True)
class Written:
    """What stood in a prompt.

    Attributes:
        text: all of it, as it is sent.
        folds: stretches of `text` (start, end) that the prompt shows folded, in their order.
    """

    text: str
    folds: tuple[tuple[int, int], ...] = ()

    def stripped(self) -> Written:
        """Without line ends around it."""
        start = len(self.text) - len(self.text.lstrip("\n"))
        text = self.text.strip("\n")
        moved = ((max(first - start, 0), min(last - start, len(text))) for first, last in self.folds)
        return Written(text, tuple((first, last) for first, last in moved if first < last))

    @property
    def outline(self) -> str:
        """The text with its folded stretches as short words, for one line of a list."""
        parts, at = [], 0
        for start, end in self.folds:
            parts += [self.text[at:start], f"⟦{_size(self.text[start:end])}⟧"]
            at = end
        return "".join([*parts, self.text[at:]])


def joined(texts: Sequence[Written]) -> Written:
    """Several texts as one, with an empty line between them."""
    parts, folds, at = list[str](), list[tuple[int, int]](), 0
    for one in texts:
        folds += [(at + start, at + end) for start, end in one.folds]
        parts.append(one.text)
        at += len(one.text) + 2
    return Written("\n\n".join(parts), tuple(folds))


class Chips:
    """The folded texts of one prompt."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def fold(self, text: str) -> str:
        """`text` as it is, or a label that stands for it when it is a large one to be pasted."""
        return self._label(text) if is_large(text) else text

    def show(self, written: Written) -> str:
        """A text as the prompt shows it: folded where it was, or as a whole where it is too large for a text area."""
        if not written.folds:
            huge = len(written.text) >= LEAST_CHARACTERS or written.text.count("\n") + 1 >= _HUGE_LINES
            return self._label(written.text) if huge else written.text
        parts, at = [], 0
        for start, end in written.folds:
            parts += [written.text[at:start], self._label(written.text[start:end])]
            at = end
        return "".join([*parts, written.text[at:]])

    def written(self, text: str) -> Written:
        """What the shown `text` stands for."""
        parts, folds, at, length = list[str](), list[tuple[int, int]](), 0, 0
        # In one pass: a folded text may contain what looks like a label.
        for match in self._found(text):
            before, folded = text[at : match.start()], self._texts[match[0]]
            folds.append((length + len(before), length + len(before) + len(folded)))
            length += len(before) + len(folded)
            parts += [before, folded]
            at = match.end()
        return Written("".join([*parts, text[at:]]), tuple(folds))

    def find_again(self, text: str) -> Written:
        """A text that was edited elsewhere, folded where a text that is folded here occurs in it unchanged."""
        folds, at = list[tuple[int, int]](), 0
        for folded in self._texts.values():
            start = text.find(folded, at)
            if start >= 0 and folded:
                folds.append((start, start + len(folded)))
                at = start + len(folded)
        return Written(text, tuple(folds))

    def labels(self, text: str) -> list[tuple[int, int]]:
        """Where labels stand in a shown text (start, end)."""
        return [match.span() for match in self._found(text)]

    def clear(self) -> None:
        """Forget all texts."""
        self._texts.clear()

    def _found(self, text: str) -> Iterator[re.Match[str]]:
        return re.finditer("|".join(map(re.escape, self._texts)), text) if self._texts else iter(())

    def _label(self, text: str) -> str:
        label = f"⟦paste {len(self._texts) + 1}: {_size(text)}⟧"
        self._texts[label] = text
        return label


def is_large(text: str) -> bool:
    """Whether a paste of this text is folded."""
    return len(text) >= LEAST_CHARACTERS or text.count("\n") + 1 >= LEAST_LINES


def _size(text: str) -> str:
    lines = text.count("\n") + 1
    return f"{lines:,} lines" if lines > 1 else f"{len(text):,} characters"
