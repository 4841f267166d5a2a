"""Choosing a model: everything that is on this machine, found while one looks, filtered while one types."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Input

from mtpchat.shelf.finding import Found
from mtpchat.shelf.listing import Item, Shelf, in_order
from mtpchat.ui.cells import key_words
from mtpchat.ui.model_outlook import Outlooks
from mtpchat.ui.model_picker_view import Outlook, details, empty, heading, matches
from mtpchat.ui.picker_screen import PickerScreen
from mtpchat.ui.widgets.cluster_input import ClusterInput
from mtpchat.ui.widgets.messages import Plain
from mtpchat.ui.widgets.model_list import ModelList

_KEYS = (("↑↓", "choose"), ("⏎", "load"), ("esc", "leave"), ("^↑↓", "details"))
_BATCH_S = 0.1
_SETTLED_S = 0.12
"""How long a row is marked before its details are worked out: holding an arrow key asks for nothing."""


@dataclass(slots=True)
class _Batch:
    """What was found in a tenth of a second."""

    items: list[Item] = field(default_factory=list)
    more: bool = True


class ModelPicker(PickerScreen[Found | None]):
    """Shows the models; ends with the one that was chosen, or None.

    Args:
        shelf: where they come from; it is searched in threads, a tenth of a second at a time.
        outlooks: works out what loading one would mean.
        loaded: path of the model in use.
        clock: seconds since 1970.
    """

    def __init__(
        self, shelf: Shelf, outlooks: Outlooks, loaded: str = "", clock: Callable[[], float] = time.time
    ) -> None:
        super().__init__()
        self._shelf = shelf
        self._outlooks = outlooks
        self._clock = clock
        self._items: list[Item] = []
        self._unreadable = 0
        self._state = "looking …"
        self._known: dict[Path, Outlook] = {}
        self._left = False
        shelf.walk.stopped = lambda: self._left
        self._heading = Plain(classes="heading")
        self.filter = ClusterInput(placeholder="type to filter", compact=True)
        self.list: ModelList = ModelList(Path(loaded) if loaded else None, clock)
        self._details = Plain(classes="details")
        self._keys = Plain(classes="picker-keys")
        self._body = Horizontal(id="picker-body")

    @property
    def searching(self) -> bool:
        """Whether there may be more to come."""
        return self._state.endswith("…")

    def knows(self, path: Path) -> bool:
        """Whether the details of a model are worked out."""
        return path in self._known

    def compose(self) -> ComposeResult:
        with Vertical(id="picker"):
            yield self._heading
            yield self.filter
            with self._body:
                yield self.list
                with VerticalScroll(id="picker-details", can_focus=False):
                    yield self._details
            yield self._keys

    def on_mount(self) -> None:
        self.filter.focus()
        self._show()
        self.run_worker(self._fill(), group="fill", exit_on_error=False)

    def follow_size(self) -> None:
        """See PickerScreen."""
        self._show()

    async def _fill(self) -> None:
        """Find everything; the list grows as it comes."""
        found, drafters, more = self._shelf.items(), list[Item](), True
        while more:
            batch = await asyncio.to_thread(_take, found)
            more = batch.more
            self._items += [one for one in batch.items if one.record.kind == "model"]
            drafters += [one for one in batch.items if one.record.kind == "drafter"]
            self._unreadable += sum(one.record.kind == "broken" for one in batch.items)
            self._show()
        self._state = "looking for drafters …"
        self._show()
        self._items = await asyncio.to_thread(self._shelf.assigned, list(self._items), drafters)
        self._state = self._remarks()
        self._show()

    def _remarks(self) -> str:
        files = f"{self._unreadable} file{'s' if self._unreadable > 1 else ''} cannot be read"
        remarks = [*([f"{files}: mtpchat models --all"] if self._unreadable else []), *self._shelf.walk.remarks]
        return remarks[0] if remarks else ""

    def _show(self) -> None:
        if not self.is_mounted:
            return
        typed = self.filter.value
        shown = [one for one in in_order(self._items) if matches(one, typed)]
        self.list.show(shown, empty(typed, self.searching, self._shelf.walk.remarks))
        width = max(self.size.width - 4, 0)
        self._heading.update(heading(len(shown), len(self._items), self._state, width))
        self._keys.update(key_words(_KEYS, width, gap="   "))
        self._show_details()

    def _show_details(self) -> None:
        item = self.list.marked
        self.query_one("#picker-details").display = item is not None
        text = details(item, self._known.get(item.found.path), self._clock()) if item is not None else Content("")
        self._details.update(text)

    @on(ModelList.Marked)
    def _other_row(self) -> None:
        self._show_details()
        item = self.list.marked
        if item is not None and item.found.path not in self._known:
            self.run_worker(self._look_ahead(item), group="outlook", exclusive=True, exit_on_error=False)

    async def _look_ahead(self, item: Item) -> None:
        await asyncio.sleep(_SETTLED_S)
        self._known[item.found.path] = await asyncio.to_thread(self._outlooks.of, item.found.path)
        self._show_details()

    @on(Input.Changed)
    def _typed(self) -> None:
        self._show()

    @on(Input.Submitted)
    @on(ModelList.Chosen)
    def _choose(self) -> None:
        item = self.list.marked
        if item is not None:
            self._end(item.found)

    def action_leave(self) -> None:
        """Esc: nothing changes."""
        self._end(None)

    def _end(self, found: Found | None) -> None:
        self._left = True
        self.dismiss(found)


def _take(items: Iterator[Item]) -> _Batch:
    """What comes within a tenth of a second; runs in a thread."""
    batch, ends = _Batch(), time.monotonic() + _BATCH_S
    for item in items:
        batch.items.append(item)
        if time.monotonic() > ends:
            return batch
    batch.more = False
    return batch
