"""The rows of the model picker."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from textual.content import Content

from mtpchat.shelf.listing import Item
from mtpchat.ui.model_picker_view import row
from mtpchat.ui.widgets.row_list import RowList


class ModelList(RowList[Item]):
    """Models. It never has the focus.

    Args:
        loaded: path of the model in use, or None.
        clock: seconds since 1970.
    """

    def __init__(self, loaded: Path | None, clock: Callable[[], float]) -> None:
        super().__init__()
        self._loaded = loaded
        self._clock = clock

    def key(self, item: Item) -> Path:
        """See RowList."""
        return item.found.path

    def paint(self, item: Item, width: int, *, marked: bool) -> Content:
        """See RowList."""
        return row(item, width, marked=marked, loaded=item.found.path == self._loaded, now=self._clock())
