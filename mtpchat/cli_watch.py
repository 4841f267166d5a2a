"""Progress on stderr while something is measured: a bar on a terminal, now and then a line elsewhere."""

from __future__ import annotations

from types import TracebackType
from typing import Self, TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from mtpchat.ui.safe_text import safe_line

_WIDTH = 44


class Watch:
    """Tells how far the work is."""

    def __init__(self, stderr: TextIO) -> None:
        self._stderr = stderr
        self._is_terminal = stderr.isatty()
        self._total = self._done = 0
        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=Console(file=stderr, markup=False, emoji=False, highlight=False),
            transient=True,
            # Painting takes time from the very thing that is timed.
            refresh_per_second=2,
            disable=not self._is_terminal,
        )
        self._task = self._bar.add_task("", total=None)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def begin(self, total: int) -> None:
        """So many steps are to come."""
        self._total, self._done = total, 0
        self._bar.update(self._task, total=total, completed=0)

    def step(self, what: str) -> None:
        """One of them: has been done, or begins now."""
        self._done += 1
        self._bar.update(self._task, completed=self._done, description=_short(what))
        tenth = max(1, self._total // 10)
        if not self._is_terminal and self._done % tenth == 0:
            self._line(f"{self._done}/{self._total} {what}")

    def status(self, what: str) -> None:
        """What is going on, without counting."""
        self._bar.update(self._task, description=_short(what))

    def note(self, sentence: str) -> None:
        """A sentence that stays."""
        if self._is_terminal:
            self._bar.console.print(safe_line(f"mtpchat: {sentence}"))
        else:
            self._line(f"mtpchat: {sentence}")

    def _line(self, text: str) -> None:
        self._stderr.write(safe_line(text) + "\n")
        self._stderr.flush()


def _short(text: str) -> str:
    text = safe_line(text)
    return f"{text[: _WIDTH - 1]}…" if len(text) > _WIDTH else text.ljust(_WIDTH)
