"""`--persona NAME`: found before the engine starts, so that a typing mistake costs no load."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mtpchat.config_file import Flag
from mtpchat.errors import ConfigError

if TYPE_CHECKING:
    from mtpchat.engine.session import Session


def chosen_persona(name: str, config_dir: Path, flags: Sequence[Flag]) -> Callable[[Session], None]:
    """Lets the persona hold in a session; sampling that other flags name stays theirs. "" does nothing.

    Raises:
        PresetError: there is none of that name, or its file is broken.
        ConfigError: another flag sets the system message, too.
    """
    if not name:
        return lambda _session: None
    from mtpchat.presets.personas import put_on, read_personas

    if any(flag.key == "ui.system" for flag in flags):
        raise ConfigError("--persona and -sys name two system messages", hint="Leave one of them away.")
    persona = read_personas(config_dir).get(name, "persona")
    keep = [flag.key.removeprefix("sampling.") for flag in flags if flag.key.startswith("sampling.")]
    return lambda session: put_on(session, name.casefold(), persona, keep=keep, asked=True)
