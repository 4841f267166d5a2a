"""Numbers as people read them. What is not known is a thin dash, never 0."""

from __future__ import annotations

from collections.abc import Sequence

from mtpchat.events import LeftOut

UNKNOWN = "–"
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_LEVELS = "▁▂▃▄▅▆▇█"


def rate(tokens_per_second: float | None, *, short: bool = False) -> str:
    """`46.2 t/s`; `short` leaves the decimals away."""
    if tokens_per_second is None:
        return f"{UNKNOWN} t/s"
    decimals = 0 if short or tokens_per_second >= 99.95 else 1
    return f"{tokens_per_second:.{decimals}f} t/s"


def multiplier(speedup: float | None, *, short: bool = False) -> str:
    """`×1.72`; `short` has one decimal, but never hides which side of 1 it is on."""
    if speedup is None:
        return f"×{UNKNOWN}"
    if short and abs(speedup - 1) >= 0.05:
        return f"×{speedup:.1f}"
    return f"×{speedup:.2f}"


def percent(share: float | None) -> str:
    """`71%` of a share 0..1. Only all is 100 % and only nothing is 0 %."""
    if share is None:
        return UNKNOWN
    value = round(share * 100)
    if value == 100 and share < 1:
        value = 99
    if value == 0 and share > 0:
        value = 1
    return f"{value}%"


def decimal(value: float | None) -> str:
    """`2.4`."""
    return UNKNOWN if value is None else f"{value:.1f}"


def count(number: int) -> str:
    """`318`, `1.2k`, `32k`, `1.5M`: four characters or so."""
    if number < 1000:
        return str(number)
    if number < 1_000_000:
        thousands = number / 1000
        return f"{thousands:.1f}k" if thousands < 9.95 else f"{thousands:.0f}k"
    return f"{number / 1_000_000:.1f}M"


def window(size: int) -> str:
    """A context size; powers of two as people name them: 8192 is `8k`."""
    return f"{size // 1024}k" if size >= 1024 and size % 1024 == 0 else count(size)


def duration(seconds: float) -> str:
    """`0.4 s`, `7.1 s`, `48 s`, `2 m 05 s`."""
    if seconds < 9.95:
        return f"{max(seconds, 0.0):.1f} s"
    if seconds < 59.5:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} m {rest:02d} s"


def whole_seconds(seconds: float) -> str:
    """A live counter, without a decimal that flickers: `6 s`, `2 m 05 s`."""
    return duration(float(int(seconds))) if seconds >= 60 else f"{int(seconds)} s"


def left_out(event: LeftOut) -> str:
    """A sentence about messages that the model does not read any more."""
    what = "1 message is" if event.count == 1 else f"{event.count:,} messages are"
    sizes = f"{event.prompt_tokens:,} of {event.whole_tokens:,} tokens are sent, the context holds {event.context:,}"
    return f"{what} not read by the model any more: {sizes}."


def gigabytes(fraction: float, total_bytes: int) -> str:
    """`4.1/6.7 GB`, or MB for a small file."""
    unit, name = (1e9, "GB") if total_bytes >= 1e9 else (1e6, "MB")
    decimals = 1 if unit == 1e9 else 0
    return f"{fraction * total_bytes / unit:.{decimals}f}/{total_bytes / unit:.{decimals}f} {name}"


def bar(fraction: float, width: int) -> str:
    """A bar of `width` cells, filled to an eighth of a cell."""
    eighths = round(min(max(fraction, 0.0), 1.0) * width * 8)
    full, part = divmod(eighths, 8)
    filled = "█" * full + (_EIGHTHS[part] if part else "")
    return filled.ljust(width)


def sparkline(values: Sequence[float], width: int) -> str:
    """The last `width` values, scaled from 0 to the largest of them."""
    shown = values[-width:]
    top = max(shown, default=0.0)
    if top <= 0:
        return ""
    return "".join(_LEVELS[min(7, int(max(value, 0.0) / top * 7.999))] for value in shown)
