"""A screen over the chat that can be left once: keys that were typed at once still arrive when it is gone.

Textual's own screens take whatever lies on top away then, and end the app where only the chat is left.
"""

from __future__ import annotations

from typing import TypeVar

from textual.await_complete import AwaitComplete
from textual.screen import ModalScreen

from mtpchat.ui.pointing import Pointing

T = TypeVar("T")


class Dialog(ModalScreen[T], Pointing[T]):
    """What screens over the chat have in common."""

    @property
    def is_left(self) -> bool:
        """Whether it is no longer there."""
        return self not in self.app.screen_stack

    def dismiss(self, result: T | None = None) -> AwaitComplete:
        """See Screen; nothing happens when it was left already, or another one lies above it."""
        return super().dismiss(result) if self.app.screen is self else AwaitComplete()
