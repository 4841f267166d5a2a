"""The line under the prompt: numbers, or one bar while a model loads or a prompt is read."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import replace

from textual.content import Content
from textual.timer import Timer
from textual.widget import Widget

from mtpchat.config import Overflow
from mtpchat.events import Loading, Prefilling, SpeculationControl
from mtpchat.stats import TurnStats
from mtpchat.ui import format as numbers
from mtpchat.ui.safe_text import safe_line
from mtpchat.ui.status_line import parked, progress_content, status_content
from mtpchat.ui.token_count import Pending

_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_SPINNER_S = 0.3


class StatusBar(Widget):
    """Shows what it is told; keeps only the last few rates for the sparkline.

    Args:
        motion: False for neither spinner nor sparkline.
    """

    def __init__(self, *, motion: bool = True) -> None:
        super().__init__()
        self.stats = TurnStats()
        self.control = SpeculationControl()
        self._hints: Callable[[int], Content] = lambda _room: Content()
        self._urgent = False
        self._progress: Loading | Prefilling | None = None
        self._note = ""
        self._busy = False
        self._motion = motion
        self._frame = 0
        self._turned = False
        self._timer: Timer | None = None
        self._rates: deque[float] = deque(maxlen=12)
        self._overflow: Overflow = "stop"
        self._pending: Pending | None = None

    @property
    def progress(self) -> Loading | Prefilling | None:
        """What the bar shows now, or None for the numbers."""
        return self._progress

    def show_progress(self, event: Loading | Prefilling) -> None:
        """A bar instead of the numbers."""
        self._progress = event
        self._turn_spinner()

    def show_stats(self, stats: TurnStats) -> None:
        """The numbers, and one more point of the sparkline."""
        tokens = stats.output_tokens - self.stats.output_tokens
        seconds = stats.decode_s - self.stats.decode_s
        if tokens > 0 and seconds > 0:
            self._rates.append(tokens / seconds)
        self.stats = stats
        self._progress = None
        if self.is_mouse_over:
            self.tooltip = self._explain()
        self._turn_spinner()

    def start_turn(self) -> None:
        """Forget the numbers of the turn before, except what belongs to the chat."""
        old = self.stats
        self.stats = TurnStats(
            context_used=old.context_used,
            context_size=old.context_size,
            kind=old.kind,
            plain_tokens_per_second=old.plain_tokens_per_second,
        )
        self._rates.clear()
        self.set_busy(True)

    def set_control(self, control: SpeculationControl) -> None:
        """What the user wants of speculation has changed."""
        self.control = control
        self.refresh()

    def set_overflow(self, overflow: Overflow) -> None:
        """What is done when the chat does not fit into the context any more."""
        self._overflow = overflow
        self.refresh()

    def set_context(self, used: int, size: int) -> None:
        """How much of the context the chat takes, where no turn has told."""
        self.stats = replace(self.stats, context_used=used, context_size=size)
        self.refresh()

    def set_pending(self, pending: Pending | None) -> None:
        """What would be sent now; None for nothing, or while that is not known."""
        self._pending = pending
        self.refresh()

    def set_note(self, note: str) -> None:
        """A word at the left, e.g. that nothing is loaded; "" takes it away."""
        self._note = note
        self.refresh()

    def set_busy(self, busy: bool) -> None:
        """Turn the spinner on or off; off also takes the bar away."""
        self._busy = busy
        if not busy:
            self._progress = None
        if busy and self._motion and self._timer is None:
            self._timer = self.set_interval(_SPINNER_S, self._spin)
        if not busy and self._timer is not None:
            self._timer.stop()
            self._timer = None
        self.refresh()

    def set_hints(self, hints: Callable[[int], Content], *, urgent: bool = False) -> None:
        """Keys at the right end: `hints` says which of them fit into so many cells; urgent ones before all else."""
        self._hints, self._urgent = hints, urgent
        self.refresh()

    def render(self) -> Content:
        """The line for the width there is."""
        width = self.content_size.width
        if self._progress is None and self._note:
            left = Content.styled(safe_line(self._note), "$mt-warning")
            return self._with_hints(left, width)
        lead = Content.styled(f"{self._spinner()} ", "$accent") if self._busy else Content()
        room = width - lead.cell_length
        if self._urgent:  # numbers give way as a whole, not by half
            room = max(room - self._hints(width).cell_length - 3, 0)
        if self._progress is not None:
            return self._with_hints(Content.assemble(lead, progress_content(self._progress, room)), width)
        line = status_content(
            self.stats,
            self.control,
            tuple(self._rates),
            room,
            motion=self._motion,
            overflow=self._overflow,
            pending=self._pending,
        )
        return self._with_hints(Content.assemble(lead, line), width)

    def _with_hints(self, left: Content, width: int) -> Content:
        if self._urgent:
            left = left.truncate(max(width - self._hints(width).cell_length - 3, 0), ellipsis=True)
        hints = self._hints(max(width - left.cell_length - 3, 0))
        if not hints.plain:
            return left.truncate(max(width, 0), ellipsis=True)
        return Content.assemble(left, " " * (width - left.cell_length - hints.cell_length), hints)

    def _spinner(self) -> str:
        return _SPINNER[self._frame] if self._motion else "·"

    def on_enter(self) -> None:
        """The words behind the numbers are made when somebody points at them."""
        self.tooltip = self._explain()

    def _turn_spinner(self) -> None:
        self._frame = (self._frame + 1) % len(_SPINNER)
        self._turned = True
        self.refresh()

    def _spin(self) -> None:
        """Turn while nothing else makes the bar move; numbers that come in turn it along."""
        if not self._turned:
            self._turn_spinner()
        self._turned = False

    def _explain(self) -> Content:
        """Tooltip: where the multiplier comes from, and why there may be none."""
        stats = self.stats
        lines: list[str] = []
        if stats.plain_tokens_per_second:
            age = ", measured in an earlier run"
            if stats.plain_age_s is not None:
                age = f", measured {numbers.duration(stats.plain_age_s)} ago"
            lines.append(f"plain decoding here: {numbers.rate(stats.plain_tokens_per_second)}{age}")
        else:
            lines.append("the plain rate has not been measured in this chat yet")
        if stats.drafted:
            lines.append(f"{stats.accepted:,} of {stats.drafted:,} drafted tokens accepted")
        if stats.looped_tokens:
            lines.append(f"the text repeats itself: {stats.looped_tokens:,} tokens in loops count for no multiplier")
        if parked(stats):
            lines.append("parked: guessing does not pay at present, so decoding is plain; /why tells more")
        if stats.ttft_s is not None:
            lines.append(f"first token after {numbers.duration(stats.ttft_s)}")
        if stats.fallback_reason:
            lines.append(safe_line(stats.fallback_reason))
        return Content("\n".join(lines))
