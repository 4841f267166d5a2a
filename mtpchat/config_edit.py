"""Changing one setting in the user's file, whose comments and order are the user's and stay."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

from mtpchat.config_file import parse
from mtpchat.config_schema import Origin, parse_value
from mtpchat.errors import ConfigError
from mtpchat.paths import write_atomically
from mtpchat.text_file import UnreadableText, read_text

_MOST_LETTERS = 1 << 18
"""A settings file with all comments has a tenth of that; finding the place in a much larger one takes minutes."""


def save_value(path: Path, key: str, text: str) -> object:
    """Write `key = value` into the settings file, which is made if there is none.

    Args:
        path: the settings file.
        key: dotted, e.g. "ui.theme".
        text: the value as it is typed on a command line.

    Returns:
        The value as it is understood.

    Raises:
        ConfigError: an unknown key, a wrong value, or a file that is broken already; it is unchanged then.
        StorageError: the file cannot be written.
    """
    value = parse_value(key, text, Origin(flag=key))
    before = _before(path)
    if len(before) > _MOST_LETTERS:
        raise ConfigError(f"{path} is too large to be changed by a program", path=path, hint="Change it in an editor.")
    values, profiles = parse(before, path)
    wanted = values | {key: value}, profiles
    for changed in (_in_place, _appended):
        try:
            after = changed(before, key, value)
            if parse(after, path) == wanted:
                break
        except (ConfigError, TOMLKitError):
            continue  # a way of writing that this library does not know, or a name that needs quotes
    else:
        raise ConfigError(f"{path}: {key} cannot be changed by a program", path=path, hint="Change it in an editor.")
    write_atomically(path, after)
    return value


def _before(path: Path) -> str:
    try:
        return read_text(path)
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except UnreadableText as error:
        raise ConfigError(f"{path} {error.what}", path=path, hint=error.hint) from error
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror or error}", path=path) from error


def _in_place(text: str, key: str, value: object) -> str:
    """The text with the setting where its commented default stands, or else first in its table.

    By lines, so a text over several lines may lead it astray; the caller looks at what came of it.
    """
    section, _, name = key.partition(".")
    plain = re.escape(name)
    lines = text.split("\n")
    begin = next((at for at, line in enumerate(lines) if re.match(rf"\[{section}\]\s*(#|$)", line)), None)
    if begin is None or re.search(rf"(?m)^{plain}\s*=", text):
        return _appended(text, key, value)
    after = range(begin + 1, len(lines))
    end = next((at for at in after if lines[at].startswith("[")), len(lines))
    setting = f"{name} = {tomlkit.item(_plain(value)).as_string()}" + ("\r" if lines[begin].endswith("\r") else "")
    sleeping = next((at for at in after if at < end and re.match(rf"#\s?{plain}\s*=", lines[at])), None)
    if sleeping is None:
        lines.insert(begin + 1, setting)
    else:
        lines[sleeping] = setting
    return "\n".join(lines)


def _appended(text: str, key: str, value: object) -> str:
    """The text with the setting replaced, or at the end of its table."""
    section, _, name = key.partition(".")
    document: Any = tomlkit.parse(text)
    if section not in document:
        document[section] = tomlkit.table()
    document[section][name] = _plain(value)
    return tomlkit.dumps(document)


def _plain(value: object) -> Any:
    return list(value) if isinstance(value, tuple) else value
