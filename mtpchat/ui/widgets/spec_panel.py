"""The panel that shows speculation at work: beside the chat where there is room, in its place where there is not.

Everything in it is one piece of text, painted when a report comes (once a second at most) and only while open.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace

from textual.app import ComposeResult
from textual.containers import VerticalScroll

from mtpchat.events import ModelFacts, SpeculationControl
from mtpchat.report import SpeculationReport
from mtpchat.stats import TurnStats
from mtpchat.ui.spec_view import SpecView, panel_content
from mtpchat.ui.widgets.messages import Plain

_KEPT_RATES = 160


class SpecPanel(VerticalScroll, can_focus=False):
    """Keeps what it is told; paints it while it is open."""

    def __init__(self) -> None:
        super().__init__()
        self.display = False
        self._view = SpecView()
        self._rates: deque[float] = deque(maxlen=_KEPT_RATES)
        self._lines = 0

    def compose(self) -> ComposeResult:
        yield Plain(classes="figures")

    @property
    def is_open(self) -> bool:
        """Whether it can be seen."""
        return self.display

    def open(self, control: SpeculationControl, report: SpeculationReport | None) -> None:
        """Show it with what is known now."""
        self._view = replace(self._view, control=control, report=report)
        self.display = True
        self.call_after_refresh(self._paint)

    def close(self) -> None:
        """Hide it."""
        self.display = False

    def set_facts(self, facts: ModelFacts) -> None:
        """Another model is loaded: what was measured before says nothing about it."""
        self._rates.clear()
        self._view = SpecView(facts=facts, control=self._view.control)
        self._paint()

    def set_control(self, control: SpeculationControl) -> None:
        """What is wanted has changed."""
        self._view = replace(self._view, control=control)
        self._paint()

    def begin_turn(self) -> None:
        """Rates are differences of counters, which begin anew."""
        self._view = replace(self._view, stats=TurnStats())

    def show(self, stats: TurnStats, report: SpeculationReport | None) -> None:
        """New counters, and a report if one came with them."""
        tokens = stats.output_tokens - self._view.stats.output_tokens
        seconds = stats.decode_s - self._view.stats.decode_s
        if tokens > 0 and seconds > 0:
            self._rates.append(tokens / seconds)
        self._view = replace(self._view, stats=stats, report=report or self._view.report)
        if report is not None:
            self._paint()

    def on_resize(self) -> None:
        self._paint()

    def _paint(self) -> None:
        if not self.display or not self.is_mounted:
            return
        figures = self.query_one(Plain)
        view = replace(self._view, rates=tuple(self._rates))
        content = panel_content(view, figures.content_size.width or 30, self.size.height)
        lines = content.plain.count("\n")
        figures.update(content, layout=lines != self._lines)
        self._lines = lines
