"""A screen over the chat that can be left once: keys that were typed at once still arrive when it is gone.

Textual's own screens take whatever lies on top away then, and end the app where only the chat is left.
"""

from __future__ import annotations

from typing import TypeVar

from textual.await_complete import AwaitComplete
from textual.screen import ModalScreen

T = TypeVar("T")


class Dialog(ModalScreen[T]):
    """What all screens over the chat have in common."""

    @property
    def is_left(self) -> bool:
        """Whether another screen is on top, because this one was left."""
        return self.app.screen is not self

    def dismiss(self, result: T | None = None) -> AwaitComplete:
        """See Screen; nothing happens when it was left already."""
        return AwaitComplete() if self.is_left else super().dismiss(result)
