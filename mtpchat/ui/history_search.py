"""Rows for the search through earlier prompts: each shows the words that were found, wherever they stand in it."""

from __future__ import annotations

from collections.abc import Sequence

from mtpchat.commands.base import MenuRow
from mtpchat.one_line import common_start
from mtpchat.ui.chips import Written
from mtpchat.ui.safe_text import safe_line

_LONGEST = 400
_HEAD = 16
"""Characters of the beginning that stay where beginnings are left out."""
_BEFORE = 24
"""Characters shown before a match that lies further on than can be seen."""


def history_rows(found: Sequence[Written], wanted: str, room: int = 70) -> list[MenuRow]:
    """One row for each prompt, whose `insert` is its text; without any, a row that says so, whose `insert` is empty.

    Rows that begin alike for longer than can be seen leave out what they share.

    Args:
        room: characters of a row that can be seen.
    """
    if not found:
        return [MenuRow("", "no earlier prompt contains this" if wanted else "there is no earlier prompt")]
    words = tuple(wanted.split())
    labels = _told_apart([excerpt(entry, wanted) for entry in found], max(room, _HEAD + 2 * _BEFORE))
    return [MenuRow(insert=entry.text, label=label, found=words) for entry, label in zip(found, labels, strict=True)]


def _told_apart(labels: Sequence[str], room: int) -> list[str]:
    """The same lines; of several that look the same in so much room, the beginning and then where they differ."""
    alike: dict[str, list[str]] = {}
    for label in labels:
        alike.setdefault(label[:room], []).append(label)
    shown = []
    for label in labels:
        same = alike[label[:room]]
        shared = len(common_start(same))
        cut = label.rfind(" ", 0, shared) + 1  # from the beginning of a word
        head = label[:_HEAD].rpartition(" ")[0] or label[:_HEAD]
        shown.append(f"{head} … {label[cut:]}" if len(set(same)) > 1 and cut > _HEAD else label)
    return shown


def excerpt(entry: Written, wanted: str) -> str:
    """One line of a prompt: its beginning with pastes folded, or the surroundings of a match further on."""
    outline = safe_line(entry.outline[:_LONGEST])
    text, phrase = entry.text.casefold(), wanted.casefold().strip()
    sought = phrase if phrase in text else phrase.split()[0]
    if not sought or 0 <= outline.casefold().find(sought) <= _BEFORE:
        return outline
    place = text.find(sought)
    if place <= _BEFORE:
        return outline
    start = place - _BEFORE
    start += entry.text[start:place].find(" ") + 1  # from the beginning of a word
    return safe_line("… " + entry.text[start : start + _LONGEST])
