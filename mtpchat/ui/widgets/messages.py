"""The small pieces of a transcript: what the user said, notices, errors, and the line under an answer."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from mtpchat.errors import advice, closed
from mtpchat.events import FinishReason
from mtpchat.messages import Attachment, Message
from mtpchat.one_line import short
from mtpchat.stats import TurnStats
from mtpchat.ui import format as numbers
from mtpchat.ui.attached_view import file_lines
from mtpchat.ui.long_lines import bounded
from mtpchat.ui.safe_text import safe_text
from mtpchat.ui.widgets.entry import ALONE, Entry, Siblings, Walked, guessed_rows, siblings_content

_ENDINGS: dict[FinishReason, str] = {
    "stop": "",
    "length": "ended at max_tokens",
    "context": "context full",
    "cancelled": "stopped",
}
_SHOWN_LINES = 40
"""A longer message is shown by its beginning and its end: what is asked about a paste mostly stands below it."""
_HEAD_LINES, _TAIL_LINES = 12, 3
_SHORT_CHARACTERS, _TAIL_CHARACTERS = 4000, 600
_MOST_LINES, _MOST_CHARACTERS = 5000, 200_000
"""What is shown at most of a message that is unfolded: more would keep the screen waiting."""
_COMMAND = 100
"""Letters of a command before what it answered."""
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


class EntryLine(Plain):
    """A line of an entry whose `‹ 2/3 ›` can be clicked."""

    def action_walk(self, step: int) -> None:
        """Go to another alternative."""
        entry = next(one for one in self.ancestors if isinstance(one, Entry))
        self.post_message(Walked(entry, step))


class UserMessage(Entry, Vertical):
    """What the user said. A very long message is shown by its beginning and its size, until it is unfolded.

    Args:
        text: what was said.
        attachments: files that went along.
        tokens: of each file, as far as they were counted.
    """

    def __init__(
        self,
        text: str,
        attachments: tuple[Attachment, ...] = (),
        tokens: Sequence[int | None] = (),
    ) -> None:
        super().__init__(classes="entry")
        self.text = text
        self.attachments = attachments
        self._tokens = tokens
        self._number: int | None = None
        self._unfolded = False

    def compose(self) -> ComposeResult:
        if self.whole:
            yield from self.parts()

    def parts(self) -> list[Widget]:
        """See Entry."""
        parts: list[Widget] = [EntryLine(self._label(), classes="role"), Plain(self._shown(), classes="said")]
        if self.attachments:
            parts.append(Plain(file_lines(self.attachments, self._tokens), classes="files"))
        return parts

    @property
    def grows(self) -> bool:
        """Whether more may come: never."""
        return False

    @property
    def source(self) -> str:
        """Its text as it was written."""
        return self.text

    @property
    def folded(self) -> bool:
        """Whether part of it is hidden."""
        return self._shown() != safe_text(self.text)

    def fold(self) -> bool:
        """Show all of it, or its beginning; False when it is too short for that."""
        before, self._unfolded = self._unfolded, True
        everything, self._unfolded = self._shown(), False
        if everything == self._shown():
            self._unfolded = before
            return False
        self._unfolded = not before
        if self._composed:
            self.query_one(".said", Plain).update(self._shown())
        return True

    def reveal(self, end: int) -> None:
        """Show all of it if its source is not shown up to `end`."""
        shown = self._shown()
        if not self._unfolded and not safe_text(self.text).startswith(shown) and end > len(shown.rpartition("…")[0]):
            self.fold()

    def shows(self, message: Message) -> bool:
        """Whether it is this message."""
        same = message.content == self.text and message.attachments == self.attachments
        return message.role == "user" and same

    def set_number(self, number: int) -> None:
        """Which prompt of the chat it is, from 1."""
        if number != self._number:
            self._number = number
            self.show_siblings()

    def show_siblings(self) -> None:
        """Bring the first line up to date."""
        if self.is_mounted and self._composed:
            for line in self.query(".role").results(EntryLine):  # none while its parts are just being taken away
                line.update(self._label(), layout=False)

    def _guess(self, width: int) -> int:
        return guessed_rows(self._shown(), width) + 1 + len(self.attachments)

    def _shown(self) -> str:
        text = safe_text(self.text)
        return _cut(text, _MOST_LINES, _MOST_CHARACTERS) if self._unfolded else _shortened(text)

    def _label(self) -> Content:
        name = Content.styled("You", "bold $mt-user")
        number = Content.styled(f"  {self._number}", "not bold $mt-muted") if self._number else ""
        siblings = siblings_content(self.alternatives)
        return Content.assemble(name, number, "   " if siblings.plain else "", siblings)


def _shortened(text: str) -> str:
    """Beginning and end of a text of many lines."""
    lines = text.rstrip().split("\n")
    beginning, end = "\n".join(lines[:_HEAD_LINES]), "\n".join(lines[-_TAIL_LINES:])
    if len(lines) <= _SHOWN_LINES or len(beginning) > _SHORT_CHARACTERS or len(end) > _TAIL_CHARACTERS:
        return _cut(text, _SHOWN_LINES, _SHORT_CHARACTERS)
    return f"{beginning}\n… {len(lines) - _HEAD_LINES - _TAIL_LINES:,} more lines\n{end}"


def _cut(text: str, most_lines: int, most_characters: int) -> str:
    """The beginning of a text, and how much more there is."""
    lines = text.split("\n", most_lines)
    if len(lines) <= most_lines and len(text) < 5 * most_characters:
        return text
    shown = "\n".join(lines[:most_lines])[:most_characters]
    rest = text.count("\n") - shown.count("\n")
    return f"{shown}\n… {rest:,} more lines" if rest > 1 else f"{shown} … {len(text) - len(shown):,} more characters"


class Notice(Plain):
    """One quiet line: what a command answered, why an answer ends."""

    def __init__(self, text: str, *, command: str = "", warning: bool = False) -> None:
        self.command = command
        parts: list[Content] = []
        if command:
            parts += [Content.styled(short(safe_text(command), _COMMAND), "$foreground"), Content("  ")]
        parts.append(Content(bounded(safe_text(text))))
        super().__init__(Content.assemble(*parts), classes="entry notice -warning" if warning else "entry notice")


class ErrorBlock(Vertical):
    """An error as part of the transcript: what happened, then what to do."""

    def __init__(self, what: str, hint: str = "") -> None:
        super().__init__(classes="entry")
        self.what = what
        self.hint = hint

    def compose(self) -> ComposeResult:
        with Vertical(classes="bar"):
            yield Plain(bounded(safe_text(closed(self.what))), classes="what")
            if self.hint:
                yield Plain(bounded(safe_text(advice(self.hint))), classes="hint")


class Summary(EntryLine):
    """`‹ 2/3 ›   46.2 t/s · ×1.72 · 318 tokens · 7.1 s`, at the right under an answer.

    Args:
        figures: what `summary_content` says of the turn, or nothing for an answer of another run.
    """

    def __init__(self, figures: Content, siblings: Siblings = ALONE) -> None:
        self._figures = figures
        super().__init__(self._line(siblings), classes="summary")

    def show(self, figures: Content, siblings: Siblings) -> None:
        """Other figures, another place, or other alternatives."""
        self._figures = figures
        self.update(self._line(siblings))

    def _line(self, siblings: Siblings) -> Content:
        parts = [part for part in (siblings_content(siblings), self._figures) if part.plain]
        return Content("   ").join(parts)


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
