"""Changing one setting in the user's file, whose comments and order are the user's and stay."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

from mtpchat.config_file import Values, parse
from mtpchat.config_schema import Origin, parse_value
from mtpchat.errors import ConfigError
from mtpchat.paths import write_atomically
from mtpchat.text_file import UnreadableText, read_text

_IN_PROFILE = re.compile(r"profile\.([\w-]+)\.(.+)", re.DOTALL)
_MOST_LETTERS = 1 << 18
"""A settings file with all comments has a tenth of that; finding the place in a much larger one takes minutes."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Where in the file a setting stands; `profile` is "" for the file's own."""

    profile: str
    setting: str

    @classmethod
    def of(cls, key: str) -> _Place:
        match = _IN_PROFILE.fullmatch(key)
        return cls(match[1], match[2]) if match else cls("", key)

    @property
    def prefix(self) -> str:
        return f"profile.{self.profile}." if self.profile else ""

    @property
    def tables(self) -> tuple[str, ...]:
        """Names of the tables, the outermost first."""
        section = self.setting.partition(".")[0]
        return ("profile", self.profile, section) if self.profile else (section,)

    @property
    def name(self) -> str:
        return self.setting.partition(".")[2]

    def with_value(
        self, values: Values, profiles: dict[str, Values], value: object
    ) -> tuple[Values, dict[str, Values]]:
        """What the whole file should say then."""
        if not self.profile:
            return values | {self.setting: value}, profiles
        return values, profiles | {self.profile: profiles.get(self.profile, {}) | {self.setting: value}}


def save_value(path: Path, key: str, text: str) -> object:
    """Write `key = value` into the settings file, which is made if there is none.

    Args:
        path: the settings file.
        key: dotted, e.g. "ui.theme", or "profile.code.sampling.seed" for that of a profile.
        text: the value as it is typed on a command line.

    Returns:
        The value as it is understood.

    Raises:
        ConfigError: an unknown key, a wrong value, or a file that is broken already; it is unchanged then.
        StorageError: the file cannot be written.
    """
    place = _Place.of(key)
    value = parse_value(place.setting, text, Origin(prefix=place.prefix))
    before = _before(path)
    if len(before) > _MOST_LETTERS:
        raise ConfigError(f"{path} is too large to be changed by a program", path=path, hint="Change it in an editor.")
    values, profiles = parse(before, path)
    wanted = place.with_value(values, profiles, value)
    for changed in (_in_place, _appended):
        try:
            after = changed(before, place, value)
            if parse(after, path) == wanted:
                break
        except (ConfigError, TOMLKitError):
            continue  # a way of writing that this library does not know, or a name that needs quotes
    else:
        raise ConfigError(f"{path}: {key} cannot be changed by a program", path=path, hint="Change it in an editor.")
    write_atomically(path, after)
    return value


def without_profile(key: str) -> str:
    """The setting that a key names, in a profile or not: "ui.theme" of "profile.code.ui.theme"."""
    return _Place.of(key).setting


def _before(path: Path) -> str:
    try:
        return read_text(path)
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except UnreadableText as error:
        raise ConfigError(f"{path} {error.what}", path=path, hint=error.hint) from error
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror or error}", path=path) from error


def _in_place(text: str, place: _Place, value: object) -> str:
    """The text with the setting where its commented default stands, or else first in its table.

    By lines, so a text over several lines may lead it astray; the caller looks at what came of it.
    """
    section, name = re.escape(".".join(place.tables)), place.name
    plain = re.escape(name)
    lines = text.split("\n")
    begin = next((at for at, line in enumerate(lines) if re.match(rf"\[{section}\]\s*(#|$)", line)), None)
    if begin is None or re.search(rf"(?m)^{plain}\s*=", text):
        return _appended(text, place, value)
    after = range(begin + 1, len(lines))
    end = next((at for at in after if lines[at].startswith("[")), len(lines))
    setting = f"{name} = {tomlkit.item(_plain(value)).as_string()}" + ("\r" if lines[begin].endswith("\r") else "")
    sleeping = next((at for at in after if at < end and re.match(rf"#\s?{plain}\s*=", lines[at])), None)
    if sleeping is None:
        lines.insert(begin + 1, setting)
    else:
        lines[sleeping] = setting
    return "\n".join(lines)


def _appended(text: str, place: _Place, value: object) -> str:
    """The text with the setting replaced, or at the end of its table."""
    document: Any = tomlkit.parse(text)
    table = document
    for name in place.tables:
        if name not in table:
            table[name] = tomlkit.table(is_super_table=name != place.tables[-1])
        table = table[name]
    table[place.name] = _plain(value)
    return tomlkit.dumps(document)


def _plain(value: object) -> Any:
    return list(value) if isinstance(value, tuple) else value
