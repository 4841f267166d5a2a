"""The small pieces of a transcript: what the user said, notices, errors, and the line under an answer."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from mtpchat.events import FinishReason
from mtpchat.stats import TurnStats
from mtpchat.ui import format as numbers
from mtpchat.ui.safe_text import safe_line, safe_text

_ENDINGS: dict[FinishReason, str] = {
    "stop": "",
    "length": "ended at max_tokens",
    "context": "context full",
    "cancelled": "stopped",
}
_SHOWN_LINES = 40
GAIN, LOSS = 1.05, 0.98
"""Speed against plain decoding above which speculation gains, and below which it loses more than it may."""


class Plain(Static):
    """Text that is never parsed as markup."""

    def __init__(self, text: str | Content = "", *, classes: str | None = None) -> None:
        super().__init__(Content(text) if isinstance(text, str) else text, classes=classes, markup=False)

    def grow(self, content: Content) -> None:
        """Show a longer text. The screen is laid out anew only when that takes more lines."""
        width, height = self.content_size
        same = width > 0 and content.get_height(self.styles.get_render_rules(), width) == height
        self.update(content, layout=not same)


class UserMessage(Vertical):
    """What the user said. A very long message is shown by its beginning and its size."""

    def __init__(self, text: str, *, queued: bool = False) -> None:
        super().__init__(classes="entry")
        self.text = text
        self._queued = queued

    def compose(self) -> ComposeResult:
        yield Plain(self._label(), classes="role")
        yield Plain(_shortened(safe_text(self.text)), classes="said")

    @property
    def grows(self) -> bool:
        """Whether more may come: never."""
        return False

    @property
    def queued(self) -> bool:
        """Whether it still waits for its turn."""
        return self._queued

    @queued.setter
    def queued(self, queued: bool) -> None:
        self._queued = queued
        self.query_one(".role", Plain).update(self._label())

    def _label(self) -> Content:
        name = Content.styled("You", "bold $mt-user")
        return Content.assemble(name, Content.styled("  queued", "not bold $mt-muted")) if self._queued else name


def _shortened(text: str) -> str:
    lines = text.split("\n", _SHOWN_LINES)
    if len(lines) <= _SHOWN_LINES and len(text) < 20_000:
        return text
    shown = "\n".join(lines[:_SHOWN_LINES])[:4000]
    rest = text.count("\n") + 1 - shown.count("\n")
    return f"{shown}\n… {rest:,} more lines" if rest > 1 else f"{shown} … {len(text) - len(shown):,} more characters"


class Notice(Plain):
    """One quiet line: what a command answered, why an answer ends."""

    def __init__(self, text: str, *, command: str = "", warning: bool = False) -> None:
        parts: list[Content] = []
        if command:
            parts += [Content.styled(safe_line(command), "$foreground"), Content("  ")]
        parts.append(Content(safe_text(text)))
        super().__init__(Content.assemble(*parts), classes="entry notice -warning" if warning else "entry notice")


class ErrorBlock(Vertical):
    """An error as part of the transcript: what happened, then what to do."""

    def __init__(self, what: str, hint: str = "") -> None:
        super().__init__(classes="entry")
        self.what = what
        self.hint = hint

    def compose(self) -> ComposeResult:
        with Vertical(classes="bar"):
            yield Plain(safe_text(self.what), classes="what")
            if self.hint:
                yield Plain(safe_text(self.hint), classes="hint")


class Summary(Plain):
    """`46.2 t/s · ×1.72 · 318 tokens · 7.1 s`, at the right under an answer."""

    def __init__(self, stats: TurnStats, reason: FinishReason) -> None:
        super().__init__(summary_content(stats, reason), classes="summary")


def summary_content(stats: TurnStats, reason: FinishReason) -> Content:
    """The line under an answer; what was not measured is left out."""
    parts: list[Content] = []
    if _ENDINGS[reason]:
        parts.append(Content.styled(_ENDINGS[reason], "$mt-warning"))
    if stats.tokens_per_second is not None:
        parts.append(Content(numbers.rate(stats.tokens_per_second)))
    if stats.speedup is not None and stats.drafted:
        style = "$foreground" if stats.looping else speedup_style(stats.speedup)
        parts.append(Content.styled(numbers.multiplier(stats.speedup), style))
    if stats.looping:
        parts.append(Content("repeats"))
    if stats.output_tokens:
        parts.append(Content(f"{stats.output_tokens:,} token{'s' if stats.output_tokens != 1 else ''}"))
    if stats.decode_s or stats.prefill_s:
        parts.append(Content(numbers.duration(stats.decode_s + stats.prefill_s)))
    return Content(" · ").join(parts)


def speedup_style(speedup: float | None) -> str:
    """Green above 1.05, red below the promised 0.98, plain between: the colour of every multiplier on the screen."""
    if speedup is None:
        return "$mt-muted"
    if speedup > GAIN:
        return "bold $mt-gain"
    return "bold $mt-loss" if speedup < LOSS else "$foreground"
