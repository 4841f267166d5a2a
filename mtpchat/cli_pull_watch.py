"""Progress of a transfer on stderr: bars on a terminal, a line a second elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import Self, TextIO

from rich import progress as bars
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, TaskID, TextColumn, TimeRemainingColumn, TransferSpeedColumn

from mtpchat.hub.speed import Speed, line_of
from mtpchat.hub.transfer import Progress
from mtpchat.ui.safe_text import safe_line

_NAME, _BAR, _NUMBERS = 40, 24, 40
"""Cells: of a name and a bar where there is room, and of the figures beside them."""
_EVERY_S = 1.0
_PAINT_S = 0.1


class PullWatch:
    """Shows what it is told.

    Args:
        clock: seconds, monotonic.
    """

    def __init__(self, stderr: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stderr = stderr
        self._clock = clock
        self._is_terminal = stderr.isatty()
        self._told = float("-inf")
        self._speed = Speed(clock)
        self._files: dict[int, TaskID] = {}
        self._all: TaskID | None = None
        self._remark = ""
        console = Console(file=stderr, markup=False, emoji=False, highlight=False)
        bar = _BAR if console.width >= _NAME + _BAR + _NUMBERS else _BAR // 2
        self._name = max(min(_NAME, console.width - bar - _NUMBERS), 8)
        self._bars = bars.Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=bar),
            DownloadColumn(),
            TransferSpeedColumn(),
            TimeRemainingColumn(),
            console=console,
            refresh_per_second=4,
            disable=not self._is_terminal,
        )

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._bars.stop()

    def show(self, now: Progress) -> None:
        """How far it is."""
        self._speed.note(now)
        if self._is_terminal:
            self._show_bars(now)
        else:
            self._show_line(now)

    def _show_bars(self, now: Progress) -> None:
        seconds = self._clock()
        if now.phase in ("fetching", "checking") and seconds - self._told < _PAINT_S and now.index in self._files:
            return
        self._told = seconds
        if now.count > 1 and self._all is None:
            self._all = self._bars.add_task(self._short("all files"), total=now.all_size)
        if now.index not in self._files:
            self._files[now.index] = self._bars.add_task(self._short(now.file), total=now.size)
        name = now.file.rpartition("/")[2]
        described = self._short(f"checking {name}" if now.phase == "checking" else name)
        self._bars.update(self._files[now.index], completed=now.done, description=described)
        if self._all is not None:
            self._bars.update(self._all, completed=now.all_done)
        if now.remark and now.remark != self._remark:
            self._bars.console.print(safe_line(f"mtpchat: {now.remark}"))
        self._remark = now.remark

    def _show_line(self, now: Progress) -> None:
        seconds = self._clock()
        quiet = now.phase in ("fetching", "checking") and seconds - self._told < _EVERY_S
        if quiet or (now.phase == "waiting" and now.remark == self._remark):
            return
        self._told, self._remark = seconds, now.remark
        self._stderr.write(safe_line(line_of(now, self._speed)) + "\n")
        self._stderr.flush()

    def _short(self, text: str) -> str:
        text = safe_line(text)
        return f"…{text[-self._name + 1 :]}" if len(text) > self._name else text.ljust(self._name)
