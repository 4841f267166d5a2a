"""Very large pastes are folded into one word in the prompt and unfolded when it is sent.

A text area with a hundred thousand lines freezes; a label does not.
"""

from __future__ import annotations

LEAST_CHARACTERS = 8_000
LEAST_LINES = 120


class Chips:
    """The folded texts of one prompt."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def fold(self, text: str) -> str:
        """`text` as it is, or a label that stands for it when it is very large."""
        lines = text.count("\n") + 1
        if len(text) < LEAST_CHARACTERS and lines < LEAST_LINES:
            return text
        size = f"{lines:,} lines" if lines > 1 else f"{len(text):,} characters"
        label = f"⟦paste {len(self._texts) + 1}: {size}⟧"
        self._texts[label] = text
        return label

    def unfold(self, text: str) -> str:
        """`text` with every label replaced by what it stands for."""
        for label, folded in self._texts.items():
            text = text.replace(label, folded)
        return text

    def label_before(self, text: str) -> str:
        """The label that `text` ends with, or ""."""
        return next((label for label in self._texts if text.endswith(label)), "")

    def clear(self) -> None:
        """Forget all texts."""
        self._texts.clear()
