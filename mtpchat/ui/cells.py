"""Lines that have to fit: parts of an exact width, and as many parts as there is room for."""

from __future__ import annotations

from collections.abc import Iterable

from textual.content import Content

from mtpchat.ui.glyphs import key_in_words


def padded(content: Content, cells: int) -> Content:
    """`content` with spaces behind it, to `cells` cells at least."""
    return content.pad_right(max(cells - content.cell_length, 0))


def fitted(content: Content, cells: int) -> Content:
    """`content` in exactly `cells` cells: cut with an ellipsis, or with spaces behind it."""
    return padded(content.truncate(max(cells, 0), ellipsis=True), cells)


def key_words(keys: Iterable[tuple[str, str]], width: int | None = None, *, gap: str = "  ") -> Content:
    """Keys and what they do, as many as fit into `width` cells (None: all); the first matter most."""
    line = Content()
    for key, word in keys:
        shown = Content.styled(key_in_words(key), "not bold $foreground")
        one = Content.assemble(shown, Content.styled(f" {word}", "not bold $mt-muted"))
        longer = Content.assemble(line, gap, one) if line.plain else one
        if width is not None and longer.cell_length > width:
            break
        line = longer
    return line
