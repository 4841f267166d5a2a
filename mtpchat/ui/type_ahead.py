"""What is typed before the prompt is there: it waits until there is something to type into.

Whoever starts the program in a shell may go on typing while it starts. Until the terminal is the app's, a line ends
with a line feed, which would be a new line in the prompt; it was Enter.
"""

from __future__ import annotations

from textual import events

_EDITS = {"enter", "backspace"}
_LINE_FEED = "ctrl+j"


class TypeAhead:
    """Keeps text that has nowhere to go yet. Other keys are left alone, those that leave above all."""

    def __init__(self) -> None:
        self._kept: list[events.Event] = []
        self._over = False

    def keeps(self, event: events.Event) -> bool:
        """Whether it is kept for later."""
        if self._over:
            return False
        if isinstance(event, events.Key) and event.key == _LINE_FEED:
            event = events.Key("enter", "\r")
        kept = isinstance(event, events.Paste) or (
            isinstance(event, events.Key) and (event.is_printable or event.key in _EDITS)
        )
        if kept:
            self._kept.append(event)
        return kept

    def release(self) -> list[events.Event]:
        """From now on there is something to type into. Returns what was kept, in order."""
        self._over = True
        kept, self._kept = self._kept, []
        return kept
