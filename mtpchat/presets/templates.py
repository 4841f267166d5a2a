"""Prompt templates: a text with `{fields}`, one of which may be `{input}`."""

from __future__ import annotations

import re
from pathlib import Path

from mtpchat.presets.files import Preset, Shelf, read_presets

FOLDER = "prompts"
_FIELD = re.compile(r"\{([a-z][a-z0-9_]{0,30})\}")


class Template(Preset, frozen=True, kw_only=True):
    """One template.

    Attributes:
        text: what is put into the prompt.
        system: a system message that goes with it, or "".
    """

    text: str
    system: str = ""

    def complaint(self) -> tuple[str, str] | None:
        """An empty text is no template."""
        return None if self.text.strip() else ("text", "text is empty")

    @property
    def fields(self) -> tuple[str, ...]:
        """Names of the fields in their order, each once."""
        return tuple(dict.fromkeys(_FIELD.findall(self.text)))


def read_templates(config_dir: Path) -> Shelf[Template]:
    """Those that ship and those in `prompts` beside the settings file."""
    return read_presets(Template, FOLDER, config_dir)
