"""`mtpchat inspect FILE...`: what a model file is, told from its header alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from rich.console import Console
from rich.text import Text

from mtpchat.backend.llama.build import Build, ask_build
from mtpchat.cli_tables import cell, painting, pairs_table
from mtpchat.commands.files import find_file
from mtpchat.config import Config
from mtpchat.errors import ConfigError, MtpChatError
from mtpchat.headless_output import EXIT_OK, EXIT_USAGE, Notes, write_json
from mtpchat.inspection import Inspection, as_object, inspect_file
from mtpchat.ui.safe_text import safe_line


def inspect(files: Sequence[str], config: Config, stdout: TextIO, stderr: TextIO, *, as_json: bool) -> int:
    """Show each file. Returns 0, or 2 when one of them cannot be read; raises ConfigError when none is named."""
    if not files:
        raise ConfigError("inspect needs a file", hint="mtpchat inspect model.gguf")
    build = ask_build()
    found = [_look(name, config, build) for name in files]
    good = [one for one in found if isinstance(one, Inspection)]
    if as_json:
        objects = [as_object(one) if isinstance(one, Inspection) else _error_object(*one) for one in found]
        write_json(stdout, {"schema": 1, "files": objects})
        return EXIT_OK if len(good) == len(found) else EXIT_USAGE
    if good:
        show(good, stdout)
    notes = Notes(stderr)
    for one in found:
        if not isinstance(one, Inspection):
            notes.error(one[1].message, one[1].hint)
    return EXIT_OK if len(good) == len(found) else EXIT_USAGE


def _look(name: str, config: Config, build: Build) -> Inspection | tuple[Path, MtpChatError]:
    try:
        return inspect_file(find_file(name, config), build)
    except MtpChatError as error:
        return Path(name), error


def _error_object(path: Path, error: MtpChatError) -> dict[str, object]:
    return {"path": str(path), "error": {"message": error.message, "hint": error.hint}}


def show(found: Sequence[Inspection], stdout: TextIO) -> None:
    """Paint files, one below the other."""
    with painting(stdout) as console:
        for number, one in enumerate(found):
            if number:
                console.print()
            _show_one(one, console)


def _show_one(one: Inspection, console: Console) -> None:
    console.print(Text(safe_line(one.title), style="bold"))
    style = {True: "green", False: "yellow", None: ""}[one.verdict.works]
    console.print(Text(safe_line(one.verdict.sentence), style=style))
    if one.verdict.advice:
        console.print(Text(f"→ {safe_line(one.verdict.advice)}"))
    console.print()
    table = pairs_table()
    for name, value in one.rows:
        table.add_row(name, cell(value))
    console.print(table)
