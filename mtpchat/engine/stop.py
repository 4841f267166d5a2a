"""Stop strings across token borders.

A stop string may arrive in pieces, so text that could still become one is held back until that is settled. After each
character the machine is in the state of the longest end of the text that a stop string begins with (Aho and Corasick,
1975, "Efficient string matching"). States are made when a text reaches them: a stop string of a megabyte, or thousands
of them, cost no more than what an answer has in common with them.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence


class StopStrings:
    """Lets text through up to the first occurrence of a stop string.

    "First" is the occurrence that begins earliest. What is let through in total depends on the text alone, never on
    how it was cut into pieces.
    """

    def __init__(self, stops: Sequence[str]) -> None:
        """Empty stop strings are ignored; they would end every answer before it begins."""
        self._stops = sorted({stop for stop in stops if stop})
        self._root = _State(0, 0, len(self._stops))
        self._state = self._root
        self._held = ""
        """The end of the text so far that a stop string begins with; as long as the state is deep."""
        self._found: int | None = None
        """Where in that an occurrence begins which counts unless one that begins before it is completed."""
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
        state, found = self._state, self._found
        for end, letter in enumerate(text, len(self._held) + 1):
            state = state.after.get(letter) or self._go_on(state, letter)
            if state.ends and (found is None or end - state.ends < found):
                found = end - state.ends
            # A match that begins later than a possible one must wait: the earlier one may still be completed.
            if found is not None and found <= end - state.depth:
                return self._stop_at(self._held + text, found), True
        text = self._held + text
        pending = len(text) - state.depth
        self._state, self._found = state, None if found is None else found - pending
        self._held = text[pending:]
        return text[:pending], False

    def flush(self) -> str:
        """End the text: what was held back, up to a stop string if one is in it (then `stopped` is True)."""
        text, self._held, self._state = self._held, "", self._root
        return text if self._found is None else self._stop_at(text, self._found)

    def _stop_at(self, text: str, position: int) -> str:
        self._stopped, self._held = True, ""
        return text[:position]

    def _go_on(self, state: _State, letter: str) -> _State:
        """The state after one more letter, for the first time; those that it falls back to come first."""
        unknown: list[_State] = []
        shorter: _State | None = state
        while shorter is not None and letter not in shorter.after:
            unknown.append(shorter)
            shorter = shorter.shorter
        found = self._root if shorter is None else shorter.after[letter]
        for each in reversed(unknown):
            found = each.after[letter] = self._below(each, letter, found) or found
        return found

    def _below(self, state: _State, letter: str, shorter: _State) -> _State | None:
        """The state of one letter more, None where no stop string begins so."""
        depth = state.depth

        def here(stop: str) -> str:
            return stop[depth : depth + 1]

        first = bisect_left(self._stops, letter, state.first, state.last, key=here)
        last = bisect_right(self._stops, letter, first, state.last, key=here)
        if first == last:
            return None
        ends = depth + 1 if len(self._stops[first]) == depth + 1 else shorter.ends
        return _State(depth + 1, first, last, ends, shorter)


class _State:
    """What was said last begins one of the stop strings first .. last - 1, in their order.

    Attributes:
        depth: so many characters of it.
        ends: length of the longest stop string that ends here; 0 for none.
        shorter: state of the next shorter end of the text that a stop string begins with; None at the root.
        after: the state after a letter, for those that have been asked for.
    """

    __slots__ = ("after", "depth", "ends", "first", "last", "shorter")

    def __init__(self, depth: int, first: int, last: int, ends: int = 0, shorter: _State | None = None) -> None:
        self.depth, self.first, self.last = depth, first, last
        self.ends, self.shorter = ends, shorter
        self.after: dict[str, _State] = {}


def can_be_said(stop: str) -> bool:
    """Whether a text can hold that: half of a surrogate pair is no character, and cannot be written down either."""
    try:
        stop.encode()
    except UnicodeEncodeError:
        return False
    return True
