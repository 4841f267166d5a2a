"""How far a transfer is, how fast over the last few seconds, and how long it will take at that."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import assert_never

from mtpchat.gguf.cursor import human_size
from mtpchat.hub.transfer import Progress

_WINDOW_S = 10.0
_APART_S = 0.25


class Speed:
    """Rate of a transfer.

    Args:
        clock: seconds, monotonic.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._points: deque[tuple[float, int]] = deque()

    def note(self, now: Progress) -> None:
        """One more state; what was there before the transfer does not count as fetched."""
        if now.phase != "fetching":
            self._points.clear()
            return
        seconds = self._clock()
        if self._points and seconds - self._points[-1][0] < _APART_S:
            return
        self._points.append((seconds, now.all_done))
        while seconds - self._points[0][0] > _WINDOW_S:
            self._points.popleft()

    @property
    def bytes_per_second(self) -> float | None:
        """None until it can be told."""
        if len(self._points) < 2:
            return None
        (first_s, first), (last_s, last) = self._points[0], self._points[-1]
        return (last - first) / (last_s - first_s) if last > first and last_s > first_s else None

    def words(self, now: Progress) -> list[str]:
        """Rate and time left, as far as they are known."""
        rate = self.bytes_per_second
        if rate is None:
            return []
        left = max(now.all_size - now.all_done, 0) / rate
        minutes, seconds = divmod(round(left), 60)
        time_left = f"{minutes} m {seconds:02d} s" if minutes else f"{seconds} s"
        return [f"{human_size(round(rate))}/s", f"{time_left} left"]


def line_of(now: Progress, speed: Speed) -> str:
    """How far a transfer is, as one line: file, share, size, rate, what is left."""
    name = now.file.rpartition("/")[2]
    which = f" ({now.index + 1} of {now.count})" if now.count > 1 else ""
    if now.phase == "done":
        return f"{name}{which} · {human_size(now.size)} · there"
    share = now.done * 100 // now.size if now.size else 100
    words = [f"{name}{which}", f"{share}%", f"{human_size(now.done)} of {human_size(now.size)}"]
    match now.phase:
        case "checking":
            words.append("checking what came before")
        case "waiting":
            words.append(now.remark)
        case "fetching":
            words += speed.words(now)
        case _:
            assert_never(now.phase)
    return " · ".join(words)
