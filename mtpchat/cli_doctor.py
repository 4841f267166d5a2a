"""`mtpchat doctor [FILE...]`: a verdict at the top, what to mend, what could be better, and the facts below."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from mtpchat import paths
from mtpchat.backend.llama.build import ask_build
from mtpchat.cli_tables import cell, painting, pairs_table
from mtpchat.cli_watch import Watch
from mtpchat.commands.files import find_file
from mtpchat.config import Config
from mtpchat.config_file import LoadedConfig
from mtpchat.config_schema import shown
from mtpchat.doctor.finding import Finding, fact, fault, verdict
from mtpchat.doctor.machine import look_at_machine
from mtpchat.doctor.model_files import Subject, look_at_files
from mtpchat.doctor.places import look_at_places
from mtpchat.errors import CommandError, ModelNotFound
from mtpchat.headless_output import EXIT_FAILED, EXIT_OK, write_json
from mtpchat.one_line import short
from mtpchat.ui.safe_text import safe_line
from mtpchat.ui.themes import load_themes

_WIDEST_NAME = 22
_SIGNS = {"fault": ("✗", "red"), "advice": ("!", "yellow")}


def doctor(arguments: argparse.Namespace, loaded: LoadedConfig, stdout: TextIO, stderr: TextIO) -> int:
    """Look at everything and say what was found. Returns 0 when nothing has to be mended, else 1."""
    files = _files(arguments.operands, loaded)
    with Watch(stderr) as watch:
        watch.status("asking llama.cpp")
        build = ask_build()
        findings = [*look_at_machine(loaded.config, build), *look_at_places(loaded), *_themes(loaded)]
        subject = Subject(files, loaded.config, build, arguments.sha256)
        findings += look_at_files(
            subject, lambda path, done, size: watch.status(f"{path.name}: {done / max(size, 1):.0%}")
        )
        watch.status("")
    if not files and not loaded.config.model.path:
        findings.append(fact("model", "none is chosen: mtpchat models lists those there are, mtpchat pull fetches one"))
    if arguments.json:
        write_json(stdout, as_object(findings))
    else:
        _show(findings, stdout)
    return EXIT_FAILED if any(one.level == "fault" for one in findings) else EXIT_OK


def as_object(findings: Sequence[Finding]) -> dict[str, object]:
    """What --json prints."""
    ready = not any(one.level == "fault" for one in findings)
    return {"schema": 1, "ready": ready, "findings": [asdict(one) for one in findings]}


def _files(named: Sequence[str], loaded: LoadedConfig) -> tuple[Path, ...]:
    """The files named, or else those of the settings that are there."""
    config = loaded.config
    if named:
        return tuple(_named(name, config) for name in named)
    settings = [text for text in (config.model.path, config.speculative.drafter) if text]
    found = (paths.model_path(text, *config.paths.model_folders) for text in dict.fromkeys(settings))
    return tuple(path for path in found if os.path.exists(path))


def _named(name: str, config: Config) -> Path:
    """A file, or a model of `mtpchat models`; what is neither stays as it is, and is told as missing."""
    try:
        return find_file(name, config)
    except (ModelNotFound, CommandError):
        return paths.model_path(name, *config.paths.model_folders)


def _themes(loaded: LoadedConfig) -> list[Finding]:
    """Themes of the user that cannot be read, and whether the chosen one is there."""
    themes, chosen = load_themes(paths.themes_dir()), loaded.config.ui.theme
    found = [fault("themes", one.message, one.hint or "Mend the file, or take it away.") for one in themes.failures]
    if chosen not in themes.themes:
        known = ", ".join(sorted(themes.themes))
        found.append(
            fault("themes", f"There is no theme {shown(chosen)}.", f"Set theme under [ui] to one of: {known}.")
        )
    return found


def _show(findings: list[Finding], stdout: TextIO) -> None:
    with painting(stdout) as console:
        _show_verdict(findings, console)
        console.print()
        table = pairs_table()
        previous = ""
        for one in findings:
            if one.level == "fact":
                about = "" if one.about == previous else one.about
                table.add_row(cell(short(about, _WIDEST_NAME)), cell(one.text))
                previous = one.about
        console.print(table)


def _show_verdict(findings: list[Finding], console: Console) -> None:
    ready = not any(one.level == "fault" for one in findings)
    console.print(Text(verdict(findings), style="bold green" if ready else "bold red"))
    for level, (sign, style) in _SIGNS.items():
        found = [one for one in findings if one.level == level]
        if level == "advice" and found:
            console.print(Text("This could be better:", style="bold"))
        for one in found:
            table = Table.grid(padding=(0, 1, 0, 0))
            table.add_column(no_wrap=True)
            table.add_column(overflow="fold")
            named = one.text if one.text.startswith(one.about) else f"{one.about}: {one.text}"
            table.add_row(Text(sign, style=style), Text(safe_line(named)))
            if one.remedy:
                table.add_row("", Text(f"→ {safe_line(one.remedy)}"))
            console.print(table)
