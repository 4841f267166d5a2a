"""What the panel of speculation says, as text for a given width: pure, so that it can be tested and costs little."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby, zip_longest
from operator import itemgetter

from textual.content import Content

from mtpchat.events import ModelFacts, SpeculationControl
from mtpchat.report import RoundSplit, SourceReport, SpeculationReport
from mtpchat.speculate.decisions import in_words
from mtpchat.stats import TurnStats
from mtpchat.ui import format as numbers
from mtpchat.ui.provenance import KINDS
from mtpchat.ui.safe_text import safe_line
from mtpchat.ui.widgets.header import strategy_name
from mtpchat.ui.widgets.messages import GAIN, LOSS

_MOST_POSITIONS, _MOST_LENGTHS, _MOST_WIDTHS, _MOST_DECISIONS = 6, 6, 8, 20
_BAR = 24
_PLOT_ROWS = 4
_TWO_COLUMNS, _GAP = 62, 3
_LEVELS = " ▁▂▃▄▅▆▇█"


@dataclass(frozen=True, slots=True)
class SpecView:
    """What the panel knows.

    Attributes:
        report: None before the first one came.
        rates: tokens per second over time, oldest first.
    """

    facts: ModelFacts | None = None
    control: SpeculationControl = field(default_factory=SpeculationControl)
    stats: TurnStats = field(default_factory=TurnStats)
    report: SpeculationReport | None = None
    rates: tuple[float, ...] = ()


def panel_content(view: SpecView, width: int, height: int = 1000) -> Content:
    """Everything, wrapped into `width` cells; a dash for what was not measured.

    Empty lines between the parts are left out where all of it does not fit into `height` lines.
    """
    width = max(width, 16)
    report = view.report or SpeculationReport("cost")
    half = (width - _GAP) // 2 if width >= _TWO_COLUMNS else width
    left = [_accepted(view, report, half), _lengths(report, half), _round(report.split, half)]
    right = [_staircase(report, half), _speed(view, report, half), _decisions(report, half)]
    head = _head(view, report, width)

    def lines(airy: bool) -> list[Content]:
        if half == width:
            return _stacked([head, *left, *right], airy)
        columns = _side_by_side(_stacked(left, airy), _stacked(right, airy), half)
        return _stacked([head, columns], True)

    roomy = lines(True)
    return Content("\n").join(roomy if len(roomy) <= height else lines(False))


def _stacked(blocks: Sequence[list[Content]], airy: bool) -> list[Content]:
    """All lines, with an empty one between two blocks if `airy`."""
    lines: list[Content] = []
    for block in blocks:
        lines += [Content(), *block] if lines and airy else block
    return lines


def _side_by_side(left: Sequence[Content], right: Sequence[Content], width: int) -> list[Content]:
    """Two columns of lines; the left one is `width` cells wide."""
    rows = zip_longest(left, right, fillvalue=Content())
    return [Content.assemble(one.pad_right(width - one.cell_length + _GAP), other) for one, other in rows]


def _title(name: str, right: str = "", width: int = 0) -> Content:
    gap = width - len(name) - len(right)
    if gap < 1:
        right = ""
    return Content.assemble(
        Content.styled(name, "bold $foreground"), Content.styled(" " * gap + right if right else "", "$mt-muted")
    )


def _muted(text: str, width: int) -> list[Content]:
    return [Content.styled(line, "$mt-muted") for line in textwrap.wrap(text, width)]


def _unknown(title: str) -> list[Content]:
    return [_title(title), Content.styled(numbers.UNKNOWN, "$mt-muted")]


def _colour(kind: str) -> str:
    return f"$mt-{kind}" if kind in KINDS else "$accent"


def _head(view: SpecView, report: SpeculationReport, width: int) -> list[Content]:
    control, stats = view.control, view.stats
    kind = _in_use(view)
    how: str = control.mode
    if control.mode != "off" and (control.pinned or report.policy != "cost"):
        how = f"k {control.draft_max} fixed" if control.pinned else f"policy {report.policy}"
    name = Content.styled(strategy_name(kind), f"bold {_colour(kind)}")
    gap = " " * max(width - name.cell_length - len(how), 1)
    lines = [Content.assemble(name, gap, Content.styled(how, "$mt-muted"))]
    if view.facts is not None:
        lines += _muted(safe_line(view.facts.choice), width)[:3]
    reason = stats.fallback_reason or (view.facts.fallback_reason if view.facts is not None else "")
    if reason and (view.facts is None or reason not in view.facts.choice):
        lines += [Content.styled(line, "$mt-warning") for line in textwrap.wrap(safe_line(reason), width)[:3]]
    if report.parked and control.mode == "auto" and not control.pinned:
        words = "parked: guessing does not pay at present, decoding is plain"
        lines += [Content.styled(line, "$mt-warning") for line in textwrap.wrap(words, width)]
    return lines


def _in_use(view: SpecView) -> str:
    """The kind that guesses now."""
    return view.control.kind or (view.facts.kind if view.facts is not None else "none")


def _row(label: str, share: float, value: str, width: int, colour: str) -> Content:
    """`1 ██████▌   78%`: a label, a bar for a share of 0..1, a value."""
    cells = max(min(width - len(value) - 4, _BAR), 4)
    return Content.assemble(
        Content.styled(f"{label:>2} ", "$mt-muted"),
        Content.styled(numbers.bar(share, cells), colour),
        Content.styled(f" {value}", "$foreground"),
    )


def _accepted(view: SpecView, report: SpeculationReport, width: int) -> list[Content]:
    dictated = sum(one.matched for one in report.sources if one.kind == "grammar")
    lines = [_title("dictated by the grammar", f"{dictated:,}", width)] if dictated else []
    sources = [one for one in report.sources if one.tested and one.rates and one.kind != "grammar"]
    if not sources:
        return lines + _counted(view.stats, width)
    for source in sorted(sources, key=lambda one: -one.tested):
        alone = len(sources) == 1 and source.kind == _in_use(view)
        name = "guesses right at" if alone else f"{_source_name(source)} right at"
        lines.append(_title(name, f"of {source.tested:,}", width))
        for position, rate in enumerate((source.right_at or source.rates)[:_MOST_POSITIONS], 1):
            lines.append(_row(str(position), rate, f"{numbers.percent(rate):>4}", width, _colour(source.kind)))
    return lines


def _source_name(source: SourceReport) -> str:
    return "both agreeing" if source.kind == "agreed" else strategy_name(source.kind)


def _counted(stats: TurnStats, width: int) -> list[Content]:
    """Acceptance by the counters of the answer, where there is no report."""
    pairs = list(zip(stats.reached_at, stats.accepted_at, strict=False))[:_MOST_POSITIONS]
    if not pairs:
        return _unknown("guesses right at")
    rows = [
        _row(str(at), kept / tested, f"{numbers.percent(kept / tested):>4}", width, _colour(stats.kind))
        for at, (tested, kept) in enumerate(pairs, 1)
        if tested
    ]
    return [_title("guesses right at", f"of {sum(stats.reached_at):,}", width), *rows]


def _lengths(report: SpeculationReport, width: int) -> list[Content]:
    counts = list(report.accepted_lengths)
    total = sum(counts)
    if not total:
        return _unknown("accepted per draft")
    if len(counts) > _MOST_LENGTHS:
        counts = [*counts[: _MOST_LENGTHS - 1], sum(counts[_MOST_LENGTHS - 1 :])]
    most = max(counts)
    folded = len(report.accepted_lengths) > _MOST_LENGTHS
    rows = [
        _row(f"{at}+" if folded and at == len(counts) - 1 else str(at), count / most,
             f"{numbers.percent(count / total):>4}", width, "$accent")
        for at, count in enumerate(counts)
    ]  # fmt: skip
    return [_title("accepted per draft", f"{total:,} drafts", width), *rows]


def _round(split: RoundSplit, width: int) -> list[Content]:
    if not split.rounds:
        return _unknown("one round")
    parts = (
        ("draft", split.draft_s, "$mt-mtp"),
        ("verify", split.decode_s, "$accent"),
        ("sample", split.sample_s, "$mt-gain"),
        ("roll back", split.rollback_s, "$mt-warning"),
        ("catch up", split.catch_up_s, "$mt-draft"),
    )
    total = sum(seconds for _, seconds, _ in parts)
    cells = min(width, 2 * _BAR)
    bar, ends = [], 0.0
    for _, seconds, colour in parts:
        begin, ends = ends, ends + seconds
        bar.append(Content.styled("█" * (_cells(ends, total, cells) - _cells(begin, total, cells)), colour))
    legend: list[Content] = []
    line = Content()
    for name, seconds, colour in parts:
        value = f"{1000 * seconds / split.rounds:.1f}"
        one = Content.assemble(
            Content.styled("■ ", colour), Content.styled(f"{name} ", "$mt-muted"), Content.styled(value, "$foreground")
        )
        longer = Content.assemble(line, "  ", one) if line.plain else one
        if longer.cell_length > width:
            legend.append(line)
            longer = one
        line = longer
    title = _title("one round", f"{1000 * total / split.rounds:.1f} ms", width)
    return [title, Content.assemble(*bar), *legend, line]


def _cells(seconds: float, total: float, cells: int) -> int:
    return round(seconds / total * cells) if total > 0 else 0


def _staircase(report: SpeculationReport, width: int) -> list[Content]:
    steps = sorted(report.verify_s)[:_MOST_WIDTHS]
    if not steps:
        return _unknown("cost of width")
    dearest = max(seconds for _, seconds in steps)
    first = dict(steps).get(1)
    rows = []
    for count, seconds in steps:
        times = f" ×{seconds / first:.2f}" if first and count > 1 else ""
        value = f"{1000 * seconds:.1f} ms{times}"
        rows.append(_row(str(count), seconds / dearest if dearest else 0.0, value.ljust(14), width, "$accent"))
    return [_title("cost of width", "tokens at once", width), *rows]


def _speed(view: SpecView, report: SpeculationReport, width: int) -> list[Content]:
    plain = 1 / report.plain_s if report.plain_s else view.stats.plain_tokens_per_second
    age = report.plain_age_s if report.plain_age_s is not None else view.stats.plain_age_s
    lines = [_title("tokens/s", numbers.rate(view.stats.tokens_per_second), width)]
    lines += plot(view.rates, plain, width)
    if view.stats.looping:
        lines += _muted("the text repeats itself: fast, and no gain", width)
    if plain is None:
        return [*lines, Content.styled(f"plain {numbers.UNKNOWN}, not measured yet", "$mt-muted")]
    when = f" ({_ago(age)})" if age is not None else " (in an earlier run)"
    lines += _muted(f"┄ plain {plain:.1f}{when}", width)
    rate, same = view.stats.compared_rate, view.stats.plain_rate
    if rate and same:  # the plain rate above is that of now, and the machine may have changed since
        lines += _muted(f"answer {rate:.1f}, plain {same:.1f}: {numbers.multiplier(rate / same)}", width)
    if report.lost_s > 0:
        lines += _muted(f"lost against plain {report.lost_s:.2f} s of {report.allowed_s:.2f} s allowed", width)
    return lines


def _ago(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s ago"
    return f"{seconds / 60:.0f} min ago" if seconds < 5400 else f"{seconds / 3600:.0f} h ago"


def plot(rates: Sequence[float], plain: float | None, width: int, rows: int = _PLOT_ROWS) -> list[Content]:
    """Columns for rates over time, green above the plain rate and red below it; a dashed line marks that rate."""
    shown = list(rates[-width:])
    if not shown:
        return [Content.styled(numbers.UNKNOWN, "$mt-muted")]
    top = max([*shown, plain or 0.0]) or 1.0
    marked = min(int((plain or 0.0) / top * rows), rows - 1) if plain else -1
    colours = [_rate_colour(value, plain) for value in shown]
    lines: list[Content] = []
    for row in reversed(range(rows)):
        levels = [round(min(max(value / top * rows - row, 0.0), 1.0) * 8) for value in shown]
        dash = "┄" if row == marked else " "
        cells = [
            (_LEVELS[level] if level else dash, colour if level else "$mt-muted")
            for level, colour in zip(levels, colours, strict=True)
        ]
        cells += [(dash, "$mt-muted")] * (width - len(shown) if row == marked else 0)
        # Neighbours of one colour become one run: a style for each cell would cost more than all the rest.
        runs = [("".join(sign for sign, _ in run), colour) for colour, run in groupby(cells, itemgetter(1))]
        lines.append(Content.assemble(*(Content.styled(signs, colour) for signs, colour in runs)))
    return lines


def _rate_colour(value: float, plain: float | None) -> str:
    if plain is None or LOSS * plain <= value <= GAIN * plain:
        return "$accent"
    return "$mt-gain" if value > plain else "$mt-loss"


def _decisions(report: SpeculationReport, width: int) -> list[Content]:
    if not report.decisions:
        return _unknown("last decisions")
    lines = [_title("last decisions", "newest first", width)]
    told: list[tuple[str, int]] = []
    for decision in reversed(report.decisions[-_MOST_DECISIONS:]):
        words = safe_line(in_words(decision))
        if told and told[-1][0] == words:
            told[-1] = (words, told[-1][1] + 1)
        else:
            told.append((words, 1))
    for words, times in told:
        wrapped = textwrap.wrap(f"{words} ({times} times)" if times > 1 else words, max(width - 2, 10))
        for at, part in enumerate(wrapped):
            mark = Content.styled("· " if not at else "  ", "$mt-muted")
            lines.append(Content.assemble(mark, Content.styled(part, "$foreground" if not at else "$mt-muted")))
    return lines
