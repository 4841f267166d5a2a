"""Reading the settings: strict TOML, named profiles, and layers: defaults < file < profile < flags.

A file with a mistake never stops the app and is never touched: `load` then answers with the defaults and the error to
show. Mistakes on the command line are raised, because the user stands at it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mtpchat.config import Config
from mtpchat.config_schema import (
    Origin,
    check_value,
    check_whole,
    nearest,
    nearest_setting,
    parse_value,
    printable,
    replace_value,
    sections,
    set_value,
    shown,
)
from mtpchat.errors import ConfigError
from mtpchat.text_file import UnreadableText, parse_toml, read_text

__all__ = ["Flag", "LoadedConfig", "load", "parse", "set_value"]

Values = dict[str, object]
"""Dotted key -> checked value."""


@dataclass(frozen=True, slots=True)
class Flag:
    """A setting given on the command line: `name` as typed, `key` dotted, `text` not yet parsed."""

    name: str
    key: str
    text: str


@dataclass(frozen=True, slots=True)
class LoadedConfig:
    """The settings in force.

    Attributes:
        config: the merged settings; without the file's part when that is broken.
        banner: what is wrong with the file, or None.
        path: the file that was looked for.
        profiles: names of the profiles in the file.
    """

    config: Config
    banner: ConfigError | None
    path: Path
    profiles: tuple[str, ...] = ()


def load(path: Path, *, profile: str = "", flags: Sequence[Flag] = (), required: bool = False) -> LoadedConfig:
    """Merge all layers.

    Args:
        path: the settings file; it may be missing unless `required`.
        profile: name of a profile in it, or "".
        flags: what the command line sets, later ones winning.

    Raises:
        ConfigError: a flag is wrong, there is no such profile, or a required file is missing. What is wrong *inside*
            the file comes back as the banner instead.
    """
    config, banner, profiles = Config(), None, dict[str, Values]()
    try:
        text = _read(path)
        values, profiles = parse(text or "", path)
        config = _lay_over(config, values, Origin(path, text=text or ""))
    except ConfigError as error:
        text, banner = "", error
    if text is None and required:
        raise Origin(path).error(
            "", "there is no such file", "Check the path, or write one there: mtpchat --config FILE config init"
        )
    if profile and banner is None:
        config = _with_profile(config, profile, profiles, Origin(path, f"profile.{profile}.", text=text or ""))
    for flag in flags:
        config = replace_value(config, flag.key, parse_value(flag.key, flag.text, Origin(flag=flag.name)))
    return LoadedConfig(check_whole(config), banner, path, tuple(profiles))


def parse(text: str, path: Path) -> tuple[Values, dict[str, Values]]:
    """The settings and the profiles of a file's text, every value checked.

    `path` is for messages. Raises ConfigError for the first mistake.
    """
    try:
        document = parse_toml(text)
    except RecursionError as error:
        raise Origin(path).error("", "is nested too deeply") from error
    except ValueError as error:
        raise _malformed(error, path) from error
    profiles, origin = document.pop("profile", {}), Origin(path, text=text)
    if not isinstance(profiles, dict):
        raise origin.error("profile", f"must be a table, not {shown(profiles)}", "Write [profile.NAME.sampling].")
    values = _flatten(document, origin)
    return values, {name: _profile_values(name, body, origin) for name, body in profiles.items()}


def _profile_values(name: str, body: object, origin: Origin) -> Values:
    if not isinstance(body, dict):
        raise origin.error(
            f"profile.{name}", f"must be a table, not {shown(body)}", f"Write [profile.{printable(name)}.sampling]."
        )
    return _flatten(body, replace(origin, prefix=f"profile.{name}."))


def _flatten(document: Mapping[str, object], origin: Origin) -> Values:
    values: Values = {}
    for section, body in document.items():
        if section not in sections():
            raise _unknown_section(section, body, origin)
        if not isinstance(body, dict):
            raise origin.error(
                section,
                f"must be a table, not {shown(body)}",
                f"Write [{origin.prefix}{section}] on a line of its own, and its settings below.",
            )
        for name, value in body.items():
            key = f"{section}.{name}"
            values[key] = check_value(key, value, origin)
    return values


def _unknown_section(section: str, body: object, origin: Origin) -> ConfigError:
    if isinstance(body, dict) and not origin.prefix and nearest(section, ["profile"]):
        return origin.error(section, "is not a setting", "Did you mean profile?")
    return origin.error(section, "is not a setting", nearest_setting(section, origin.prefix))


def _lay_over(config: Config, values: Values, origin: Origin) -> Config:
    for key, value in values.items():
        config = replace_value(config, key, value)
    return check_whole(config, origin)


def _with_profile(config: Config, name: str, profiles: Mapping[str, Values], origin: Origin) -> Config:
    """The config with a profile over it. `origin` is that of the profile."""
    if name in profiles:
        return _lay_over(config, profiles[name], origin)
    best = nearest(name, profiles)
    known = ", ".join(printable(known) for known in profiles)
    hint = (
        f"Did you mean {printable(best)}?" if best else f"Profiles there: {known}." if known else "It has no profiles."
    )
    path = printable(str(origin.path))
    raise ConfigError(f"{path}: there is no profile {shown(name)}", path=origin.path, key=f"profile.{name}", hint=hint)


def _read(path: Path) -> str | None:
    """The text of the file; None when there is none. Raises ConfigError when it cannot be read."""
    try:
        return read_text(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except UnreadableText as error:
        raise Origin(path).error("", error.what, error.hint) from error


def _malformed(error: ValueError, path: Path) -> ConfigError:
    match = re.fullmatch(r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)", str(error), re.DOTALL)
    if not match:
        return Origin(path).error("", f"is not valid TOML: {printable(str(error))}")
    what, line, column = match.groups()
    place = f"line {line}, column {column}" if line else "at the end"
    return ConfigError(
        f"{printable(str(path))}, {place}: not valid TOML: {printable(what)}",
        path=path,
        hint=next(hint for sign, hint in _TOML_HINTS if sign in what),
    )


_TOML_HINTS = (
    ("Expected ']'", "The name of a section stands in brackets, on a line of its own: [model]"),
    ("Expected '='", "A setting is a name, = and a value: temperature = 0.7"),
    ("Expected newline", 'Texts need quotes: theme = "paper". Numbers have digits and a point: 16384, 0.7'),
    ("Unescaped", "A path with backslashes needs single quotes: path = 'C:\\models\\model.gguf'"),
    ("Invalid hex", "A path with backslashes needs single quotes: path = 'C:\\models\\model.gguf'"),
    ("Cannot ", "Each section and each setting stands once."),
    ("", 'Texts need quotes: theme = "paper". Yes and no are true and false.'),
)
"""What tomllib complains of, and what somebody who knows no TOML can do; the first that fits."""
