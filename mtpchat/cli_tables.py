"""How the commands paint tables and sentences on stdout: one width, one style, and nothing that fills up lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from mtpchat.headless_output import write_out
from mtpchat.ui.safe_text import safe_line

READABLE, IN_PIPES = 100, 80
"""Cells that are still good to read in lines of prose; and the width where there is no terminal."""
WIDE_IN_PIPES = 160
"""For lists whose names programs may want whole."""


@contextmanager
def painting(stdout: TextIO, *, most: int = READABLE, in_pipes: int = IN_PIPES) -> Iterator[Console]:
    """A console whose output is written to `stdout` at the end, without the spaces that fill up its lines.

    Args:
        most: cells that it takes of a wide terminal; 0 for all.
        in_pipes: cells where stdout is no terminal.
    """
    console = Console(file=stdout, highlight=False, markup=False, emoji=False)
    if not stdout.isatty():
        console.width = in_pipes
    elif most:
        console.width = min(console.width, most)
    with console.capture() as captured:
        yield console
    write_out(stdout, "".join(f"{line.rstrip()}\n" for line in captured.get().splitlines()))


def pairs_table() -> Table:
    """Two columns, names and values, without heads."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, style="dim")
    table.add_column(overflow="fold")
    return table


def list_table(*titles: str, right: tuple[str, ...] = ("size",), title: str = "") -> Table:
    """A list with heads; the first column takes what room is left, and folds.

    Args:
        right: titles of columns of numbers.
        title: a line above it.
    """
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", title_style="bold", title_justify="left")
    table.title = cell(title) if title else None
    for number, head in enumerate(titles):
        table.add_column(head, justify="right" if head in right else "left", no_wrap=bool(number), overflow="fold")
    return table


def figures_table(head: Sequence[str], body: Iterable[Sequence[str]], title: str = "") -> Table:
    """Figures: names at the left, then columns of numbers.

    Args:
        head: of each column.
        title: a line above it.
    """
    titles = tuple(map(safe_line, head))
    table = list_table(*titles, right=titles[1:], title=title)
    for row in body:
        table.add_row(*map(cell, row))
    return table


def cell(text: str, style: str = "") -> Text:
    """Text of a file or a server as it may be painted: on one line, never markup."""
    return Text(safe_line(text), style=style)
