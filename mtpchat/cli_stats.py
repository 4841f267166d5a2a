"""`mtpchat stats`: what all answers that were kept came to, as tables and bars, or as one JSON object.

Loops are no gain and count on neither side of a comparison; time that speculation cost is taken off what it saved.
"""

from __future__ import annotations

import argparse
import json
import os
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from datetime import date
from pathlib import Path
from typing import TextIO

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from mtpchat import paths
from mtpchat.cli_tables import cell, list_table, painting
from mtpchat.config import Config
from mtpchat.errors import StorageError
from mtpchat.headless_output import EXIT_OK
from mtpchat.store.contents import CONTENTS
from mtpchat.store.database import explain, open_database, open_for_reading
from mtpchat.store.figures import Figure, Sums, figures
from mtpchat.ui.format import UNKNOWN, bar, count, decimal, multiplier, percent, rate

_BAR = 24
_PERIODS = 18
_FEW_WEEKS = 16
_LEAST_S = 0.05
_UNKNOWN_MACHINE = "unknown (before it was kept)"


def stats(arguments: argparse.Namespace, config: Config, stdout: TextIO) -> int:
    """Show the figures. Raises StorageError where they cannot be read."""
    path = paths.chats_file(config.paths.chats)
    known = _read(path) if os.path.exists(path) else []
    model = next((flag.text for flag in reversed(arguments.flags) if flag.key == "model.path"), "")
    chosen = [one for one in known if _is_chosen(one, arguments.since or "", model)]
    if arguments.json:
        stdout.write(json.dumps(_object(chosen)) + "\n")
    elif not chosen:
        stdout.write(f"{_nothing(known, model)}\n")
    else:
        with painting(stdout) as console:
            _paint(console, chosen)
    return EXIT_OK


def _read(path: Path) -> list[Figure]:
    try:
        with closing(_open(path)) as connection:
            return figures(connection)
    except sqlite3.Error as error:
        raise explain(error, path, "read") from error


def _open(path: Path) -> sqlite3.Connection:
    try:
        return open_database(path)
    except (sqlite3.OperationalError, StorageError):  # it may not be written; reading says what else is wrong
        return open_for_reading(path)


def _is_chosen(one: Figure, since: str, model: str) -> bool:
    return one.day >= since and model.casefold().removesuffix(".gguf") in one.model.casefold()


def _nothing(known: Sequence[Figure], model: str) -> str:
    if not known:
        return "Nothing has been counted yet: figures come with the answers of kept chats."
    names = ", ".join(sorted({cell(one.model).plain for one in known if one.model}))
    return f"Nothing was counted{f' for a model named {cell(model).plain}' if model else ''} then. Models: {names}"


def _total(some: Iterable[Figure]) -> Sums:
    total = Sums()
    for one in some:
        total.add(one.sums)
    return total


def _grouped(some: Sequence[Figure], key: Callable[[Figure], str]) -> dict[str, Sums]:
    """Sums by what `key` says, the most tokens first."""
    groups: dict[str, Sums] = {}
    for one in some:
        groups.setdefault(key(one), Sums()).add(one.sums)
    return dict(sorted(groups.items(), key=lambda item: -item[1].output_tokens))


def _week(day: str) -> str:
    year, week, _ = date.fromisoformat(day).isocalendar()
    return f"{year} W{week:02}"


def _object(chosen: Sequence[Figure]) -> dict[str, object]:
    by: dict[str, Callable[[Figure], str]] = {
        "models": lambda one: one.model,
        "machines": lambda one: one.machine,
        "kinds": lambda one: one.kind,
        "contents": lambda one: one.content,
        "months": lambda one: one.day[:7],
        "weeks": lambda one: _week(one.day),
    }
    pairs = sorted({(one.model, one.machine) for one in chosen})
    speeds = [
        {"model": model, "machine": machine}
        | _sums_object(_total(one for one in chosen if (one.model, one.machine) == (model, machine)))
        for model, machine in pairs
    ]
    groups = {name: {key: _sums_object(sums) for key, sums in _grouped(chosen, of).items()} for name, of in by.items()}
    days = {"first_day": chosen[0].day, "last_day": chosen[-1].day} if chosen else {"first_day": None, "last_day": None}
    return {**days, "total": _sums_object(_total(chosen)), "speeds": speeds, **groups}


def _sums_object(sums: Sums) -> dict[str, object]:
    return {
        **msgspec.structs.asdict(sums),
        "tokens_per_second": sums.tokens_per_second,
        "acceptance": sums.acceptance,
        "mean_accepted_length": sums.mean_accepted_length,
        "saved_s": sums.saved_s,
        "speedup": sums.speedup,
    }


def _paint(console: Console, chosen: Sequence[Figure]) -> None:
    total = _total(chosen)
    first, last = chosen[0].day, chosen[-1].day
    console.print(Text(f"{first} to {last}" if first != last else first, style="dim"))
    for line in (*_headline(total), *_saving(total)):
        console.print(line)
    for table in (_speeds(chosen), _kinds(chosen), _contents(chosen), _periods(chosen)):
        console.print()
        console.print(table)


def _headline(total: Sums) -> list[Text]:
    return [
        Text.assemble(
            (f"{total.output_tokens:,} tokens", "bold"), f" in {_answers(total.turns)}, {rate(total.tokens_per_second)}"
        ),
        Text(f"{total.prompt_tokens:,} tokens of prompts, {total.cached_tokens:,} of them in memory already"),
    ]


def _saving(total: Sums) -> list[Text]:
    if not total.compared_turns:
        return [Text("Speculation cannot be held against plain decoding yet.", style="dim")]
    saved = ("made no difference", "bold")
    if abs(total.saved_s) >= _LEAST_S:
        word, style = ("saved", "bold green") if total.saved_s > 0 else ("cost", "bold red")
        saved = (f"{word} {_span(abs(total.saved_s))}", style)
    against = f" in {_answers(total.compared_turns)}, {multiplier(total.speedup)} against plain decoding"
    loops = percent(total.looped_tokens / total.output_tokens)
    left_out = f"; tokens in loops ({loops}) are not compared" if total.looped_tokens else ""
    balance = f"({_span(total.gained_s)} gained, {_span(total.lost_s)} lost{left_out})"
    return [Text.assemble("Speculation ", saved, against), Text(balance, style="dim")]


def _answers(number: int) -> str:
    return f"{number:,} answer{'' if number == 1 else 's'}"


def _span(seconds: float) -> str:
    """`12 s`, `4 min`, `3.2 h`, `2 d 4 h`."""
    if seconds < 90:
        return f"{seconds:.1f} s" if seconds < 9.95 else f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    hours = seconds / 3600
    return f"{hours:.1f} h" if hours < 48 else f"{hours // 24:.0f} d {hours % 24:.0f} h"


def _speeds(chosen: Sequence[Figure]) -> Table:
    pairs: dict[tuple[str, str], Sums] = {}
    for one in chosen:
        pairs.setdefault((one.model, one.machine), Sums()).add(one.sums)
    top = max((sums.tokens_per_second or 0.0 for sums in pairs.values()), default=0.0)
    table = list_table("model", "machine", "tokens", "t/s", "", right=("tokens", "t/s"), title="Speed")
    for (model, machine), sums in sorted(pairs.items(), key=lambda item: -item[1].output_tokens):
        speed = sums.tokens_per_second
        table.add_row(
            cell(model or "unnamed"),
            cell(machine or _UNKNOWN_MACHINE, "" if machine else "dim"),
            count(sums.output_tokens),
            decimal(speed),
            _bar((speed or 0.0) / top if top else 0.0, 12),
        )
    return table


def _kinds(chosen: Sequence[Figure]) -> Table:
    return _acceptance("kind", "Acceptance by kind", _grouped(chosen, lambda one: one.kind))


def _contents(chosen: Sequence[Figure]) -> Table:
    groups = _grouped([one for one in chosen if one.kind != "none"] or chosen, lambda one: one.content)
    ordered = {name: groups[name] for name in (*CONTENTS, *groups) if name in groups}
    return _acceptance("content", "Acceptance by content", ordered)


def _acceptance(head: str, title: str, groups: dict[str, Sums]) -> Table:
    right = ("tokens", "accepted", "length", "vs plain", "saved")
    table = list_table(head, "tokens", "accepted", "", "length", "vs plain", "saved", right=right, title=title)
    for name, sums in groups.items():
        table.add_row(
            cell("no speculation" if name == "none" else name),
            count(sums.output_tokens),
            percent(sums.acceptance),
            _bar(sums.acceptance or 0.0, 8),
            decimal(sums.mean_accepted_length if sums.drafted else None),
            _multiplier(sums),
            _saved(sums),
        )
    return table


def _periods(chosen: Sequence[Figure]) -> Table:
    """By week, or by month where there would be many weeks."""
    first, last = (date.fromisoformat(one.day) for one in (chosen[0], chosen[-1]))
    weekly = (last - first).days < 7 * _FEW_WEEKS
    of = (lambda one: _week(one.day)) if weekly else (lambda one: one.day[:7])
    groups = dict(sorted(_grouped(chosen, of).items())[-_PERIODS:])
    top = max(sums.output_tokens for sums in groups.values())
    head = "week" if weekly else "month"
    right = ("tokens", "t/s", "vs plain", "saved")
    table = list_table(head, "tokens", "", "t/s", "vs plain", "saved", right=right, title=f"By {head}")
    for name, sums in groups.items():
        tokens = _bar(sums.output_tokens / top, _BAR)
        table.add_row(
            cell(name),
            count(sums.output_tokens),
            tokens,
            decimal(sums.tokens_per_second),
            _multiplier(sums),
            _saved(sums),
        )
    return table


def _bar(share: float, width: int) -> Text:
    return Text(bar(share, width).rstrip(), style="cyan")


def _multiplier(sums: Sums) -> Text:
    speedup = sums.speedup
    style = "" if speedup is None else "green" if speedup > 1.05 else "red" if speedup < 1 else ""
    return Text(multiplier(speedup), style=style)


def _saved(sums: Sums) -> Text:
    if not sums.compared_turns:
        return Text(UNKNOWN, style="dim")
    cost = sums.saved_s <= -_LEAST_S
    return Text(f"{'-' if cost else ''}{_span(abs(sums.saved_s))}", style="red" if cost else "")
