"""What the screen of chats shows, as pure functions from what is known to styled text."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from textual.content import Content

from mtpchat.chats import ChatLine, Glimpse, Marks, Passage
from mtpchat.gguf.file_names import quantisation_in, without_quantisation
from mtpchat.one_line import short
from mtpchat.ui.cells import fitted, key_words, padded
from mtpchat.ui.light import LightLines, light_content
from mtpchat.ui.safe_text import safe_line, safe_text

_MINUTE_S, _HOUR_S, _DAY_S = 60.0, 3600.0, 86_400.0
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_IDLE_WORDS = frozenset({"instruct", "it", "chat", "gguf", "base"})
_MODEL_CELLS, _COUNT_CELLS, _AGE_CELLS = 16, 7, 13
_SHORT = 160
_QUOTED = 60
_WHO = {"user": ("You", "bold $mt-user"), "assistant": ("Answer", "bold $mt-muted"), "system": ("System", "bold")}
_FOUND = "bold underline $accent"

_SIGNS = re.compile(r"(?:^|(?<=\s))(?:#{1,6} (?=\S)|(?:`{3,}|~{3,})\w*\n?)")
"""Signs of headings and of code."""
_FLAT = dict.fromkeys((*map(ord, "\n\r\t"), 0x2028, 0x2029), " ")

Moment = Literal["searching", "listing", "trash", "naming", "exporting", "importing", "reading"]
_KEYS: dict[Moment, tuple[tuple[str, str], ...]] = {
    "searching": (
        ("↑↓", "choose"),
        ("⏎", "open"),
        ("⇥", "more keys"),
        ("F2", "rename"),
        ("del", "delete"),
        ("esc", "leave"),
    ),
    "listing": (
        ("⏎", "open"),
        ("r", "rename"),
        ("p", "pin"),
        ("d", "delete"),
        ("u", "undo"),
        ("e", "export"),
        ("n", "new"),
        ("t", "trash"),
        ("/", "find"),
        ("esc", "leave"),
        ("i", "import"),
    ),
    "trash": (("u", "bring back"), ("t", "the other chats"), ("e", "export"), ("/", "find"), ("esc", "leave")),
    "naming": (("⏎", "keep"), ("esc", "as it was")),
    "exporting": (("⏎", "write"), ("esc", "do not")),
    "importing": (("⏎", "read the file"), ("esc", "do not")),
    "reading": (("esc", "stop; what was read stays"),),
}


@dataclass(frozen=True, slots=True)
class Row:
    """One chat of the list, and where searched words stand in its title."""

    line: ChatLine
    marks: Marks = ()


def age(then: float, now: float) -> str:
    """`just now`, `5 min ago`, `3 h ago`, `yesterday`, `4 days ago`, `3 weeks ago`, `Mar 2026`."""
    passed = max(now - then, 0.0)
    if passed < _MINUTE_S:
        return "just now"
    if passed < _HOUR_S:
        return f"{int(passed // _MINUTE_S)} min ago"
    days = _day(now) - _day(then)
    if days <= 0:
        return f"{int(passed // _HOUR_S)} h ago"
    if days == 1:
        return "yesterday"
    if days < 14:
        return f"{days} days ago"
    if days < 60:
        return f"{days // 7} weeks ago"
    date = time.localtime(then)
    return f"{_MONTHS[date.tm_mon - 1]} {date.tm_year}"


def _day(seconds: float) -> int:
    """Number of the day in local time."""
    date = time.localtime(seconds)
    return int((seconds + date.tm_gmtoff) // _DAY_S)


def short_model(name: str) -> str:
    """A model's name without what every second one has in it."""
    name = safe_line(name)
    parts = (word.strip("._") for word in without_quantisation(name).replace("-", " ").split())
    words = [word for word in parts if word and word.casefold() not in _IDLE_WORDS]
    return " ".join(filter(None, (*words, quantisation_in(name))))


def marked_text(
    text: str, marks: Marks, style: str = "$foreground", between: Callable[[str], Content] = Content
) -> Content:
    """A text in which the marked parts stand out; made harmless part by part, so that the marks stay in place.

    Args:
        between: how what is not marked is shown.
    """
    parts: list[Content] = []
    at = 0
    for begin, end in marks:
        parts += [
            between(safe_text(text[at:begin])).stylize_before(style),
            Content.styled(safe_text(text[begin:end]), _FOUND),
        ]
        at = end
    return Content.assemble(*parts, between(safe_text(text[at:])).stylize_before(style))


def row(one: Row, width: int, *, marked: bool, is_open: bool, now: float) -> Content:
    """One chat in one line of exactly `width` cells; on narrow screens the columns at the right give way."""
    line = one.line
    columns = [
        (age(line.updated, now), _AGE_CELLS, 30),
        (f"{line.messages:,}".rjust(_COUNT_CELLS - 2), _COUNT_CELLS, 44),
        (short_model(line.model), _MODEL_CELLS, 84),
    ]
    shown = [(text, cells) for text, cells, from_width in columns if width >= from_width][::-1]
    room = max(width - 4 - sum(cells for _, cells in shown), 4)
    style = "bold $foreground" if marked or is_open else "$foreground"
    content = Content.assemble(
        Content.styled("› " if marked else "● " if is_open else "  ", "$accent"),
        Content.styled("▴ " if line.pinned else "  ", "$accent"),
        padded(title_of(one, style).truncate(room - 1, ellipsis=True), room),
        *(_cell(text, cells, marked=marked) for text, cells in shown),
    )
    content = padded(content.truncate(width), width)
    return content.stylize("on $mt-raised") if marked else content


def title_of(one: Row, style: str) -> Content:
    """The title on one line."""
    flat = one.line.title.translate(_FLAT)  # as long as before: the marks stay in place
    return marked_text(flat, one.marks, style) if flat.strip() else Content.styled("(no title)", "$mt-muted")


def _cell(text: str, cells: int, *, marked: bool) -> Content:
    return Content.assemble("  ", fitted(Content.styled(text, "$foreground" if marked else "$mt-muted"), cells - 2))


def details(one: Row, glimpse: Glimpse | None, now: float, *, compact: bool = False) -> Content:
    """A chat beside the list: what it is, then its last exchange, or where the searched words stand.

    Args:
        compact: for the few lines below the list, in which the title stands already.
    """
    line = one.line
    facts = [
        short_model(line.model),
        f"{line.messages:,} message{'' if line.messages == 1 else 's'}",
        age(line.updated, now),
        "pinned" if line.pinned else "",
        "deleted" if line.deleted else "",
    ]
    parts = [] if compact else [title_of(one, "bold $foreground")]
    parts.append(_muted(" · ".join(fact for fact in facts if fact)))
    for passage in glimpse.passages if glimpse is not None else ():
        parts += [_short_passage(passage)] if compact else [Content(""), *_passage(passage)]
    if glimpse is not None and glimpse.more:
        more = _muted(f"and {glimpse.more:,} more message{'' if glimpse.more == 1 else 's'}")
        parts += [more] if compact else [Content(""), more]
    return Content("\n").join(parts)


def _passage(passage: Passage) -> tuple[Content, Content]:
    if passage.role == "assistant" and not passage.marks:
        return _who(passage), Content("\n").join(_rendered(passage.text))
    return _who(passage), marked_text(passage.text, passage.marks, between=_between(passage))


def _who(passage: Passage) -> Content:
    """Who said it, or the file that it stands in."""
    name = Content.styled(*_WHO[passage.role])
    return Content.assemble(name, " ", _muted(f"· {passage.file}")) if passage.file else name


def _between(passage: Passage) -> Callable[[str], Content]:
    return _prose if passage.role == "assistant" and not passage.file else Content


def _prose(part: str) -> Content:
    """A part of an answer without its plainest marks."""
    return light_content(_SIGNS.sub("", part))


def _rendered(markdown: str) -> list[Content]:
    """Lines of an answer in their light form."""
    lines = (line for line in safe_text(markdown).split("\n") if not line.lstrip().startswith(("```", "~~~")))
    return [line.text for line in LightLines().settle("\n".join(lines))]


def _short_passage(passage: Passage) -> Content:
    """One paragraph; of what the user said only the beginning, so that there is room for the answer."""
    text, marks = passage.text, passage.marks
    if not marks and passage.role == "user" and len(text) > _SHORT:
        text = f"{text[:_SHORT]}…"
    if passage.role == "assistant" and not marks:
        said = Content(" ").join([line for line in _rendered(text) if line.plain.strip()])
    else:
        flat = re.sub(r"\s", " ", text)  # letter for letter: the marks stay in place
        said = marked_text(flat, marks, between=_between(passage))
    return Content.assemble(_who(passage), "  ", said)


def heading(shown: int, width: int, *, trash: bool, searched: bool, more: bool) -> Content:
    """The first line: what is listed, and how many there are."""
    numbers = f"{shown:,}{'+' if more else ''}{' found' if searched else ''}"
    title = "Trash · deleted chats" if trash else "Chats"
    line = Content.assemble(Content.styled(title, "bold $foreground"), Content.styled(f"  {numbers}", "$mt-muted"))
    return line.truncate(max(width, 1), ellipsis=True)


def empty(text: str, *, trash: bool) -> Content:
    """What stands in the place of an empty list."""
    if text.strip():
        words = short(safe_text(text), _QUOTED)
        return _muted(f"Nothing was found for “{words}”: all its words must stand in a title or in one message.")
    if trash:
        return _muted("Nothing is deleted.")
    return _muted("No chat has been saved yet. What you say is kept from the first message on.")


def trouble(message: str, hint: str) -> Content:
    """What stands there when chats cannot be read."""
    lines = [Content.styled(safe_line(message), "$error"), *([_muted(hint)] if hint else [])]
    return Content("\n").join(lines)


def key_line(moment: Moment, width: int) -> Content:
    """As many of the keys of a moment as fit; the first matter most."""
    return key_words(_KEYS[moment], width)


def _muted(text: str) -> Content:
    return Content.styled(safe_line(text), "$mt-muted")
