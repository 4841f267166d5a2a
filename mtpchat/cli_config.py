"""`mtpchat config init | path | set | show`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TextIO

from mtpchat.config_file import LoadedConfig
from mtpchat.config_schema import printable, shown
from mtpchat.errors import ConfigError
from mtpchat.paths import backup_of, write_atomically


def init(path: Path, stdout: TextIO, *, force: bool) -> None:
    """Write the commented default file. Raises ConfigError when there is one already, StorageError when it cannot."""
    from mtpchat.config_text import render_default

    there = os.path.lexists(path)
    if there and not force:
        raise ConfigError(
            f"{path} exists already",
            path=path,
            hint="Edit it, or replace it with: mtpchat config init --force   (the one before is kept as .bak)",
        )
    write_atomically(path, render_default())
    kept = f"  (the one before: {backup_of(path)})" if there else ""
    stdout.write(f"{printable(str(path))}{printable(kept)}\n")


def change(path: Path, key: str, text: str, stdout: TextIO) -> None:
    """Change one setting in the file. Raises as config_edit.save_value does, and for a theme or key that is none."""
    from mtpchat.config_edit import save_value, without_profile

    setting = without_profile(key)
    if setting == "ui.theme":
        _require_theme(text)
    if setting.startswith("keys."):
        _require_key(setting.removeprefix("keys."), text)
    value = save_value(path, key, text)
    stdout.write(f"{printable(key)} is {printable(shown(value))} in {printable(str(path))}\n")


def _require_theme(name: str) -> None:
    from mtpchat import paths
    from mtpchat.ui.themes import load_themes

    known = load_themes(paths.themes_dir()).themes
    if name not in known:
        raise ConfigError(f"There is no theme {shown(name)}", hint=f"There are {', '.join(sorted(known))}.")


def _require_key(key_id: str, keys: str) -> None:
    from mtpchat.ui.key_check import complaints

    wrong = complaints({key_id: keys})
    if wrong:
        raise ConfigError(wrong[0], hint="F1 in the app shows the keys.")


def show(loaded: LoadedConfig, stdout: TextIO) -> None:
    """Print the settings in force as TOML that could be a settings file. Raises the file's error after printing."""
    from mtpchat.config_text import render

    missing = "" if os.path.exists(loaded.path) else "not there, defaults hold"
    state = "broken, defaults hold" if loaded.banner else missing
    profiles = ", ".join(printable(name) for name in loaded.profiles) or "none"
    stdout.write(f"# file: {printable(str(loaded.path))}{f'  ({state})' if state else ''}\n")
    stdout.write(f"# profiles: {profiles}\n\n")
    stdout.write(render(loaded.config))
    if loaded.banner:
        raise loaded.banner
