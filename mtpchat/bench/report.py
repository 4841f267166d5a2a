"""The results of a bench as JSON, CSV and Markdown."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from mtpchat.bench.bounds import Bound, Oracle, Share
from mtpchat.bench.duels import ADAPTIVE, Bout, Duel
from mtpchat.bench.measure import Trial
from mtpchat.bench.results import Ratio, Standing, usable
from mtpchat.bench.variants import OFF

UNKNOWN = "–"
_ALIKE = 0.03
"""Ratios so near to 1 are noise."""
SCHEMA = 1

Table = tuple[list[str], list[list[str]]]
"""Header and cells as text."""


@dataclass(frozen=True, slots=True)
class Report:
    """All of one bench.

    Attributes:
        setting: what was measured: model, drafter, machine, settings; plain values.
        baseline: label of plain decoding.
        peers: labels of the other programs.
        interrupted: stopped before its end; the figures rest on what was there.
        duels: the adaptive depth against the best static setting.
        oracle: the adaptive depth against one who knows, where that was asked for.
    """

    setting: dict[str, object]
    standings: tuple[Standing, ...]
    trials: tuple[Trial, ...]
    baseline: str
    peers: tuple[str, ...] = ()
    interrupted: bool = False
    duels: tuple[Duel, ...] = ()
    oracle: Oracle | None = None

    def tables(self, temperature: float) -> list[Table]:
        """All tables of one temperature that have a row."""
        rows = [one for one in self.standings if one.temperature == temperature]
        groups = list(rows[0].by_group) if rows else []
        made = [summary_table(rows, self.peers), class_table(rows)]
        made.append(duel_table([one for one in self.duels if one.temperature == temperature], groups))
        bounds = self.oracle.bounds if self.oracle is not None else ()
        made.append(oracle_table([one for one in bounds if one.temperature == temperature], groups))
        return [table for table in made if table[1]]


def as_json(report: Report) -> dict[str, object]:
    """One object: `setting`, `standings`, `duels`, `oracle` and `trials`.

    Seconds, tokens per second, shares of 0..1, null for unknown.
    """
    return {
        "schema": SCHEMA,
        "setting": report.setting,
        "baseline": report.baseline,
        "peers": report.peers,
        "interrupted": report.interrupted,
        "standings": [asdict(one) for one in report.standings],
        "duels": [asdict(one) for one in report.duels],
        "oracle": asdict(report.oracle) if report.oracle is not None else None,
        "trials": [_flat(one) for one in report.trials],
    }


def as_csv(report: Report) -> str:
    """One line per trial, with a header."""
    out = io.StringIO()
    rows = [_flat(one) for one in report.trials]
    writer = csv.DictWriter(out, fieldnames=list(rows[0]) if rows else ["contender"], lineterminator="\n")
    writer.writeheader()
    for row in rows:
        cells = {key: " ".join(map(str, value)) if isinstance(value, tuple) else value for key, value in row.items()}
        writer.writerow(cells)
    return out.getvalue()


def _flat(trial: Trial) -> dict[str, object]:
    values = asdict(trial)
    measured: dict[str, object] = values.pop("measured")
    return {**values, "tokens_per_second": trial.measured.rate, **measured, "counted": usable(trial)}


def as_markdown(report: Report) -> str:
    """A page with one table per temperature and what it rests on."""
    parts = ["# mtpchat bench", "\n".join(f"- {key}: {_cell(str(value))}" for key, value in report.setting.items())]
    for temperature in dict.fromkeys(one.temperature for one in report.standings):
        parts.append(f"## Temperature {temperature:g}")
        for header, body in report.tables(temperature):
            lines = [_line(header), _line(["---"] + ["---:"] * (len(header) - 1)), *(_line(row) for row in body)]
            parts.append("\n".join(lines))
    parts.append("\n".join(f"**{_cell(sentence)}**" for sentence in conclusion(report)))
    parts.append("\n".join(notes(report)))
    return "\n\n".join(part for part in parts if part) + "\n"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(_cell(cell) for cell in cells) + " |"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def summary_table(rows: Sequence[Standing], peers: Sequence[str] = ()) -> Table:
    """Header and cells of one temperature, all classes together, as text."""
    against = (f"× {peer}" for peer in peers)
    header = ["", "t/s", "× plain", "±", *against, "first token", "right guesses", "tokens/step"]
    return header, [_row(one, peers) for one in rows]


def _row(one: Standing, peers: Sequence[str]) -> list[str]:
    return [
        one.contender,
        number(one.rate, 1),
        ratio(one.against),
        number(one.against.spread, 2),
        *(ratio(one.against_peers.get(peer)) for peer in peers),
        UNKNOWN if one.ttft_s is None else f"{one.ttft_s * 1000:.0f} ms",
        " ".join(f"{share:.0%}" for share in one.accepted_at) or percent(one.acceptance),
        number(one.mean_accepted_length, 2),
    ]


def class_table(rows: Sequence[Standing]) -> Table:
    """Header and cells of one temperature: the ratio to plain decoding per class, as text."""
    groups = list(rows[0].by_group) if rows else []
    return ["× plain", *groups], [[one.contender, *(ratio(one.by_group[group]) for group in groups)] for one in rows]


def duel_table(duels: Sequence[Duel], groups: Sequence[str]) -> Table:
    """Header and cells of one temperature: the adaptive depth against the best static setting, which is named."""

    def cell(bout: Bout | None) -> str:
        return f"{ratio(bout.ratio)} ({bout.rival})" if bout is not None and bout.rival else UNKNOWN

    body = [[one.contender, cell(one.overall), *(cell(one.by_group.get(group)) for group in groups)] for one in duels]
    return ["auto / best static", "all", *groups], body


def oracle_table(bounds: Sequence[Bound], groups: Sequence[str]) -> Table:
    """Header and cells of one temperature: the share of the bound that the adaptive depth reaches, and the bound."""

    def cell(one: Share | None) -> str:
        return UNKNOWN if one is None or one.share is None else f"{one.share:.2f} of ×{number(one.bound, 2)}"

    body = [[one.contender, cell(one.overall), *(cell(one.by_group.get(group)) for group in groups)] for one in bounds]
    return ["auto / oracle", "all", *groups], body


def conclusion(report: Report) -> list[str]:
    """What the tables come down to: a sentence for each adaptive contender at each temperature."""
    temperatures = dict.fromkeys(one.temperature for one in report.standings)
    said = []
    for one in report.standings:
        if one.contender.partition(" ")[2] != ADAPTIVE:
            continue
        where = f" at temperature {one.temperature:g}" if len(temperatures) > 1 else ""
        duel = next((two for two in report.duels if _same(one, two)), None)
        said.append(f"{one.contender}{where}: {_against_plain(one)}{_against_best(duel)}.")
    return said


def _same(one: Standing, duel: Duel) -> bool:
    return (one.contender, one.temperature) == (duel.contender, duel.temperature)


def _against_plain(one: Standing) -> str:
    value = one.against.value
    if value is None:
        return "no answer could be compared, see the notes below"
    speed = "as fast as plain decoding" if abs(value - 1) <= _ALIKE else f"{value:.2f} times as fast as plain decoding"
    known = {group: found.value for group, found in one.by_group.items() if found.value is not None}
    if len(known) < 2:
        return speed
    low, high = min(known, key=lambda group: known[group]), max(known, key=lambda group: known[group])
    return f"{speed}, from {known[low]:.2f} ({low}) to {known[high]:.2f} ({high})"


def _against_best(duel: Duel | None) -> str:
    if duel is None or duel.overall.ratio.value is None or not duel.overall.rival:
        return ""
    if duel.overall.rival == OFF:
        return "; no fixed depth was faster than that" if (duel.overall.ratio.value or 0) >= 1 else ""
    return (
        f"; {duel.overall.ratio.value:.2f} times as fast as the best that could have been fixed ({duel.overall.rival})"
    )


def ratio(value: Ratio | None) -> str:
    """`1.23`, or a dash."""
    return number(value.value if value else None, 2)


def percent(value: float | None) -> str:
    """`71%`, or a dash."""
    return UNKNOWN if value is None else f"{value:.0%}"


def number(value: float | None, decimals: int) -> str:
    """A number with so many decimals, or a dash."""
    return UNKNOWN if value is None else f"{value:.{decimals}f}"


def notes(report: Report) -> list[str]:
    """What one must know to read the tables, as sentences."""
    answers = len(report.trials)
    loops = sum(one.measured.loops for one in report.trials)
    short = sum(one.short for one in report.standings)
    differing = {one.contender: one.differing for one in report.standings if one.differing}
    said = [
        "off is plain decoding; a number behind a kind is a fixed depth; auto drafts while it pays. Ratios are against"
        " the other side on the same prompt in the same round; medians of rounds, geometric means of prompts and"
        " classes. ± is the median absolute deviation of the single ratios. Right guesses: per position of a draft, of"
        " those that were tested there.",
    ]
    if report.duels:
        said.append(
            "Best static: plain decoding or the fixed depth, of the same kind or of n-gram, that did best here, for"
            " each class; choosing it afterwards favours it a little."
        )
    if report.oracle is not None:
        widths = " ".join(f"{seconds * 1000:.1f}" for _, seconds in report.oracle.costs.verify.verify_s)
        known = ", ".join(str(width) for width, _ in report.oracle.costs.verify.verify_s)
        said.append(
            "Oracle: knows how many guesses will be right at every place and makes just those, at the costs measured in"
            f" this run ({widths} ms for widths {known})."
        )
    if report.interrupted:
        said.append("Stopped before the end: these figures rest on what had been measured.")
    if loops:
        said.append(f"{loops} of {answers} answers repeat themselves; their prompts are left out on both sides.")
    if short:
        said.append(f"{short} of {answers} answers are too short to time; their prompts are left out on both sides.")
    for label, count in differing.items():
        said.append(
            f"{label}: {count} answers differ from plain decoding; `mtpchat verify` says whether these are near ties."
        )
    return said
