"""What stands in the status line at a given width: pure, so that its laws can be tested.

Segments have a priority and up to three lengths. They get room in the order of their priority, in the shortest form;
what room is left then lengthens them in the same order. So the rate is the last thing that goes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from textual.content import Content

from mtpchat.config import Overflow
from mtpchat.events import Loading, Prefilling, SpeculationControl
from mtpchat.stats import TurnStats
from mtpchat.ui import format as numbers
from mtpchat.ui.token_count import Pending
from mtpchat.ui.widgets.messages import speedup_style

_GAP = "  "
_BAR_CELLS = 10
_FILLING, _FULL = 0.8, 0.95
"""Parts of the context from which on the line warns, and says what will happen."""
_NEXT: dict[Overflow, str] = {
    "stop": "/compact makes room",
    "drop": "oldest turns leave",
    "summarise": "a summary is next",
}
_FIRST_STEPS = 8
"""Steps of an answer that may be plain for another reason: costs are measured, the drafter reads."""


@dataclass(frozen=True, slots=True)
class Segment:
    """One number. `forms` run from the shortest to the longest; `place` is its position from the left."""

    place: int
    forms: tuple[Content, ...]


def status_content(
    stats: TurnStats,
    control: SpeculationControl,
    rates: Sequence[float],
    width: int,
    *,
    motion: bool = True,
    overflow: Overflow = "stop",
    pending: Pending | None = None,
) -> Content:
    """The line of numbers, at most `width` cells long.

    Args:
        stats: counters of the turn.
        control: what the user wants of speculation.
        rates: latest rates for the sparkline, oldest first.
        motion: False leaves the sparkline away.
        overflow: what is done when the chat does not fit any more.
        pending: what would be sent now; the context is then that of the whole request.
    """
    if pending is not None and pending.whole:
        stats = replace(stats, context_used=pending.whole)
    context = _context(stats, overflow)
    ordered = [
        _rate(stats),
        _multiplier(stats),
        _acceptance(stats),
        _depth(stats, control),
        context,
        _length(stats),
    ]
    if stats.context_size and stats.context_used >= _FILLING * stats.context_size:
        ordered.insert(2, ordered.pop(ordered.index(context)))  # what is going to matter goes before what is nice
    if pending is not None:
        ordered.insert(1, _pending(pending, stats))
    if motion and len(rates) >= 3:
        ordered.append(Segment(2, (Content.styled(numbers.sparkline(rates, 8), "$mt-muted"),)))
    return fit(ordered, width)


def fit(by_priority: Sequence[Segment], width: int) -> Content:
    """Lay segments out within `width` cells."""
    chosen: dict[int, int] = {}

    def used() -> int:
        cells = sum(by_priority[index].forms[form].cell_length for index, form in chosen.items())
        return cells + len(_GAP) * max(len(chosen) - 1, 0)

    for index in range(len(by_priority)):
        chosen[index] = 0
        if used() > width:
            del chosen[index]
            break
    for index in list(chosen):
        for form in range(1, len(by_priority[index].forms)):
            before, chosen[index] = chosen[index], form
            if used() > width:
                chosen[index] = before
                break
    shown = sorted(chosen.items(), key=lambda item: by_priority[item[0]].place)
    return Content(_GAP).join([by_priority[index].forms[form] for index, form in shown])


def _labelled(label: str, value: str) -> Content:
    return Content.assemble(Content.styled(f"{label} ", "$mt-muted"), Content.styled(value, "$foreground"))


def _rate(stats: TurnStats) -> Segment:
    value = stats.tokens_per_second
    style = "bold $foreground" if value is not None else "$mt-muted"
    return Segment(
        0, (Content.styled(numbers.rate(value, short=True), style), Content.styled(numbers.rate(value), style))
    )


def _multiplier(stats: TurnStats) -> Segment:
    long = numbers.multiplier(stats.speedup)
    if stats.looping:  # the word stays longest: without it the number would be taken for a gain
        word = Content.styled("repeats", "$mt-muted")
        return Segment(1, (word, Content.assemble(Content.styled(long, "$foreground"), " ", word)))
    style = speedup_style(stats.speedup)
    return Segment(
        1, (Content.styled(numbers.multiplier(stats.speedup, short=True), style), Content.styled(long, style))
    )


def _acceptance(stats: TurnStats) -> Segment:
    return Segment(3, (_labelled("acc", numbers.percent(stats.acceptance)),))


def _length(stats: TurnStats) -> Segment:
    known = stats.mean_accepted_length if stats.drafted else None
    return Segment(4, (_labelled("len", numbers.decimal(known)),))


def _depth(stats: TurnStats, control: SpeculationControl) -> Segment:
    if control.mode == "off":
        return Segment(5, (_labelled("k", "off"), _labelled("speculation", "off")))
    if stats.kind == "none" and stats.fallback_reason:
        return Segment(5, (_labelled("k", numbers.UNKNOWN), _labelled("k", f"{numbers.UNKNOWN} plain")))
    if parked(stats) and not control.pinned:
        return Segment(5, (Content.styled("k 0", "$mt-muted"), Content.styled("k 0 auto", "$mt-muted")))
    value = str(stats.depth or control.draft_max) if control.pinned else str(stats.depth)
    if not stats.steps:
        value = numbers.UNKNOWN
    how = "fixed" if control.pinned else "auto" if control.mode == "auto" else "on"
    return Segment(5, (_labelled("k", value), _labelled("k", f"{value} {how}")))


def parked(stats: TurnStats) -> bool:
    """Whether guessing is left out at the moment, because it does not pay; a round without a guess is not enough."""
    wanted = stats.mode == "auto" and stats.kind != "none" and stats.steps > _FIRST_STEPS
    return wanted and not stats.depth and stats.drafted * 4 < stats.steps


def _context(stats: TurnStats, overflow: Overflow) -> Segment:
    if not stats.context_size:
        return Segment(6, (_labelled("ctx", numbers.UNKNOWN),))
    share = stats.context_used / stats.context_size
    sizes = f"{numbers.count(stats.context_used)}/{numbers.window(stats.context_size)}"
    colour = "$mt-muted" if share < _FILLING else "$mt-warning" if share < _FULL else "$error"
    gauge = Content.assemble(
        " ",
        Content.styled("▕", "$mt-line"),
        Content.styled(numbers.bar(share, _BAR_CELLS), colour),
        Content.styled("▏", "$mt-line"),
    )
    percent = numbers.percent(share) if stats.context_used else "0%"
    short, long = _labelled("ctx", percent), _labelled("ctx", sizes)
    if share < _FILLING:
        return Segment(6, (short, long, Content.assemble(long, gauge)))
    word = Content.styled(" filling" if share < _FULL else " full", colour)
    soon = Content.styled(f": {_NEXT[overflow]}", colour) if share >= _FULL else Content()
    short = Content.assemble(Content.styled("ctx ", "$mt-muted"), Content.styled(percent, colour))
    warned = Content.assemble(short, word)
    forms = [short, warned, Content.assemble(warned, soon), Content.assemble(short, gauge, word, soon)]
    return Segment(6, tuple(form for at, form in enumerate(forms) if at != 2 or soon.plain))


def _pending(pending: Pending, stats: TurnStats) -> Segment:
    """What the prompt would add; red where there is no room for it."""
    if pending.tokens is None:
        words = Content.styled("more than the context holds", "$error")
        return Segment(7, (Content.styled("+∞ tok", "$error"), words))
    fits = not stats.context_size or pending.whole < stats.context_size
    style = "$foreground" if fits else "$error"
    short = Content.styled(f"+{numbers.count(pending.tokens)} tok", style)
    return Segment(7, (short, Content.styled(f"+{pending.tokens:,} tok", style)))


def progress_content(event: Loading | Prefilling, width: int) -> Content:
    """The one bar that stands in for the numbers while a model loads or a prompt is read."""
    words, share = _loading(event) if isinstance(event, Loading) else _reading(event)
    text = Content.styled(words, "$foreground")
    cells = min(width - text.cell_length - 4, 40)
    if cells < 8:
        return text.truncate(max(width, 0), ellipsis=True)
    return Content.assemble(
        text,
        "  ",
        Content.styled("▕", "$mt-line"),
        Content.styled(numbers.bar(share, cells), "$accent"),
        Content.styled("▏", "$mt-line"),
    )


def _loading(event: Loading) -> tuple[str, float]:
    what = "" if event.what in ("", "model") else f"{event.what} "
    words = f"loading {what}{min(int(event.fraction * 100), 100)} %"
    if event.total_bytes:
        words += f" · {numbers.gigabytes(event.fraction, event.total_bytes)}"
    return words, event.fraction


def _reading(event: Prefilling) -> tuple[str, float]:
    return reading_words(event), event.done / event.total if event.total else 0.0


def reading_words(event: Prefilling) -> str:
    """How far a prompt is read."""
    words = f"reading {event.done:,}/{event.total:,} tokens"
    if event.remembered:
        words += f" · {event.remembered:,} remembered"
    if event.eta_s is not None:
        words += f" · {max(1, round(event.eta_s))} s left"
    return words
