"""Where the mouse points: a widget that has just gone is still on the screen until the next layout.

Textual begins to mark text in it, and ends the app because it stands nowhere.
"""

from __future__ import annotations

from typing import TypeVar

from textual.geometry import Offset
from textual.screen import Screen
from textual.widget import Widget

T = TypeVar("T")


class Pointing(Screen[T]):
    """What all screens have in common."""

    def get_widget_and_offset_at(self, x: int, y: int) -> tuple[Widget | None, Offset | None]:
        """See Screen; nothing where what is seen is no longer there."""
        widget, offset = super().get_widget_and_offset_at(x, y)
        return (widget, offset) if widget is None or widget.is_attached else (None, None)
