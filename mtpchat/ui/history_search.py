"""Rows for the search through earlier prompts: each shows the words that were found, wherever they stand in it."""

from __future__ import annotations

from collections.abc import Sequence

from mtpchat.commands.base import MenuRow
from mtpchat.ui.chips import Written
from mtpchat.ui.safe_text import safe_line

_LONGEST = 400
_BEFORE = 24
"""Characters shown before a match that lies further on than can be seen."""


def history_rows(found: Sequence[Written], wanted: str) -> list[MenuRow]:
    """One row for each prompt, whose `insert` is its text; without any, a row that says so, whose `insert` is empty."""
    if not found:
        return [MenuRow("", "no earlier prompt contains this" if wanted else "there is no earlier prompt")]
    words = tuple(wanted.split())
    return [MenuRow(insert=entry.text, label=excerpt(entry, wanted), found=words) for entry in found]


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
