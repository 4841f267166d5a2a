"""The prompts that wait, one line each, above the prompt."""

from __future__ import annotations

from collections.abc import Sequence

from textual import events
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.widget import Widget

from mtpchat.ui.chips import Written
from mtpchat.ui.safe_text import safe_line

_MOST_ROWS = 4
_CROSS = "✕"
_READ = 400
"""Characters of a prompt that are looked at for its first words."""


class WaitingList(Widget):
    """`1 · first words…`, with a cross at the right. It never has the focus: Up in an empty prompt takes the newest."""

    class Chosen(Message):
        """A prompt is to be edited, or with `drop` to leave the line. `number` counts from 1."""

        def __init__(self, number: int, *, drop: bool) -> None:
            super().__init__()
            self.number = number
            self.drop = drop

    def __init__(self) -> None:
        super().__init__()
        self._prompts: tuple[str, ...] = ()
        self._held: int | None = None
        self._paused = False
        self.display = False

    def show(self, prompts: Sequence[Written], held: int | None, *, paused: bool) -> None:
        """Show these.

        Args:
            held: place (from 0) of the one that is being edited.
            paused: they wait until the user says so.
        """
        lines = tuple(safe_line(one.outline[:_READ]) for one in prompts)
        if (lines, held, paused) == (self._prompts, self._held, self._paused):
            return
        self._prompts, self._held, self._paused = lines, held, paused
        self.display = bool(lines)
        self.refresh(layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """A few lines, two on a low screen."""
        return len(self._rows(viewport.height)) + (1 if self._paused else 0)

    def on_click(self, event: events.Click) -> None:
        event.stop()
        rows = self._rows(self.app.size.height)
        y = event.y - self.gutter.top
        number = rows[y] if 0 <= y < len(rows) else None
        if number is not None:
            drop = event.x - self.gutter.left >= self.content_size.width - 2
            self.post_message(self.Chosen(number, drop=drop))

    def render(self) -> Content:
        """The lines for the room there is."""
        width = self.content_size.width
        lines = [self._line(number, width) for number in self._rows(self.app.size.height)]
        if self._paused:
            words = "not sent yet · ⏎ in the empty prompt sends · /queue drop all"
            lines.append(Content.styled(words, "$mt-warning").truncate(width, ellipsis=True))
        return Content("\n").join(lines)

    def _rows(self, height: int) -> list[int | None]:
        """Numbers to be shown; None stands for those between."""
        count, room = len(self._prompts), 2 if height < 22 else _MOST_ROWS
        if count <= room:
            return list(range(1, count + 1))
        return [*range(1, room - 1), None, count] if room > 2 else [None, count]

    def _line(self, number: int | None, width: int) -> Content:
        if number is None:
            hidden = len(self._prompts) - sum(one is not None for one in self._rows(self.app.size.height))
            return Content.styled(f"… {hidden} more · /queue", "$mt-muted").truncate(width, ellipsis=True)
        held = number - 1 == self._held
        words = Content.assemble(
            Content.styled(f"{number} · ", "$accent" if held else "$mt-muted"),
            Content.styled("being edited" if held else self._prompts[number - 1], "$mt-muted"),
        ).truncate(max(width - 3, 1), ellipsis=True)
        gap = " " * max(width - words.cell_length - 2, 0)
        return Content.assemble(words, gap, Content.styled(_CROSS, "$mt-muted"))
