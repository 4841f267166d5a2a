"""Stop strings across token borders.

A stop string may arrive in pieces, so text that could still become one is held back until that is settled.
"""

from __future__ import annotations

from collections.abc import Sequence


class StopStrings:
    """Lets text through up to the first occurrence of a stop string.

    "First" is the occurrence that begins earliest. What is let through in total depends on the text alone, never on
    how it was cut into pieces.
    """

    def __init__(self, stops: Sequence[str]) -> None:
        """Empty stop strings are ignored; they would end every answer before it begins."""
        self._stops = tuple(stop for stop in stops if stop)
        self._longest = max(map(len, self._stops), default=0)
        self._held = ""
        self._stopped = False

    @property
    def none(self) -> bool:
        """Whether there are no stop strings: then text goes through as it comes."""
        return not self._stops

    @property
    def stopped(self) -> bool:
        """True once a stop string was found; nothing is let through afterwards."""
        return self._stopped

    def push(self, text: str) -> tuple[str, bool]:
        """Take more text.

        Returns:
            Text that is safe to show now, and whether a stop string ended the answer.
        """
        if self._stopped:
            return "", True
        if not self._stops:
            return text, False
        text = self._held + text
        found, pending = self._first_match(text), self._first_pending(text)
        if found is not None and found <= pending:
            return self._stop_at(text, found), True
        # A match that begins later than a possible one must wait: the earlier one may still be completed.
        self._held = text[pending:]
        return text[:pending], False

    def flush(self) -> str:
        """End the text: what was held back, up to a stop string if one is in it (then `stopped` is True)."""
        text, self._held = self._held, ""
        found = self._first_match(text)
        return text if found is None else self._stop_at(text, found)

    def _stop_at(self, text: str, position: int) -> str:
        self._stopped, self._held = True, ""
        return text[:position]

    def _first_match(self, text: str) -> int | None:
        return min((at for stop in self._stops if (at := text.find(stop)) >= 0), default=None)

    def _first_pending(self, text: str) -> int:
        """Where the longest suffix starts that a stop string begins with; len(text) if there is none."""
        for start in range(max(0, len(text) - self._longest + 1), len(text)):
            if any(stop.startswith(text[start:]) for stop in self._stops):
                return start
        return len(text)
