"""What stands in the status line at a given width: pure, so that its laws can be tested.

Segments have a priority and up to three lengths. They get room in the order of their priority, in the shortest form;
what room is left then lengthens them in the same order. So the rate is the last thing that goes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from textual.content import Content

from mtpchat.events import Loading, Prefilling, SpeculationControl
from mtpchat.stats import TurnStats
from mtpchat.ui import format as numbers
from mtpchat.ui.widgets.messages import speedup_style

_GAP = "  "
_BAR_CELLS = 10
_FIRST_STEPS = 8
"""Steps of an answer that may be plain for another reason: costs are measured, the drafter reads."""


@dataclass(frozen=True, slots=True)
class Segment:
    """One number. `forms` run from the shortest to the longest; `place` is its position from the left."""

    place: int
    forms: tuple[Content, ...]


def status_content(
    stats: TurnStats, control: SpeculationControl, rates: Sequence[float], width: int, *, motion: bool = True
) -> Content:
    """The line of numbers, at most `width` cells long.

    Args:
        stats: counters of the turn.
        control: what the user wants of speculation.
        rates: latest rates for the sparkline, oldest first.
        motion: False leaves the sparkline away.
    """
    ordered = [
        _rate(stats),
        _multiplier(stats),
        _acceptance(stats),
        _depth(stats, control),
        _context(stats),
        _length(stats),
    ]
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


def _context(stats: TurnStats) -> Segment:
    if not stats.context_size:
        return Segment(6, (_labelled("ctx", numbers.UNKNOWN),))
    share = stats.context_used / stats.context_size
    sizes = f"{numbers.count(stats.context_used)}/{numbers.window(stats.context_size)}"
    colour = "$mt-warning" if share > 0.85 else "$mt-muted"
    gauge = Content.assemble(
        " ",
        Content.styled("▕", "$mt-line"),
        Content.styled(numbers.bar(share, _BAR_CELLS), colour),
        Content.styled("▏", "$mt-line"),
    )
    short = _labelled("ctx", numbers.percent(share) if stats.context_used else "0%")
    return Segment(6, (short, _labelled("ctx", sizes), Content.assemble(_labelled("ctx", sizes), gauge)))


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
    words = f"reading {event.done:,}/{event.total:,} tokens"
    if event.remembered:
        words += f" · {event.remembered:,} remembered"
    if event.eta_s is not None:
        words += f" · {max(1, round(event.eta_s))} s left"
    return words, event.done / event.total if event.total else 0.0
