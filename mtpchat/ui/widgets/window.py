"""A column of entries of which only those near the view are laid out: the price of a layout is that of what is near.

All entries have a place, so that the scrollbar, searches and jumps know where they are; but Textual's compositor is
told of the near ones only. Heights far away are guessed, and what is in sight stays where it is when they turn out to
be others.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from textual._resolve import resolve_box_models
from textual._spatial_map import SpatialMap
from textual.containers import VerticalScroll
from textual.geometry import NULL_OFFSET, Region, Size, Spacing
from textual.layout import ArrangeResult, DockArrangeResult, Layout, WidgetPlacement
from textual.scrollbar import ScrollBar
from textual.widget import Widget

from mtpchat.ui.widgets.entry import Entry

_PAGES = 2
"""Pages above and below the visible one that the compositor knows."""
_LAST = 2
"""Entries at the end that it always knows: the answer that grows, and its prompt."""


class ColumnLayout(Layout):
    """Entries below each other; the height of those that rest is asked of them alone, without a look at their style."""

    name = "vertical"

    def arrange(self, parent: Widget, children: list[Widget], size: Size, greedy: bool = True) -> ArrangeResult:
        """See Layout."""
        parent.pre_layout(self)
        placements: list[WidgetPlacement] = []
        like: tuple[int, int, Spacing] | None = None  # width, width inside and margin of every entry
        y = below = 0
        for child in children:
            entry = child if isinstance(child, Entry) else None
            if entry is not None and entry.height_is_guessed and like is not None:
                width, inside, margin = like
                height = entry.get_content_height(size, size, inside)
            else:
                ((wide, high, margin),) = resolve_box_models(
                    [child.styles.height], [child], size, parent.app.size, Size(0, 0), resolve_dimension="height"
                )
                width, height = int(wide), int(high)
                if entry is not None and width:
                    like = width, width - child.styles.gutter.width, margin
            y += max(below, margin.top)
            placements.append(WidgetPlacement(Region(margin.left, y, width, height), NULL_OFFSET, margin, child))
            y += height
            below = margin.bottom
        return placements


class Window(VerticalScroll):
    """Shows a part of a long column."""

    def __init__(self) -> None:
        super().__init__()
        self._column_layout = ColumnLayout()
        self._arranged: DockArrangeResult | None = None
        self._shown: tuple[int, int] | None = None
        self._window: DockArrangeResult | None = None
        self._places: dict[Widget, Region] | None = None

    @property
    def layout(self) -> Layout:
        """See Widget."""
        return self._column_layout

    @property
    def follows(self) -> bool:
        """Whether the end is kept in view."""
        return self.is_anchored and not self._anchor_released

    def place_of(self, entry: Widget) -> Region:
        """Where an entry stands in the column; empty before it is laid out."""
        if self._places is None:
            arranged = self._arranged.placements if self._arranged is not None else []
            self._places = {one.widget: one.region for one in arranged}
        return self._places.get(entry, Region())

    def arrange(self, size: Size, optimal: bool = False) -> DockArrangeResult:
        """Lay the column out; returns what of it is near the view."""
        arranged = super().arrange(size, optimal)
        if optimal or not arranged.placements:
            return arranged
        if arranged is not self._arranged:
            before, self._arranged = self._arranged, arranged
            self._places = self._shown = None
            if before is not None and not self.follows and self.scroll_y > 0:
                self._hold(before, size)
        return self._near(arranged, size)

    def _hold(self, before: DockArrangeResult, size: Size) -> None:
        """What was at the top of the view stays there, whatever became of the heights above it."""
        placements = before.placements
        number = bisect_right(placements, self.scroll_y, key=lambda one: one.region.bottom)
        while number < len(placements) and not self.place_of(placements[number].widget):
            number += 1  # it is gone
        if number >= len(placements):
            return
        old = placements[number].region
        new = self.place_of(placements[number].widget)
        within = self.scroll_y - old.y
        if within > 0 and new.height != old.height:
            within = min(within, max(new.height - 1, 0))
        at = max(min(new.y + within, self._bottom() - size.height), 0)
        if at != self.scroll_y:
            self.set_reactive(Widget.scroll_y, at)
            self.set_reactive(Widget.scroll_target_y, at)
            self.vertical_scrollbar.set_reactive(ScrollBar.position, at)

    def _bottom(self) -> int:
        if self._arranged is None or not self._arranged.placements:
            return 0
        last = self._arranged.placements[-1]
        return last.region.bottom + last.margin.bottom

    def _near(self, arranged: DockArrangeResult, size: Size) -> DockArrangeResult:
        placements = arranged.placements
        top = self._bottom() - size.height if self.follows else self.scroll_y
        reach = _PAGES * size.height
        first = bisect_left(placements, top - reach, key=lambda one: one.region.bottom)
        last = bisect_right(placements, top + size.height + reach, key=lambda one: one.region.y)
        if self._window is not None and self._shown == (first, last):
            return self._window
        near = placements[first:last] + placements[max(last, len(placements) - _LAST) :]
        grid: SpatialMap[WidgetPlacement] = SpatialMap()
        grid.insert((one.region.grow(one.margin), one.offset, one.fixed, one.overlay, one) for one in near)
        ends = (placements[0], placements[-1])
        grid.total_region = Region.from_union([one.region.grow(one.margin) for one in ends])
        self._shown = first, last
        self._window = DockArrangeResult(near, {one.widget for one in near}, arranged.scroll_spacing, grid)
        return self._window
